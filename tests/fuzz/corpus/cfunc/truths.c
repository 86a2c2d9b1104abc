float f(float x, float y, int n) { int m = x * 4; bool b = m; m += b; m -= !n; return m + (x > y) + (n == 1) * 2 + (b && y > 0) + (b || n); }
