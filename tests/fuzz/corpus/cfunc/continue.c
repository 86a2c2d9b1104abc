float f(float x, float y, int n) { for (int i = 0; i < 3; i++) { if (x > i) { if (y > i) continue; x -= 1; if (n > i) { y += 1; break; } } y *= 0.5f; } return x - 10 * y; }
