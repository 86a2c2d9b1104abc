-- args: --target cuda
-- Behind which kernels gradients are done: each layer's when its own copy is, in the loop over layers.
return {
  config = { vocab = 256, width = 16, seq = 8, batch = 2, layers = 3 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    x = nn.stack(c.layers, x, function(x) return x + nn.linear(x:tanh(), { out = c.width }) end, { name = "layer" })
    local logits = nn.linear(x, { out = c.vocab, name = "head" })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 500 },
  data = data.text { tokenizer = "bytes", val_fraction = 0.1 },
}
