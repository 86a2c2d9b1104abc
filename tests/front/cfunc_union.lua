-- cfunc_union.lua: bits of a float.
local f = nn.cfunc [[ union U { float f; int i; }; float f(float x) { return x; } ]]
return { forward = f }
