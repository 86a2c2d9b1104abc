local f = io.open("/etc/passwd")
return { forward = function() return nn.zeros { 1 }:mean() end }
