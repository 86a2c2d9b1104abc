local text = ("x"):rep(1500 * 1000 * 1000)
return { forward = function() return nn.zeros { #text }:mean() end }
