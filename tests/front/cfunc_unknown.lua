-- cfunc_unknown.lua: a function that is not there.
local f = nn.cfunc [[ float f(float x) { return gammaf(x); } ]]
return { forward = f }
