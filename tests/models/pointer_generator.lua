-- pointer_generator.lua: summaries by a two-way LSTM encoder, an LSTM decoder with additive attention, and a switch between the
-- vocabulary and copying from the source (See, Liu, Manning 2017, without an extended vocabulary).
--
-- A row of the text stands for a pair here: `source` tokens, then `seq - source` of the target.

return {
  config = {
    vocab = 16000, width = 128, hidden = 256, layers = 2, source = 768, seq = 959, batch = 1, dropout = 0.3,
    pointer = true, coverage = 0.0, ragged = true, accumulate = 1,
  },
  configs = {
    medium = { width = 112, hidden = 224 },
    small = { width = 96, hidden = 192 },
    tiny = { vocab = 13, width = 4, hidden = 3, source = 5, seq = 9, batch = 2 },
  },
  decode = false,

  forward = function(c, input)
    local B, S, H, T = c.batch, c.source, c.hidden, c.seq - c.source
    local source, tokens = input.tokens:slice(1, 0, S), input.tokens:slice(1, S)
    local targets = input.targets:slice(1, S)
    local source_lengths = nn.iota(B) * (c.ragged and -1 or 0) + S
    local counts = nn.lt(nn.iota(T), (nn.iota(B) * (c.ragged and -1 or 0) + T):unsqueeze(-1)):cast("f32")   -- targets [B, T]
    local function embed(ids)
      return nn.dropout(nn.embedding(ids, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.uniform(-0.1, 0.1) }), c.dropout)
    end
    local function plain(name, out) return nn.linear { name = name, out = out, bias = false } end

    local memory, last = nn.scope("encoder", function()
      return nn.lstm(embed(source), { hidden = H, layers = c.layers, bidirectional = true, dropout = c.dropout, lengths = source_lengths })
    end)

    local x, top, context, attention, overlap = nn.scope("decoder", function()
      local x = embed(tokens)
      local keys = plain("W_h", H)(memory)                                      -- [B, S, H]
      local query, v = plain("W_d", H), nn.param { name = "v", shape = { H }, init = nn.init.uniform(-1 / H ^ 0.5, 1 / H ^ 0.5) }
      local seen_weight = c.coverage > 0 and nn.param { name = "W_c", shape = { H }, init = nn.init.uniform(-1, 1) }
      local within = nn.lt(nn.iota(S), source_lengths:unsqueeze(-1))            -- [B, S]
      local cell = nn.lstm_step { name = "lstm", hidden = H, layers = c.layers, dropout = c.dropout }
      local start = { h = {}, c = {}, context = nn.zeros { B, 2 * H }, seen = c.coverage > 0 and nn.zeros { B, S } or nil }
      for k = 1, c.layers do                        -- the encoder's forward direction
        start.h[k], start.c[k] = last.h:select(0, 2 * k - 2), last.c:select(0, 2 * k - 2)
      end
      local _, top, context, attention, overlap = nn.scan(x, start, function(xt, s)
        local h, new = cell(xt, { h = s.h, c = s.c }, s.context)
        local sum = keys + query(h):unsqueeze(1)
        if s.seen then sum = sum + s.seen:unsqueeze(-1) * seen_weight end
        local scores = nn.where(within, (nn.tanh(sum) * v):sum(-1), -1e4)
        local a = nn.softmax(scores)                                            -- [B, S]
        new.context = nn.dot(a, memory, { batch = { 0, 0 }, contract = { 1, 1 } })
        if not s.seen then return new, h, new.context, a end
        new.seen = s.seen + a
        return new, h, new.context, a, nn.min(a, s.seen):sum(-1)
      end)
      return x, top, context, attention, overlap
    end)

    local features = nn.concat({ top, context, x }, -1)
    local head = nn.linear { name = "out", out = c.vocab }
    local logits = head(features)
    local _, losses = nn.linear_cross_entropy(features, targets, { weight = head.weight, bias = head.bias })
    local p_gen = nn.sigmoid(nn.linear(features, { name = "p_gen", out = 1 }))  -- [B, T, 1]
    if c.pointer then
      local copied = nn.where(nn.eq(source:unsqueeze(1), targets:unsqueeze(-1)), attention, 0):sum(-1)
      p_gen = p_gen:squeeze(-1)
      losses = -nn.log(nn.max(p_gen * nn.exp(-losses) + (1 - p_gen) * copied, 1e-8))
    end
    local loss = (losses * counts):sum() / counts:sum()
    if overlap then loss = loss + c.coverage * overlap:mean() end
    return loss, { logits = logits, p_gen = p_gen:mean() }
  end,

  train = function(c) return { optimizer = optim.adamw { lr = 3e-4 }, steps = 10, accumulate = c.accumulate, clip = 1.0 } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
