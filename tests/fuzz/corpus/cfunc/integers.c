float f(float x, float y, int n) { return n / 3 + 10 * (n % 3) + 100 * (n / -2) + 1000 * (n % -2) + (7 & n) - (n | 1) + (n ^ 5) + ~n + abs(n); }
