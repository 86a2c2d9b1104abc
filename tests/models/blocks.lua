-- blocks.lua: wide rows in a loop over layers: what a block of threads keeps of them for sums of columns is more than one kernel may have.

return {
  config = { vocab = 11, width = 800, hidden = 800, seq = 2, batch = 1, layers = 2 },

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.stack(c.layers, x, function(x) return x + nn.mlp(nn.layernorm(x), { hidden = c.hidden }) end, { name = "h" })
    local logits = nn.linear(x, { out = c.vocab, name = "head" })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 10 },
  data = data.text { tokenizer = "bytes", val_fraction = 0.1 },
}
