-- cfunc_pointer.lua: a parameter that is an address.
local f = nn.cfunc [[ float f(float *x) { return *x; } ]]
return { forward = f }
