-- cfunc_bits.lua: two shapes of a word.
local f = nn.cfunc [[ float f(float x) { union { float f; int i; } u = { x }; return u.i; } ]]
return { forward = f }
