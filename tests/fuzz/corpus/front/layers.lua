return {
  config = { vocab = 11, width = 8, seq = 4, batch = 2, layers = 2, drop = 0.1 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, name = "wte" })
    x = nn.stack(c.layers, x, function(x)
      x = x + nn.attention(nn.layernorm(x), { heads = 2, causal = true })
      return x + nn.dropout(nn.mlp(nn.rmsnorm(x), { hidden = 16 }), c.drop)
    end)
    local logits = nn.linear(x, { out = c.vocab, name = "head" })
    return nn.cross_entropy(logits, input.targets), { logits = logits, top = logits:max(-1):mean() }
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, schedule = optim.cosine { warmup = 2 }, steps = 5, clip = 1 },
  data = data.text { tokenizer = "bytes", val_fraction = 0.1 },
}
