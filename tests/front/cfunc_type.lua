-- cfunc_type.lua: a type that is neither float nor int.
local f = nn.cfunc [[ float f(float x) { long n = 3; return x * n; } ]]
return { forward = f }
