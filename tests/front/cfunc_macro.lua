-- cfunc_macro.lua: a macro with parameters.
local f = nn.cfunc [[
  #define SQUARE(x) ((x) * (x))
  float f(float x) { return SQUARE(x); }
]]
return { forward = f }
