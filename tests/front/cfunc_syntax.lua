-- cfunc_syntax.lua: what libclang itself finds.
local f = nn.cfunc [[
  float f(float x) {
    float y = x * 2
    return y;
  }
]]
return { forward = f }
