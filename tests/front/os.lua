os.execute("true")
return { forward = function() return nn.zeros { 1 }:mean() end }
