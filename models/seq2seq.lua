-- seq2seq.lua: an encoder and a decoder of transformer blocks with pre-norm (Vaswani et al. 2017; Xiong et al. 2020): the decoder
-- sees its own earlier tokens and, through the source's length, all of the encoded source.  Its keys and values of the source
-- depend on the source alone: generating, they are made once for a source.

local function attention(c, name, x, memory, options)
  options.name, options.heads, options.dropout, options.bias = name, c.heads, c.dropout, false
  return nn.dropout(nn.attention(x, memory, options), c.dropout)
end

local function feed_forward(c, x)
  local h = nn.mlp(nn.layernorm(x, { name = "ln_mlp" }), { name = "mlp", hidden = c.hidden, activation = c.activation })
  return x + nn.dropout(h, c.dropout)
end

local function encoder_block(c, x, lengths)
  x = x + attention(c, "attn", nn.layernorm(x, { name = "ln_attn" }), nil, { lengths = lengths })
  return feed_forward(c, x)
end

local function decoder_block(c, x, memory, lengths)
  x = x + attention(c, "attn", nn.layernorm(x, { name = "ln_attn" }), nil, { causal = true })
  x = x + attention(c, "cross", nn.layernorm(x, { name = "ln_cross" }), memory, { lengths = lengths })
  return feed_forward(c, x)
end

-- ids [B, T]  ->  [B, T, width]
local function begin(c, embed, ids, context)
  local x = embed(ids) * math.sqrt(c.width)
  if c.positions == "sinusoidal" then x = x + nn.sinusoidal(nn.positions(ids), c.width, { alternate = true }) else
    x = x + nn.position_embedding(ids, { name = "positions", context = context, width = c.width })
  end
  return nn.dropout(x, c.dropout)
end

return {
  config = {
    vocab = 16000, width = 256, heads = 4, hidden = 1024, layers = 4, source_seq = 256, seq = 128, batch = 16, dropout = 0.1,
    activation = "relu",
    positions = "learned",      -- or "sinusoidal"
    tied = true,                -- one table for source, target and output; else one each
    smoothing = 0.1,

    tokenizer = "bytes", source = "", target = "",      -- fields; "": source and target
    lr = 1e-3, warmup = 1000, steps = 20000, decay = 0.01, clip = 1.0, accumulate = 1, eval_every = 500,
  },

  configs = {
    tiny = {
      vocab = 13, width = 6, heads = 2, hidden = 10, layers = 2, source_seq = 5, seq = 4, batch = 3, dropout = 0.0, smoothing = 0.0,
      steps = 20, warmup = 0, eval_every = 0,
    },
    e2e = {                     -- `lathe tokenize train --size 1000 --text mr --target ref`
      vocab = 1008, width = 128, hidden = 512, layers = 2, source_seq = 64, seq = 64, source = "mr", target = "ref",
      warmup = 200, steps = 2500, eval_every = 250,
    },
  },

  check = function(c)
    assert(c.width % c.heads == 0, ("width %d must be a multiple of heads %d"):format(c.width, c.heads))
    assert(c.positions == "learned" or c.positions == "sinusoidal", "positions must be learned or sinusoidal, found " .. c.positions)
    assert(c.positions == "learned" or c.width % 2 == 0, ("sinusoidal positions need an even width, and it is %d"):format(c.width))
  end,

  forward = function(c, input)
    local function table_of(name) return nn.embedding { name = name, rows = c.vocab, width = c.width, init = nn.init.normal(c.width ^ -0.5) } end
    local embed, lengths = table_of("embed"), input.source_lengths
    local target = c.tied and embed or table_of("target")
    local memory = nn.scope("encoder", function()
      local x = nn.stack(c.layers, begin(c, embed, input.source, c.source_seq), function(x) return encoder_block(c, x, lengths) end)
      return nn.layernorm(x, { name = "ln" })
    end)
    local x = nn.scope("decoder", function()
      local x = nn.stack(c.layers, begin(c, target, input.tokens, c.seq), function(x) return decoder_block(c, x, memory, lengths) end)
      return nn.layernorm(x, { name = "ln" })
    end)
    local head = nn.linear { name = "head", out = c.vocab, bias = false, weight = c.tied and embed.weight or nil }
    local logits = head(x)
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = head.weight, smoothing = c.smoothing })
    return loss, { logits = logits, accuracy = nn.accuracy(predicted, input.targets) }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, beta2 = 0.98, decay = c.decay },
      schedule = optim.linear { warmup = c.warmup },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  data = function(c)
    local function field(name) return name ~= "" and name or nil end
    return data.pairs { tokenizer = c.tokenizer, source = field(c.source), target = field(c.target), targets = "each" }
  end,
}
