local code = ("x").dump(function() end)
return { forward = function() return nn.zeros { 1 }:mean() end }
