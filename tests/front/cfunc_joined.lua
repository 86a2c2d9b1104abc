-- cfunc_joined.lua: a text that is made, so that its lines are not the file's.
local power = "x * x"
local f = nn.cfunc("float f(float x) {\n  return " .. power .. " * y;\n}")
return { forward = f }
