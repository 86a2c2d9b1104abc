
float g0(float x) { return x > 0 ? x + 1 : x; }
float g1(float x) { return g0(x) + g0(-x); }
float g2(float x) { return g1(x) + g1(-x); }
float g3(float x) { return g2(x) + g2(-x); }
float g4(float x) { return g3(x) + g3(-x); }
float g5(float x) { return g4(x) + g4(-x); }
float g6(float x) { return g5(x) + g5(-x); }
float g7(float x) { return g6(x) + g6(-x); }
float g8(float x) { return g7(x) + g7(-x); }
float g9(float x) { return g8(x) + g8(-x); }
float g10(float x) { return g9(x) + g9(-x); }
float g11(float x) { return g10(x) + g10(-x); }
float g12(float x) { return g11(x) + g11(-x); }
float g13(float x) { return g12(x) + g12(-x); }
float f(float x, float y) { return g13(x) * y; }
