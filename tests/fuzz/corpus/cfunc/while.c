float f(float x, float y, int n) { int i = 0; do { x = 0.5f * x + y; } while (++i < 4 && x < 1); int k = 3; while (k > 0) { k -= 1; if (y > x) return i + x; x -= 0.25f; } return x; }
