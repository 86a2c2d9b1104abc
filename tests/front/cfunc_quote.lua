-- cfunc_quote.lua: asm, and whatever else stands in quotes.
local f = nn.cfunc [[ float f(float x) { __asm__ volatile ("nop"); return x; } ]]
return { forward = f }
