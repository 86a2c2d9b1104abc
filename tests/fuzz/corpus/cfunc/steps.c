float f(float x, float y, int n) { int a = 1, b = (a = 3, a + 1); n += a++ + --b; a *= 2.6f; return n * a + (double)b + -x; }
