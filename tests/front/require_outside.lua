local other = require "../secrets"
return { forward = function() return nn.zeros { 1 }:mean() end }
