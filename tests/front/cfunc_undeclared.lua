-- cfunc_undeclared.lua: a misspelt variable.
local f = nn.cfunc [[ float f(float width) { return widht * 2; } ]]
return { forward = f }
