-- args: --set layers=many
return {
  config = { batch = 4, seq = 8, vocab = 16, layers = 3 },
  forward = function() return nn.zeros { 1 }:mean() end,
}
