float f(float x, float y, int n) { for (int i = 0; i < 3; i++) { if (y < 0) break; y = sqrtf(y) - 0.7f; } return y + powf(x > 0 ? x : 0.5f, 1.5f); }
