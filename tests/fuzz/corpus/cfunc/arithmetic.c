float f(float x, float y, int n) { return x * y - x / (2 + y * y) + n; }
