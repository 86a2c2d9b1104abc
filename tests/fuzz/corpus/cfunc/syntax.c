
  float f(float x) {
    float y = x * 2
    return y;
  }
