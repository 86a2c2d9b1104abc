return {
  config = { width = 8, seq = 4, batch = 2, vocab = 16 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width }):reshape { c.batch, c.seq, 2, 4 }
    local y = nn.attend(x, x:slice(-1, 0, 2), x, { causal = true })
    return nn.cross_entropy(nn.linear(y:reshape { c.batch, c.seq, c.width }, { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 5 },
  data = data.text { tokenizer = "bytes" },
}
