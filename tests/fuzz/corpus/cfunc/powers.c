float f(float x, float y, int n) { return powf(x, 3) + powf(y, 4) + powf(x * x + 1, 0.3f) + powf(y * y + 1, -2) + log2f(x * x + 1) + log10f(3) + powf(x, 0); }
