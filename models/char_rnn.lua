-- char_rnn.lua: a language model over characters: embedding, LSTM over time, linear head.  The LSTM's parameters have the
-- names and the layout of torch.nn.LSTM.  carry: the state goes on from batch to batch (truncated backpropagation through time).

return {
  config = {
    vocab = 65, width = 64, hidden = 256, layers = 1, seq = 64, batch = 32, dropout = 0.0, carry = false,
    lr = 2e-3, final_lr = 2e-4, warmup = 50, steps = 2000, clip = 1.0, accumulate = 1, eval_every = 250, tokenizer = "chars",
  },

  configs = {
    large = { hidden = 512, layers = 2, seq = 128 },
    tiny = { vocab = 11, width = 6, hidden = 7, seq = 5, batch = 2, steps = 20, warmup = 0, eval_every = 0, tokenizer = "bytes" },
  },

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    local h = nn.lstm(x, { name = "lstm", hidden = c.hidden, layers = c.layers, dropout = c.dropout, carry = c.carry })
    h = nn.dropout(h, c.dropout)
    local head = nn.linear { name = "head", out = c.vocab }
    local logits = head(h)                      -- for generating; training does without
    local loss, _, predicted = nn.linear_cross_entropy(h, input.targets, { weight = head.weight, bias = head.bias })
    return loss, { logits = logits, accuracy = nn.accuracy(predicted, input.targets) }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr },
      schedule = optim.cosine { warmup = c.warmup, final_lr = c.final_lr },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  data = function(c) return data.text { tokenizer = c.tokenizer, val_fraction = 0.1 } end,
}
