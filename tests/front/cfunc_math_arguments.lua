-- cfunc_math_arguments.lua: a math function with the wrong number of arguments.
local f = nn.cfunc [[ float f(float x) { return fmaxf(x); } ]]
return { forward = f }
