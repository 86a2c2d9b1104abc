-- cfunc_array.lua: a table of coefficients.
local f = nn.cfunc [[
  float f(float x) {
    float c[3] = { 1, 2, 3 };
    return c[0] + x * c[1];
  }
]]
return { forward = f }
