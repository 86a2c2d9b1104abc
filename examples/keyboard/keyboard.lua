-- keyboard.lua: the next letter of what somebody types: small enough to learn on the machine that is typed on.

return {
  config = { vocab = 256, width = 24, hidden = 96, seq = 32, batch = 8, lr = 5e-3 },

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local h = nn.lstm(x, { name = "lstm", hidden = c.hidden })
    local logits = nn.linear(h, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function(c) return { optimizer = optim.adamw { lr = c.lr }, clip = 1, steps = 1000 } end,

  data = data.text { tokenizer = "bytes" },
}
