-- args: --set batch=0
return {
  config = { batch = 4, seq = 8, vocab = 16 },
  forward = function(c, input) return nn.embedding(input.tokens, { rows = c.vocab, width = 8 }):mean() end,
}
