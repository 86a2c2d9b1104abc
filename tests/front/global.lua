function block(x)
  return nn.relu(x)
end
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input) return block(nn.zeros { 1 }):mean() end,
}
