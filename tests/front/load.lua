local f = load("return 1")
return { forward = function() return nn.zeros { 1 }:mean() end }
