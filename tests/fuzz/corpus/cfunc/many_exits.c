
float f(float x, float y) { for (int i = 0; i < 900; i++) { if (x > i) break; } return x; }
