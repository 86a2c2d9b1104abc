-- gpt.lua: a decoder-only transformer with normalised branches (pre-norm), from a few thousand to some hundred million
-- parameters.  Names in checkpoints are those of GPT-2 at Hugging Face.

-- Standard deviations: "gpt2" as in GPT-2, or "fan_in" by the number of inputs of each matrix.
local function inits(c)
  local normal = nn.init.normal
  if c.init == "gpt2" then
    local last = normal(0.02 / math.sqrt(2 * c.layers))         -- what is added to the residual stream
    return { embedding = normal(0.02), qkv = normal(0.02), out = last, up = normal(0.02), down = last }
  end
  local attention = normal(math.sqrt(2 / c.width))
  return { embedding = normal(math.sqrt(1 / c.width)), qkv = attention, out = attention,
           up = normal(math.sqrt(2 / c.width)), down = normal(math.sqrt(2 / (4 * c.width))) }
end

local function block(c, init, residual, segments)
  local h = nn.layernorm(residual, { name = "ln_1", bias = c.bias })
  h = nn.attention(h, {
    name = "attn", names = { "c_attn", "c_proj" }, layout = c.layout, init = init.qkv, out_init = init.out,
    heads = c.heads, causal = true, bias = c.attention_bias, dropout = c.dropout,
    context = c.context > 0 and c.context or c.seq, segments = segments,
  })
  local attended = residual + nn.dropout(h, c.dropout)
  h = nn.layernorm(attended, { name = "ln_2", bias = c.bias })
  h = nn.mlp(h, {
    name = "mlp", names = { "c_fc", "c_proj" }, layout = c.layout, init = init.up, out_init = init.down,
    hidden = 4 * c.width, activation = c.gelu == "tanh" and "gelu_tanh" or "gelu", bias = c.bias,
  })
  return attended + nn.dropout(h, c.dropout)
end

-- At Hugging Face it is GPT2LMHeadModel, whose matrices are [in, out] and whose layers all have biases.
local function hugging_face(c)
  local names = { ["ln_1"] = c.width, ["ln_2"] = c.width, ["mlp.c_fc"] = 4 * c.width, ["mlp.c_proj"] = c.width }
  local attention = { ["attn.c_attn"] = 3 * c.width, ["attn.c_proj"] = c.width }
  local matrices, zeros = {}, {}
  for name, n in pairs(names) do
    if not c.bias then zeros["h.%d." .. name .. ".bias"] = { c.layers, n } end
  end
  for name, n in pairs(attention) do
    if not c.attention_bias then zeros["h.%d." .. name .. ".bias"] = { c.layers, n } end
  end
  if not c.bias then zeros["ln_f.bias"] = { c.width } end
  if c.layout == "out_in" then
    for i, name in ipairs { "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj" } do matrices[i] = "h.%d." .. name .. ".weight" end
  end
  return {
    config = {
      model_type = "gpt2", architectures = { "GPT2LMHeadModel" },
      n_layer = c.layers, n_head = c.heads, n_embd = c.width, n_inner = 4 * c.width,
      n_positions = c.context > 0 and c.context or c.seq, layer_norm_epsilon = 1e-5,
      activation_function = c.gelu == "tanh" and "gelu_new" or "gelu", tie_word_embeddings = c.tied,
      scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false,
    },
    also = { attn_pdrop = c.dropout, embd_pdrop = c.dropout, resid_pdrop = c.dropout },
    absent = {
      n_inner = 4 * c.width, layer_norm_epsilon = 1e-5, activation_function = "gelu_new", tie_word_embeddings = true,
      scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false,
    },
    ids = { config = "vocab_size", tensors = { "wte.weight", not c.tied and "lm_head.weight" or nil } },
    names = { { "lm_head.weight", "lm_head.weight" }, { "*", "transformer.*" } },
    transposed = matrices, zeros = zeros,
    copies = c.tied and { ["lm_head.weight"] = "wte.weight" } or {},
    ignored = { "h.%d.attn.bias", "h.%d.attn.masked_bias" },      -- masks
  }
end

return {
  config = {
    layers = 4, heads = 4, width = 128,
    seq = 64, batch = 12, vocab = 256,
    context = 0,                        -- rows of the position table and what decode remembers; 0: seq
    tied = true,                        -- the head shares the embedding's weight
    bias = true,                        -- in layernorm and mlp
    attention_bias = true,
    gelu = "erf",                       -- or "tanh"
    dropout = 0.0,
    init = "gpt2",                      -- or "fan_in"
    layout = "out_in",                  -- of matrices; "in_out" as in GPT-2's files

    tokenizer = "bytes",
    pack = false,                       -- several short documents in a sequence, none of which sees another
    loss_on = "auto",                   -- "target": of pairs and chats no more than that counts
    optimizer = "adamw", muon_lr = 0.02, -- or "sgd"; "muon": the layers' matrices by Muon at muon_lr, all else by AdamW
    schedule = "cosine",                -- or "constant"
    decay_on = "matrices",              -- or "mlp": of mlp the biases, too, and not the positions
    lr = 1e-3, final_lr = 1e-4, warmup = 100, steps = 2000,
    beta1 = 0.9, beta2 = 0.99, decay = 0.1, clip = 1.0, clip_value = 0.0, accumulate = 1,
    eval_every = 250,
  },

  configs = {
    -- two minutes on two cores
    quickstart = {
      vocab = 2048, seq = 128, batch = 16, optimizer = "muon", muon_lr = 0.06, lr = 4e-3, decay = 0.2, steps = 900,
      warmup = 50, eval_every = 300,
    },

    -- characters of a play, as in nanoGPT, for a CPU and for a GPU
    char = { vocab = 65, tokenizer = "chars", bias = false, attention_bias = false },
    char_gpu = {
      layers = 6, heads = 6, width = 384, seq = 256, batch = 64, dropout = 0.2,
      vocab = 65, tokenizer = "chars", bias = false, attention_bias = false, steps = 5000,
    },

    -- untied, without biases in attention, positions up to 512
    small = {
      layers = 2, heads = 8, width = 256, vocab = 10000, context = 512, batch = 32, seq = 128,
      tied = false, attention_bias = false, gelu = "tanh", init = "fan_in",
    },
    large = {
      layers = 6, heads = 8, width = 512, vocab = 50000, context = 512, batch = 8, seq = 128,
      tied = false, attention_bias = false, gelu = "tanh", init = "fan_in", lr = 3e-4, final_lr = 3e-5,
    },
    stream = {
      layers = 6, heads = 8, width = 512, vocab = 16000, context = 512, batch = 16, seq = 256,
      tied = false, attention_bias = false, gelu = "tanh", init = "fan_in", lr = 3e-4, final_lr = 3e-5,
    },
    -- the same trained as the first program did (which added up the gradients of its 16 sequences; here is their mean)
    stream_sgd = {
      layers = 6, heads = 8, width = 512, vocab = 16000, context = 512, batch = 16, seq = 256,
      tied = false, attention_bias = false, gelu = "tanh", init = "fan_in",
      optimizer = "sgd", schedule = "constant", lr = 1e-4, warmup = 0, decay = 0.01, decay_on = "mlp", clip = 0.0, clip_value = 5.0,
    },

    -- GPT-2 with 124 million parameters
    gpt2 = {
      layers = 12, heads = 12, width = 768, vocab = 50257, seq = 1024, batch = 4,
      gelu = "tanh", layout = "in_out", lr = 6e-4, final_lr = 6e-5, beta2 = 0.95, accumulate = 4,
    },
  },

  check = function(c)
    assert(c.width % c.heads == 0, ("width %d must be a multiple of heads %d"):format(c.width, c.heads))
    assert(c.init == "gpt2" or c.init == "fan_in", "init is \"gpt2\" or \"fan_in\"")
    assert(c.optimizer == "adamw" or c.optimizer == "muon" or c.optimizer == "sgd", "optimizer is \"adamw\", \"muon\" or \"sgd\"")
    assert(c.schedule == "cosine" or c.schedule == "constant", "schedule is \"cosine\" or \"constant\"")
    assert(c.decay_on == "matrices" or c.decay_on == "mlp", "decay_on is \"matrices\" or \"mlp\"")
  end,

  forward = function(c, input)
    local init = inits(c)
    local wte = nn.embedding { name = "wte", rows = c.vocab, width = c.width, init = init.embedding }
    local segments = c.pack and input.segments or nil
    local residual = wte(input.tokens) + nn.position_embedding(input.tokens, {
      name = "wpe", context = c.context > 0 and c.context or c.seq, width = c.width, init = init.embedding,
      positions = c.pack and input.positions or nil,
    })
    residual = nn.dropout(residual, c.dropout)
    residual = nn.stack(c.layers, residual, function(x) return block(c, init, x, segments) end, { name = "h" })
    local x = nn.layernorm(residual, { name = "ln_f", bias = c.bias })
    local head = nn.linear(c.tied and { weight = wte.weight, bias = false }
      or { name = "lm_head", out = c.vocab, bias = false, init = init.embedding })
    local logits = head(x)                      -- for generating; training does without
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = head.weight })
    return loss, { logits = logits, accuracy = nn.accuracy(predicted, input.targets) }
  end,

  train = function(c)
    local optimizer = optim.adamw { lr = c.lr, beta1 = c.beta1, beta2 = c.beta2, decay = c.decay }
    local final_lr = c.final_lr
    if c.optimizer == "muon" then
      optimizer = optim.muon { lr = c.muon_lr, decay = c.decay, others = optimizer }
      final_lr = c.lr > 0 and c.final_lr * c.muon_lr / c.lr or 0
    elseif c.optimizer == "sgd" then
      optimizer = optim.sgd { lr = c.lr, decay = c.decay }
    end
    return {
      optimizer = optimizer,
      schedule = c.schedule == "cosine" and optim.cosine { warmup = c.warmup, final_lr = final_lr }
        or optim.constant { warmup = c.warmup },
      groups = c.decay_on == "mlp" and { { match = "h.*.mlp.*.bias", decay = true }, { match = "wpe.weight", decay = false } } or nil,
      steps = c.steps, clip = c.clip, clip_value = c.clip_value, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  hf = hugging_face,

  data = function(c) return data.text { tokenizer = c.tokenizer, val_fraction = 0.1, pack = c.pack, loss_on = c.loss_on } end,
}
