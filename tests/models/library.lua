-- library.lua: what the library offers beside the layers of models/: convolutions of every kind, additive attention with
-- coverage, sinusoidal features, entropy, masked means, label smoothing, running sums, the largest of a row.

return {
  config = { vocab = 13, width = 6, seq = 9, batch = 3, accumulate = 1, extra = true, by_place = true, smoothing = 0.1 },

  forward = function(c, input)
    local tokens, B = input.tokens, input.tokens:size(0)
    local x = nn.embedding(tokens, { name = "embed", rows = c.vocab, width = c.width })
    x = x + nn.sinusoidal(nn.positions(tokens), c.width, { base = 100, alternate = true })
    x = x + nn.tanh(nn.conv1d(x, { name = "spread", out = c.width, kernel = 3, dilation = 2, causal = true, groups = 2 }))
    x = x + nn.tanh(nn.conv1d(x, { name = "single", out = c.width, kernel = 4, causal = true, groups = c.width }))
    x = nn.conv1d(x, { name = "point", out = c.width, kernel = 1 })
    local logits = nn.linear(x, { name = "head", out = c.vocab })
    local loss = nn.cross_entropy(logits, input.targets, { smoothing = c.smoothing, ignore = 3 })
    if not c.extra then return loss, { logits = logits } end

    local memory = nn.conv1d(x, { name = "strided", out = 5, kernel = 3, stride = 2, padding = 2, bias = false })
    local pairs = nn.conv1d(x, { name = "pairs", out = 2 * c.width, kernel = 2, groups = c.width })
    local lengths = nn.min(2 * (c.by_place and nn.iota(B) or tokens:select(1, 0) % 3) + 1, memory:size(1))
    local context, seen = nn.additive_attention(x, memory, { name = "look", width = 7, lengths = lengths, bias = true })
    local attend = nn.additive_attention { name = "walk", width = 4 }
    local start = { fed = nn.zeros { B, 5 }, seen = nn.zeros { B, memory:size(1) } }
    local _, overlap = nn.scan(x, start, function(xt, s)
      local context, p = attend(nn.concat({ xt, s.fed }, -1), memory, s.seen)
      return { fed = context, seen = s.seen + p }, nn.min(p, s.seen):sum(-1)
    end)
    local waves = nn.sinusoidal(context:sum(-1), 4)
    local spread = nn.masked_mean(nn.entropy(seen), nn.ne(input.targets, 3))
    local rows = nn.masked_mean(waves:sum(-1), nn.lt(tokens, 9), -1)                    -- of each sample, [B]
    local top = logits:topk(3)
    local sums = pairs:cumsum(1)
    return loss + 0.3 * overlap:mean() + 0.2 * spread + 0.1 * rows:sum() + 0.05 * top:mean() + 0.1 * (sums * sums):mean(),
      { logits = logits, spread = spread }
  end,

  train = function(c) return { optimizer = optim.adamw { lr = 1e-3 }, steps = 20, accumulate = c.accumulate } end,
  data = data.text { tokenizer = "bytes" },
}
