-- Milestones are steps in ascending order.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input) return nn.zeros { 2, c.width }:mean() end,
  train = {
    schedule = optim.step { at = { 100, 50 }, factor = 0.5 },
  },
}
