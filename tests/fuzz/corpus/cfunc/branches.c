float f(float x, float y, int n) { float r = 0; if (x != 0) r = sinf(x) / x; else r = 1; return x * 0 == 0 && n > 99 ? 1 / (x - x) : r; }
