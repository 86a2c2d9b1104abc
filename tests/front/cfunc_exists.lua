-- cfunc_exists.lua: asking whether a file is there.
local f = nn.cfunc [[
  #if __has_include(</etc/passwd>)
  #endif
  float f(float x) { return x; }
]]
return { forward = f }
