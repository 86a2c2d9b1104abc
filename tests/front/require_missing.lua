local other = require "no_such_file"
return { forward = function() return nn.zeros { 1 }:mean() end }
