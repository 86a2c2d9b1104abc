-- cfunc_attribute.lua: an attribute.
local f = nn.cfunc [[ __attribute__((noinline)) float f(float x) { return x; } ]]
return { forward = f }
