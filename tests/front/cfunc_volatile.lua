-- cfunc_volatile.lua: volatile.
local f = nn.cfunc [[ float f(float x) { volatile float y = x; return y; } ]]
return { forward = f }
