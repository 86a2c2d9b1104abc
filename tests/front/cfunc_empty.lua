-- cfunc_empty.lua: no function.
local f = nn.cfunc [[ /* later */ ]]
return { forward = f }
