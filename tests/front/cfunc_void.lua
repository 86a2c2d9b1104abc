-- cfunc_void.lua: a function without a result.
local f = nn.cfunc [[ void f(float x) { x = 1; } ]]
return { forward = f }
