
  float f(float x) {
  again:
    if (x < 0) { x = -x; goto again; }
    return x;
  }
