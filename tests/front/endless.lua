return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local n = 0
    while n >= 0 do
      n = n + 1
    end
    return nn.zeros { 1 }:mean()
  end,
}
