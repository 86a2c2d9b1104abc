-- cfunc_text.lua: no text.
local f = nn.cfunc(nn.relu)
return { forward = f }
