-- cfunc_static.lua: a variable that outlives its call.
local f = nn.cfunc [[ float f(float x) { static float last; last += x; return last; } ]]
return { forward = f }
