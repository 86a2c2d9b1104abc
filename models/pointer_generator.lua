-- pointer_generator.lua: a text from another one, such as its summary: an LSTM reads the source both ways, another writes the
-- target and attends to the source at every step, and a switch decides between the vocabulary and copying a token of the
-- source (See, Liu, Manning 2017; the vocabulary is not extended, so what is copied is a token there is).

local function embed(c, ids)
  return nn.dropout(nn.embedding(ids, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.uniform(-0.1, 0.1) }), c.dropout)
end

-- source [B, S]  ->  [B, S, 2H], zero behind each length, and the last states of all walks
local function encode(c, source, lengths)
  return nn.lstm(embed(c, source), {
    hidden = c.hidden, layers = c.layers, bidirectional = true, dropout = c.dropout, lengths = lengths,
  })
end

-- tokens [B, T], memory [B, S, 2H], the encoder's last states  ->  features of each step, h, context and embedding side by side,
-- probabilities of the attention [B, T, S], and with coverage how much it looked again where it had looked [B, T]
local function decode(c, tokens, memory, lengths, last)
  local B, S, H = memory:size(0), memory:size(1), c.hidden
  local x, attend = embed(c, tokens), nn.additive_attention { name = "attention", width = H, lengths = lengths }
  local cell = nn.lstm_step { name = "lstm", hidden = H, layers = c.layers, dropout = c.dropout }
  local start = { h = {}, c = {}, context = nn.zeros { B, 2 * H }, seen = c.coverage > 0 and nn.zeros { B, S } or nil }
  for k = 1, c.layers do                                        -- of the walks from left to right
    start.h[k], start.c[k] = last.h:select(0, 2 * k - 2), last.c:select(0, 2 * k - 2)
  end
  local _, top, context, where, again = nn.scan(x, start, function(xt, s)
    local h, new = cell(xt, { h = s.h, c = s.c }, s.context)
    local context, a = attend(h, memory, s.seen)
    new.context = context
    if not s.seen then return new, h, context, a end
    new.seen = s.seen + a
    return new, h, context, a, nn.min(a, s.seen):sum(-1)
  end)
  return nn.concat({ top, context, x }, -1), where, again
end

-- -log of what each target is given [B, T], log probabilities of all tokens [B, T, V] (where training is, nothing of this size
-- is made), and the switch [B, T].  losses: the vocabulary's alone, logits: its
local function pointed(c, input, features, where, losses, logits)
  local switch = nn.sigmoid(nn.linear(features, { name = "p_gen", out = 1 }))           -- [B, T, 1]
  local function mixed(switch, made, copied) return nn.log(nn.max(switch * made + (1 - switch) * copied, 1e-8)) end
  local p_gen, targets = switch:squeeze(-1), input.targets:unsqueeze(-1)
  if nn.training() then
    local copied = nn.where(nn.eq(input.source:unsqueeze(1), targets), where, 0):sum(-1)
    return -mixed(p_gen, nn.exp(-losses), copied), nil, p_gen
  end
  local all = mixed(switch, nn.softmax(logits), nn.scatter_add(where, input.source, c.vocab, 2, 1))
  return -nn.where(nn.eq(nn.iota(c.vocab), targets), all, 0):sum(-1), all, p_gen
end

-- In training some of the tokens that a source has become others, there and in the target alike, drawn anew for each row.  What
-- they become says nothing, so they can only be copied: a name is, that training never saw.
local function renamed(c, input)
  if not nn.training() or c.renaming == 0 then return input end
  local source, lengths = input.source, input.source_lengths
  local like, within = nn.zeros { source:size(0), c.vocab }, nn.lt(nn.iota(source:size(1)), lengths:unsqueeze(1))
  local becomes = nn.where(nn.bernoulli(like, c.renaming), nn.integers(like, c.vocab), nn.iota(c.vocab))
  local function of(ids)
    local same = nn.eq(ids:unsqueeze(2), nn.where(within, source, -2):unsqueeze(1))       -- [B, N, S]
    return nn.where(nn.lt(0, nn.where(same, 1, 0):sum(-1)), becomes:gather(nn.max(ids, 0), 1, 1), ids)
  end
  return { source = becomes:gather(source, 1, 1), source_lengths = lengths, tokens = of(input.tokens), targets = of(input.targets) }
end

return {
  config = {
    vocab = 16000, width = 128, hidden = 256, layers = 2, source_seq = 768, seq = 191, batch = 1, dropout = 0.3,
    pointer = true,             -- whether it may copy
    coverage = 0.0,             -- weight of the loss for looking where it has looked, which attention then knows of; 0: neither
    renaming = 0.0,             -- of a source's tokens, in training: other ones stand for them, there and in the target
    smoothing = 0.0,            -- of the targets, where it may not copy

    tokenizer = "bytes", source = "", target = "",      -- fields; "": source and target
    lr = 3e-4, warmup = 1000, steps = 50000, l2 = 1e-4, clip = 1.0, accumulate = 16, eval_every = 500,
    no_repeat_ngram = 0,        -- of what it writes: tokens in a row that do not come twice; 0: any
  },

  configs = {
    medium = { width = 112, hidden = 224 },
    small = { width = 96, hidden = 192 },
    tiny = { vocab = 13, width = 4, hidden = 3, source_seq = 5, seq = 4, batch = 3, accumulate = 1, steps = 20, warmup = 0, eval_every = 0 },
    e2e = {                     -- `lathe tokenize train --size 512 --pattern '\p{L}+|\p{N}+|[^\p{L}\p{N}\s]|\s' --text mr --target ref`
      vocab = 520, width = 64, hidden = 160, layers = 1, source_seq = 112, seq = 112, batch = 16, dropout = 0.5, renaming = 0.1,
      source = "mr", target = "ref", lr = 2e-3, warmup = 100, steps = 3000, l2 = 0.0, accumulate = 1, eval_every = 250,
      no_repeat_ngram = 4,
    },
    scitldr = {                 -- `lathe tokenize train --kind unigram --size 8000`
      vocab = 8008, width = 96, hidden = 192, layers = 1, source_seq = 400, seq = 60, batch = 8, lr = 1e-3, warmup = 200, steps = 3000,
      l2 = 0.0, accumulate = 1, eval_every = 250,
    },
  },

  check = function(c)
    assert(not (c.pointer and c.smoothing > 0), "smoothing is for pointer = false: there is no such loss of a mixture")
  end,

  forward = function(c, input)
    input = renamed(c, input)
    local memory, last = nn.scope("encoder", encode, c, input.source, input.source_lengths)
    local features, where, again = nn.scope("decoder", decode, c, input.tokens, memory, input.source_lengths, last)
    local head, targets = nn.linear { name = "out", out = c.vocab }, input.targets
    local logits, p_gen = head(features), nil
    local loss, losses, predicted = nn.linear_cross_entropy(features, targets, { weight = head.weight, bias = head.bias, smoothing = c.smoothing })
    local counts = nn.ne(targets, -1)
    if c.pointer then
      losses, logits, p_gen = pointed(c, input, features, where, losses, logits)
      loss, predicted = nn.masked_mean(losses, counts), logits and logits:argmax(-1)
    end
    if again then loss = loss + c.coverage * nn.masked_mean(again, counts) end
    return loss, { logits = logits, p_gen = p_gen, accuracy = predicted and nn.accuracy(predicted, targets) }
  end,

  train = function(c)
    return {
      optimizer = optim.adam { lr = c.lr, decay = c.l2 },
      groups = { { match = "*", decay = true } },               -- of biases too
      schedule = optim.linear { warmup = c.warmup },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  generate = function(c) return { no_repeat_ngram = c.no_repeat_ngram } end,

  data = function(c)
    local function field(name) return name ~= "" and name or nil end
    return data.pairs { tokenizer = c.tokenizer, source = field(c.source), target = field(c.target), targets = "each" }
  end,
}
