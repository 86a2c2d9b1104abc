
  float odd(float x, int n);
  float even(float x, int n) { return n ? odd(x, n - 1) : x; }
  float odd(float x, int n) { return n ? even(x, n - 1) : -x; }
