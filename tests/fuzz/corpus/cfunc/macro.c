
  #define SQUARE(x) ((x) * (x))
  float f(float x) { return SQUARE(x); }
