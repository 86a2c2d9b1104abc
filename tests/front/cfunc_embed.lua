-- cfunc_embed.lua: bytes of a file, the # written otherwise.
local f = nn.cfunc [[
  float f(float x) { return x; }
%:  embed </etc/passwd>
]]
return { forward = f }
