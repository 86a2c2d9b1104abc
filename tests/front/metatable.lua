getmetatable("").__index = nil
return { forward = function() return nn.zeros { 1 }:mean() end }
