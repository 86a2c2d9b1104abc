return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    setmetatable(input, { __index = function() return 1 end })
    return nn.zeros { 2, input.tokens }:mean()
  end,
}
