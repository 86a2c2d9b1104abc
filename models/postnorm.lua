-- postnorm.lua: a decoder whose layers look back at the embeddings: self-attention, attention to the embeddings as to an
-- encoder's output, feed-forward, each added and then normalised (post-norm).  No positions: a token knows what came
-- before, not where.  With causal = false every position sees all others, its own target too.

local function block(c, x, embedded)
  local function attention(x, memory, name)
    return nn.attention(x, memory, {
      name = name, fused = false, names = { "query", "key", "value", "out" }, heads = c.heads, bias = false,
      causal = c.causal, init = nn.init.normal(math.sqrt(2 / c.width)),
    })
  end
  x = nn.layernorm(x + attention(x, nil, "self"), { name = "self_norm" })
  x = nn.layernorm(x + attention(x, embedded, "cross"), { name = "cross_norm" })
  local h = nn.mlp(x, {
    name = "mlp", hidden = c.hidden, activation = "relu",
    init = nn.init.normal(math.sqrt(2 / c.width)), out_init = nn.init.normal(math.sqrt(2 / c.hidden)),
  })
  return nn.layernorm(x + h, { name = "mlp_norm" })
end

return {
  config = {
    layers = 2, heads = 8, width = 256, hidden = 1024,
    seq = 128, batch = 16, vocab = 10000,
    causal = true,

    tokenizer = "bytes",
    lr = 3e-4, final_lr = 3e-5, warmup = 100, steps = 2000, decay = 0.01, clip = 1.0, accumulate = 1, eval_every = 250,
  },

  configs = {
    small = {},
    medium = { layers = 4, width = 384, hidden = 1536, vocab = 16000 },
    large = { layers = 6, width = 512, hidden = 2048, vocab = 50000, batch = 8 },
    chars = { vocab = 65, tokenizer = "chars" },
  },

  check = function(c)
    assert(c.width % c.heads == 0, ("width %d must be a multiple of heads %d"):format(c.width, c.heads))
  end,

  forward = function(c, input)
    local embed = nn.embedding { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(math.sqrt(1 / c.width)) }
    local embedded = embed(input.tokens)
    local x = nn.stack(c.layers, embedded, function(x) return block(c, x, embedded) end, { name = "layers" })
    local logits = c.causal and nn.linear(x, { weight = embed.weight, bias = false }) or nil
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = embed.weight })
    return loss, { logits = logits, accuracy = nn.accuracy(predicted, input.targets) }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = c.decay },
      schedule = optim.cosine { warmup = c.warmup, final_lr = c.final_lr },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  data = function(c) return data.text { tokenizer = c.tokenizer, val_fraction = 0.1 } end,
}
