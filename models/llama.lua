-- llama.lua: a decoder-only transformer with rmsnorm, rotary positions, grouped heads and swiglu.  Names and layouts in
-- checkpoints are those of Llama, Mistral, Qwen 2, Qwen 3, OLMo 2, Phi-3 and SmolLM 3 at Hugging Face, whose rotary positions turn
-- the two halves of a head against each other.

-- What the families have of their own: attention_bias and mlp_bias are in their config.json; head_width, window, eps, theta and
-- tied are what it means by saying nothing.  partial: positions may turn a part of each head alone.  no_rope: some layers may have none.
local kinds = {
  llama = { architecture = "LlamaForCausalLM", attention_bias = false, mlp_bias = false },
  mistral = { architecture = "MistralForCausalLM", window = 4096 },
  qwen2 = { architecture = "Qwen2ForCausalLM", qkv_bias = true },
  qwen3 = { architecture = "Qwen3ForCausalLM", qk_norm = true, attention_bias = false, head_width = 128 },
  olmo2 = { architecture = "Olmo2ForCausalLM", qk_norm = "wide", norms = "after", attention_bias = false, eps = 1e-5 },
  phi3 = { architecture = "Phi3ForCausalLM", fused = true, partial = true, window = false, eps = 1e-5,
           harmless = { auto_map = "transformers has that code", original_max_position_embeddings = "of stretched positions" } },
  smollm3 = { architecture = "SmolLM3ForCausalLM", attention_bias = false, mlp_bias = false, theta = 2e6, tied = true, no_rope = 4,
              harmless = { no_rope_layer_interval = "said by no_rope_layers" } },
}

-- The norms of what goes into attention and the mlp, or of what comes out of them
local norms = {
  before = { attention = "input_layernorm", mlp = "post_attention_layernorm" },
  after = { attention_out = "post_attention_layernorm", mlp_out = "post_feedforward_layernorm" },
}

-- The names of weights: one for each projection, or one for q, k and v, and one for gate and up
local apart = { attention = { "q_proj", "k_proj", "v_proj", "o_proj" }, mlp = { "gate_proj", "up_proj", "down_proj" } }
local fused = { attention = { "qkv_proj", "o_proj" }, mlp = { "gate_up_proj", "down_proj" } }

local function head_width(c) return c.head_width > 0 and c.head_width or c.width // c.heads end
local function rotary_width(c) return math.floor(head_width(c) * c.rotary_share + 1e-6) end
local function context(c) return c.context > 0 and c.context or c.seq end

-- Rotary rates of models that were made to read longer texts than they began with
local stretches = {
  linear = function(c) return function(rate) return rate / c.rope_factor end end,
  -- High rates stay, low ones are divided, and between the two they change smoothly (Llama 3.1).
  llama3 = function(c)
    return function(rate)
      local turns = rate * (c.rope_context / (2 * math.pi))
      local share = nn.clamp((turns - c.rope_low) / (c.rope_high - c.rope_low), 0, 1)
      return rate * ((1 - share) / c.rope_factor + share)
    end
  end,
}

-- What becomes of the rates of layer i (i32 []): in a layer without rotary positions they are 0, so nothing turns.
local function stretch_of(c, i)
  local stretch, every = stretches[c.rope] and stretches[c.rope](c), c.no_rope_interval
  if every == 0 then return stretch end
  local turns = nn.ne((i + 1) // every * every, i + 1):cast("f32")
  return function(rate) return turns * (stretch and stretch(rate) or rate) end
end

local function block(c, init, x, i, segments)
  local kind = kinds[c.kind]
  local at, names = norms[kind.norms or "before"], kind.fused and fused or apart
  local function norm(y, name) return name and nn.rmsnorm(y, { name = name, eps = c.eps }) or y end
  local function wide(y, name) return norm(y:reshape { y:size(0), y:size(1), -1 }, name):reshape(y.shape) end
  local h = norm(x, at.attention)
  x = x + norm(nn.attention(h, {
    name = "self_attn", fused = names == fused, names = names.attention, init = init, bias = false,
    heads = c.heads, kv_heads = c.kv_heads, head_width = head_width(c), qkv_bias = kind.qkv_bias,
    qk_norm = kind.qk_norm == "wide" and wide or kind.qk_norm and norm,
    causal = true, window = c.window, rotary = c.rope_theta, rotary_width = rotary_width(c), rotary_stretch = stretch_of(c, i),
    context = context(c), segments = segments,
  }), at.attention_out)
  h = norm(x, at.mlp)
  h = nn.swiglu(h, { name = "mlp", fused = names == fused, names = names.mlp, hidden = c.hidden, init = init })
  return x + norm(h, at.mlp_out)
end

-- tokens [B, T]  ->  [B, T, width], and the embedding, whose weight the head may share; segments: of documents that
-- share a sequence, or nil
local function model(c, init, tokens, segments)
  local embed = nn.embedding { name = "embed_tokens", rows = c.vocab, width = c.width, init = init }
  local x = nn.stack(c.layers, embed(tokens), function(x, i) return block(c, init, x, i, segments) end, { name = "layers" })
  return nn.rmsnorm(x, { name = "norm", eps = c.eps }), embed
end

local function rope_of(c)
  local rope = { rope_theta = c.rope_theta, rope_type = c.rope, partial_rotary_factor = kinds[c.kind].partial and c.rotary_share or nil }
  if c.rope ~= "default" then rope.factor, rope.type = c.rope_factor, c.rope end         -- type: what older files call rope_type
  if c.rope == "llama3" then
    rope.low_freq_factor, rope.high_freq_factor, rope.original_max_position_embeddings = c.rope_low, c.rope_high, c.rope_context
  end
  return rope
end

-- A 1 for each layer with rotary positions, a 0 for each without.
local function rope_layers(c, every)
  local layers = {}
  for i = 1, c.layers do layers[i] = every > 0 and i % every == 0 and 0 or 1 end
  return layers
end

-- config.json; `absent` says what a key means that is not there.
local function hugging_face(c)
  local kind = kinds[c.kind]
  local harmless = { rope_scaling = "compared as rope_parameters" }                             -- where it need not be unset
  for key, why in pairs(kind.harmless or {}) do harmless[key] = why end
  return {
    config = {
      model_type = c.kind, architectures = { kind.architecture },
      num_hidden_layers = c.layers, num_attention_heads = c.heads, num_key_value_heads = c.kv_heads,
      head_dim = head_width(c), hidden_size = c.width, intermediate_size = c.hidden, hidden_act = "silu",
      max_position_embeddings = context(c), rms_norm_eps = c.eps, rope_theta = c.rope_theta, rope_parameters = rope_of(c),
      partial_rotary_factor = kind.partial and c.rotary_share or nil,
      no_rope_layers = kind.no_rope and rope_layers(c, c.no_rope_interval),
      attention_bias = kind.attention_bias, mlp_bias = kind.mlp_bias, tie_word_embeddings = c.tied,
      sliding_window = c.window > 0 and c.window or kind.window and context(c) or nil,          -- a window of all has no effect
    },
    absent = {
      num_key_value_heads = c.heads, head_dim = kind.head_width or c.width // c.heads, hidden_act = "silu",
      rms_norm_eps = kind.eps or 1e-6,
      rope_theta = kind.theta or 10000.0, rope_parameters = { rope_type = "default" }, partial_rotary_factor = 1.0,
      no_rope_layers = kind.no_rope and rope_layers(c, kind.no_rope),
      attention_bias = kind.attention_bias, mlp_bias = kind.mlp_bias, tie_word_embeddings = kind.tied or false,
      sliding_window = kind.window,
    },
    elsewhere = {
      rope_theta = "rope_parameters.rope_theta", rope_parameters = "rope_scaling",
      partial_rotary_factor = "rope_parameters.partial_rotary_factor", no_rope_layers = "no_rope_layer_interval",
    },
    unset = c.rope == "default" and { "rope_scaling" } or {},
    harmless = harmless,
    ids = { config = "vocab_size", tensors = { "model.embed_tokens.weight", not c.tied and "lm_head.weight" or nil } },
    copies = c.tied and { ["lm_head.weight"] = "model.embed_tokens.weight" } or {},
    ignored = { "model.layers.%d.self_attn.rotary_emb.inv_freq" },
  }
end

return {
  config = {
    kind = "llama",                     -- or mistral, qwen2, qwen3, olmo2, phi3, smollm3
    layers = 4, heads = 4, kv_heads = 2, width = 128,
    head_width = 0,                     -- 0: width / heads
    hidden = 352,                       -- between gate, up and down
    seq = 64, batch = 12, vocab = 256,
    context = 0,                        -- what decode remembers; 0: seq
    tied = true,                        -- the head shares the embedding's weight
    window = 0,                         -- how many positions each sees, back from its own; 0: all
    rope_theta = 10000.0, rotary_share = 1.0,                           -- the first part of each head that is turned, of phi3
    rope = "default", rope_factor = 1.0,                                -- or linear, llama3
    rope_low = 1.0, rope_high = 4.0, rope_context = 8192,               -- of llama3
    no_rope_interval = 0,               -- each such layer has no rotary positions, of smollm3; 0: all have
    eps = 1e-5,
    sd = 0.02,                          -- of every matrix before training

    tokenizer = "bytes",
    pack = false,                       -- several short documents in a sequence, none of which sees another
    loss_on = "auto",                   -- "target": of pairs and chats no more than that counts
    lr = 1e-3, final_lr = 1e-4, warmup = 100, steps = 2000,
    beta1 = 0.9, beta2 = 0.95, decay = 0.1, clip = 1.0, accumulate = 1,
    eval_every = 250,
  },

  configs = {
    -- characters of a play
    char = { vocab = 65, tokenizer = "chars" },

    -- untied, positions up to 512
    small = {
      layers = 2, heads = 8, kv_heads = 4, width = 256, hidden = 704, vocab = 10000, context = 512, batch = 32, seq = 128,
      tied = false,
    },

    -- SmolLM with 135 million parameters
    smollm = {
      layers = 30, heads = 9, kv_heads = 3, width = 576, hidden = 1536, vocab = 49152, context = 2048, batch = 2, seq = 512,
      sd = 1 / 24, lr = 6e-4, final_lr = 6e-5, accumulate = 8,
    },
  },

  check = function(c)
    assert(kinds[c.kind], "kind must be llama, mistral, qwen2, qwen3, olmo2, phi3 or smollm3")
    assert(c.window == 0 or kinds[c.kind].window ~= nil, "only the kinds mistral and phi3 have a window")
    assert(c.rope == "default" or stretches[c.rope] and c.kind ~= "phi3", "rope must be default, linear or llama3, of phi3 default")
    assert(c.rotary_share == 1 or kinds[c.kind].partial, "only the kind phi3 has a rotary_share")
    assert(c.no_rope_interval == 0 or kinds[c.kind].no_rope, "only the kind smollm3 has a no_rope_interval")
    assert(c.rope_factor > 0 and c.rope_low < c.rope_high, "rope_factor must be above 0, and rope_low below rope_high")
    assert(c.head_width > 0 or c.width % (2 * c.heads) == 0,
      ("width %d must be a multiple of 2 * heads %d"):format(c.width, c.heads))
    assert(c.heads % c.kv_heads == 0, ("heads %d must be a multiple of kv_heads %d"):format(c.heads, c.kv_heads))
  end,

  forward = function(c, input)
    local init = nn.init.normal(c.sd)
    local x, embed = nn.scope("model", model, c, init, input.tokens, c.pack and input.segments or nil)
    local head = nn.linear(c.tied and { weight = embed.weight, bias = false }
      or { name = "lm_head", out = c.vocab, bias = false, init = init })
    local logits = head(x)                      -- for generating; training does without
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = head.weight })
    return loss, { logits = logits, accuracy = nn.accuracy(predicted, input.targets) }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, beta1 = c.beta1, beta2 = c.beta2, decay = c.decay },
      schedule = optim.cosine { warmup = c.warmup, final_lr = c.final_lr },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  hf = hugging_face,

  data = function(c) return data.text { tokenizer = c.tokenizer, val_fraction = 0.1, pack = c.pack, loss_on = c.loss_on } end,
}
