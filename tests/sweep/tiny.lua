-- tiny.lua: trains in a blink.  lr, kind and steps are of the recipe alone, width and bias are compiled in.
return {
  config = { vocab = 24, width = 8, seq = 8, batch = 2, lr = 1e-2, kind = "adamw", steps = 90, bias = true },
  check = function(c) assert(c.width % 8 == 0, "width must be a multiple of 8") end,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local logits = nn.linear(x, { out = c.vocab, name = "head", bias = c.bias })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = function(c)
    return {
      optimizer = c.kind == "adamw" and optim.adamw { lr = c.lr } or optim.sgd { lr = c.lr },
      schedule = optim.cosine { warmup = 5 }, steps = c.steps, eval_every = 30, eval_rows = 20,
    }
  end,
  data = data.text { tokenizer = "chars", val_fraction = 0.1 },
}
