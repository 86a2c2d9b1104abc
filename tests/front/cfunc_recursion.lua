-- cfunc_recursion.lua: two functions that call each other.
local f = nn.cfunc [[
  float odd(float x, int n);
  float even(float x, int n) { return n ? odd(x, n - 1) : x; }
  float odd(float x, int n) { return n ? even(x, n - 1) : -x; }
]]
return { forward = f }
