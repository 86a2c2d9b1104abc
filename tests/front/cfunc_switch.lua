-- cfunc_switch.lua: a switch.
local f = nn.cfunc [[ float f(float x, int n) { switch (n) { case 1: return x; default: return -x; } } ]]
return { forward = f }
