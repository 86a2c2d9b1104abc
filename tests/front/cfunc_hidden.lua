-- cfunc_hidden.lua: a line joined to a comment, behind which more could hide.
local f = nn.cfunc [[
  // a comment \
  /*
  #include </etc/passwd>
  // */
  float f(float x) { return x; }
]]
return { forward = f }
