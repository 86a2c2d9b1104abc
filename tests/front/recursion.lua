local function deeper(x)
  return 1 + deeper(x)
end
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input) return nn.zeros { deeper(1) }:mean() end,
}
