-- cfunc_goto.lua: a jump.
local f = nn.cfunc [[
  float f(float x) {
  again:
    if (x < 0) { x = -x; goto again; }
    return x;
  }
]]
return { forward = f }
