-- What a group may say is checked.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input) return nn.zeros { 2, c.width }:mean() end,
  train = { groups = {
    { match = "*.bias",
      weight_decay = 0 },
  } },
}
