float f(float x, float y, int n) { return expf(x) + log1pf(y * y) + expm1f(0.1f * x) * tanhf(y) + erff(x) + sinf(x) * cosf(y) + tanf(0.1f * y); }
