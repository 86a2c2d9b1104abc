-- cfunc_global.lua: a variable outside of functions.
local f = nn.cfunc [[
  float slope = 0.1f;
  float f(float x) { return x * slope; }
]]
return { forward = f }
