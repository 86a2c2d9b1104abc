-- llama.lua: a decoder-only transformer with rmsnorm, rotary positions, grouped heads and swiglu.  Names and layouts in
-- checkpoints are those of Llama, Mistral, Mixtral, Qwen 2, Qwen 3 and its mixture of experts, Gemma 1 to 3, OLMo 2, Phi-3 and
-- SmolLM 3 at Hugging Face, whose rotary positions turn the two halves of a head against each other.

-- What the families have of their own: attention_bias and mlp_bias are in their config.json, and may be true; head_width, window, eps, theta,
-- rope_local, tied, full_every, score_cap, logit_cap and no_rope are what it means by saying nothing.  partial: positions may turn a
-- part of each head alone.  full_every: between such layers all have a window.  no_rope: such layers have no rotary positions.
local function gemma(kind)
  kind.norm_offset, kind.activation = 1, "gelu_tanh"                            -- norms are times 1 + weight
  kind.head_width, kind.attention_bias, kind.tied = 256, false, true
  return kind
end

local kinds = {
  llama = { architecture = "LlamaForCausalLM", attention_bias = false, mlp_bias = false },
  mistral = { architecture = "MistralForCausalLM", window = 4096 },
  qwen2 = { architecture = "Qwen2ForCausalLM", qkv_bias = true },
  qwen3 = { architecture = "Qwen3ForCausalLM", qk_norm = true, attention_bias = false, head_width = 128 },
  gemma = gemma { architecture = "GemmaForCausalLM" },
  gemma2 = gemma { architecture = "Gemma2ForCausalLM", norms = "both", window = 4096, full_every = 2, score_cap = 50.0, logit_cap = 30.0 },
  gemma3_text = gemma { architecture = "Gemma3ForCausalLM", norms = "both", qk_norm = true, window = 4096, full_every = 6,
                        theta = 1e6, rope_local = 1e4 },
  olmo2 = { architecture = "Olmo2ForCausalLM", qk_norm = "wide", norms = "after", attention_bias = false, eps = 1e-5 },
  phi3 = { architecture = "Phi3ForCausalLM", fused = true, partial = true, window = false, eps = 1e-5,
           harmless = { auto_map = "transformers has that code" } },
  mixtral = { architecture = "MixtralForCausalLM", window = false, eps = 1e-5, theta = 1e6, share = true,
              experts = { "block_sparse_moe", { "gate", "experts", "w1", "w3", "w2" } }, keys = { count = "num_local_experts", hidden = "intermediate_size" } },
  qwen3_moe = { architecture = "Qwen3MoeForCausalLM", qk_norm = true, attention_bias = false,
                experts = { "mlp", { "gate", "experts", "gate_proj", "up_proj", "down_proj" } }, keys = { count = "num_experts", hidden = "moe_intermediate_size" } },
  smollm3 = { architecture = "SmolLM3ForCausalLM", attention_bias = false, mlp_bias = false, theta = 2e6, tied = true, no_rope = 4 },
}

-- The norms of what goes into attention and the mlp, of what comes out of them, or of both
local norms = {
  before = { attention = "input_layernorm", mlp = "post_attention_layernorm" },
  after = { attention_out = "post_attention_layernorm", mlp_out = "post_feedforward_layernorm" },
  both = { attention = "input_layernorm", attention_out = "post_attention_layernorm",
           mlp = "pre_feedforward_layernorm", mlp_out = "post_feedforward_layernorm" },
}

-- The names of weights: one for each projection, or one for q, k and v, and one for gate and up
local apart = { attention = { "q_proj", "k_proj", "v_proj", "o_proj" }, mlp = { "gate_proj", "up_proj", "down_proj" } }
local fused = { attention = { "qkv_proj", "o_proj" }, mlp = { "gate_up_proj", "down_proj" } }

local function head_width(c) return c.head_width > 0 and c.head_width or c.width // c.heads end
local function rotary_width(c) return math.floor(head_width(c) * c.rotary_share + 1e-6) end
local function query_width(c) return c.query_width > 0 and c.query_width or head_width(c) end
local function context(c) return c.context > 0 and c.context or c.seq end

-- How long texts were that a model began with, before it was made to read longer ones
local function first_context(c) return c.rope ~= "dynamic" and c.rope_context > 0 and c.rope_context or context(c) end

-- Two ways to stretch depend on the length of a text.  Ours go by seq, so that training and answers agree: up to the first
-- context nothing longer is read, and beyond it everything is read as texts of seq, or longer ones, are.
local function reads_far(c) return c.seq > first_context(c) end
local by_length = { dynamic = true, longrope = true }
local function reach(c)
  if not by_length[c.rope] then return context(c) end
  return reads_far(c) and math.max(context(c), c.seq) or math.min(context(c), first_context(c))
end

local function indices(rate) return nn.iota(rate:size(0)):cast("f32") end
local function numbers(text)
  local list = {}
  for word in text:gmatch("[^%s,]+") do list[#list + 1] = tonumber(word) or error(("expected a number in rope_short or rope_long, found %s"):format(word)) end
  return list
end

-- The first and the last pair of a head that YaRN changes by a part: those that turn so many times in the first context
local function yarn_pairs(c)
  local width = rotary_width(c)
  local function pair(turns) return width * math.log(first_context(c) / (turns * 2 * math.pi)) / (2 * math.log(c.rope_theta)) end
  local low, high = math.max(math.floor(pair(c.rope_fast)), 0), math.min(math.ceil(pair(c.rope_slow)), width - 1)
  return low, low == high and high + 0.001 or high
end

-- Rotary rates of models that were made to read longer texts than they began with
local stretches = {
  linear = function(c) return function(rate) return rate / c.rope_factor end end,
  -- Pairs that turn often stay, those that turn seldom are divided, and between the two it changes from pair to pair.
  yarn = function(c)
    local low, high = yarn_pairs(c)
    return function(rate)
      local divided = nn.clamp((indices(rate) - low) / (high - low), 0, 1)
      return rate * (divided / c.rope_factor + (1 - divided))
    end
  end,
  -- The base grows with the length (NTK).
  dynamic = function(c)
    if not reads_far(c) then return nil end
    local width = rotary_width(c)
    local growth = (c.rope_factor * c.seq / context(c) - (c.rope_factor - 1)) ^ (width / (width - 2))
    return function(rate) return rate * nn.exp(indices(rate) * (-2 / width * math.log(growth))) end
  end,
  -- Each rate is divided by a number of its own; there are two lists of these (Phi-3).
  longrope = function(c)
    local by = numbers(reads_far(c) and c.rope_long or c.rope_short)
    return function(rate) return rate / nn.constant(by) end
  end,
  -- High rates stay, low ones are divided, and between the two they change smoothly (Llama 3.1).
  llama3 = function(c)
    return function(rate)
      local turns = rate * (first_context(c) / (2 * math.pi))
      local share = nn.clamp((turns - c.rope_low) / (c.rope_high - c.rope_low), 0, 1)
      return rate * ((1 - share) / c.rope_factor + share)
    end
  end,
}

-- By which cosines and sines are multiplied: scores of longer texts are sharper.
local function amplitude(c)
  if c.rope_amplitude > 0 then return c.rope_amplitude end
  if c.rope == "yarn" then return c.rope_factor > 1 and 0.1 * math.log(c.rope_factor) + 1 or 1 end
  local factor = c.rope_factor ~= 1 and c.rope_factor or context(c) / first_context(c)
  return c.rope == "longrope" and factor > 1 and math.sqrt(1 + math.log(factor) / math.log(first_context(c))) or 1
end

-- Whether layer i (i32 [], of nn.stack) is not the last of `every` layers: bool []
local function between(i, every) return nn.ne((i + 1) % every, 0) end

-- What becomes of rotary rates in layer i, and what cosines and sines are multiplied by.  With a window they may have another
-- base; where rates are 0, nothing turns.
local function rates_of(c, i)
  local stretch, times = stretches[c.rope] and stretches[c.rope](c), amplitude(c)
  local function far(rate) return stretch and stretch(rate) or rate end
  if c.rope_local > 0 then
    local power = math.log(c.rope_local) / math.log(c.rope_theta)
    return function(rate) return nn.where(between(i, c.full_every), nn.exp(nn.log(rate) * power), far(rate)) end
  elseif c.no_rope_interval > 0 then
    return function(rate)
      local turns = between(i, c.no_rope_interval):cast("f32")
      return turns * far(rate), times ~= 1 and 1 + turns * (times - 1) or nil
    end
  end
  if times == 1 then return stretch end
  return function(rate) return far(rate), times end
end

local function norm(c, y, name) return name and nn.rmsnorm(y, { name = name, eps = c.eps, offset = kinds[c.kind].norm_offset }) or y end

local function block(c, init, x, i, segments)
  local kind = kinds[c.kind]
  local at, names = norms[kind.norms or "before"], kind.fused and fused or apart
  local function each(y, name) return norm(c, y, name) end
  local function wide(y, name) return norm(c, y:reshape { y:size(0), y:size(1), -1 }, name):reshape(y.shape) end
  local h = nn.attention(norm(c, x, at.attention), {
    name = "self_attn", fused = names == fused, names = names.attention, init = init, bias = c.attention_bias,
    heads = c.heads, kv_heads = c.kv_heads, head_width = head_width(c), qkv_bias = kind.qkv_bias,
    qk_norm = kind.qk_norm == "wide" and wide or kind.qk_norm and each,
    causal = true, window = c.window, windowed = c.full_every > 0 and between(i, c.full_every) or nil,
    rotary = c.rope_theta, rotary_width = rotary_width(c), rotary_stretch = rates_of(c, i),
    scale = 1 / math.sqrt(query_width(c)), soft_cap = c.score_cap > 0 and c.score_cap or nil, context = reach(c), segments = segments,
  })
  x = x + norm(c, h, at.attention_out)
  if kind.experts then
    local y, routers = nn.experts(norm(c, x, at.mlp), {
      name = kind.experts[1], names = kind.experts[2], experts = c.experts, active = c.active, normalised = c.normalised,
      hidden = c.hidden, init = init,
    })
    return x + y, routers
  end
  h = nn.swiglu(norm(c, x, at.mlp), {
    name = "mlp", fused = names == fused, names = names.mlp, hidden = c.hidden, activation = kind.activation, bias = c.mlp_bias, init = init,
  })
  return x + norm(c, h, at.mlp_out)
end

-- tokens [B, T]  ->  [B, T, width]; the embedding, whose weight the head may share; logits of routers [layers, B, T, experts], if
-- there are; segments: of documents that share a sequence, or nil
local function model(c, init, tokens, segments)
  local embed = nn.embedding { name = "embed_tokens", rows = c.vocab, width = c.width, init = init }
  local x, routers = embed(tokens), nil
  if kinds[c.kind].norm_offset then x = x * math.sqrt(c.width) end              -- Gemma's
  x, routers = nn.stack(c.layers, x, function(x, i) return block(c, init, x, i, segments) end, { name = "layers" })
  return norm(c, x, "norm"), embed, routers
end

local function rope_of(c)
  local rope = { rope_theta = c.rope_theta, rope_type = c.rope, partial_rotary_factor = kinds[c.kind].partial and c.rotary_share or nil }
  if c.rope ~= "default" then rope.factor, rope.type = c.rope_factor, c.rope end         -- type: what older files call rope_type
  if c.rope == "longrope" and c.rope_factor == 1 then rope.factor = nil end                  -- then it is said by two lengths
  if c.rope == "longrope" or c.rope == "yarn" or c.rope == "llama3" then rope.original_max_position_embeddings = first_context(c) end
  if c.rope == "llama3" then rope.low_freq_factor, rope.high_freq_factor = c.rope_low, c.rope_high end
  if c.rope == "yarn" then rope.beta_fast, rope.beta_slow = c.rope_fast, c.rope_slow end
  if c.rope == "longrope" then rope.short_factor, rope.long_factor = numbers(c.rope_short), numbers(c.rope_long) end
  if c.rope_amplitude > 0 then rope.attention_factor = c.rope_amplitude end
  return rope
end

-- The same as older files of Phi-3 have it
local function older_rope(rope)
  local older = {}
  for key, value in pairs(rope) do older[key] = value end
  older.rope_type, older.type = "su", "su"
  return older
end

-- What each layer has, as Hugging Face names it: every so many-th the one, and the others the other.
local function by_layer(c, every, one, other)
  local layers = {}
  for i = 1, c.layers do layers[i] = every > 0 and i % every == 0 and one or other end
  return layers
end

local function rope_layers(c, every) return every and by_layer(c, every, 0, 1) end
local function seen_by_layers(c, every) return by_layer(c, every, "full_attention", "sliding_attention") end

-- What config.json of Gemma has beside the others' keys, or instead of them
local function add_gemma(c, kind, hf)
  local config, absent = hf.config, hf.absent
  local act, other = "hidden_act", "hidden_activation"                          -- of Gemma 1 also where it says gelu
  if kind.full_every then act, other = other, act end
  config.hidden_act, absent.hidden_act, hf.alike = nil, nil, { hidden_act = { "gelu" } }
  config[act], absent[act] = "gelu_pytorch_tanh", "gelu_pytorch_tanh"
  hf.harmless[other], hf.harmless.sliding_window_size = "not read beside " .. act, "not read beside sliding_window"
  if not kind.full_every then return hf end
  config.layer_types, absent.layer_types = seen_by_layers(c, c.full_every), seen_by_layers(c, kind.full_every)
  config.query_pre_attn_scalar, absent.query_pre_attn_scalar = query_width(c), 256
  for _, cap in ipairs { { "attn_logit_softcapping", "score_cap" }, { "final_logit_softcapping", "logit_cap" } } do
    local key, ours = table.unpack(cap)
    absent[key] = kind[ours]
    if c[ours] > 0 then config[key] = c[ours] else table.insert(hf.unset, key) end
  end
  hf.harmless._sliding_window_pattern = "said by layer_types"
  if not kind.rope_local then return hf end
  local rope = config.rope_parameters
  config.rope_parameters = { full_attention = rope, sliding_attention = { rope_theta = c.rope_local, rope_type = "default" } }
  absent.rope_parameters = config.rope_parameters                               -- then the keys of older files say it
  config.rope_local_base_freq, absent.rope_local_base_freq = c.rope_local, kind.rope_local
  if c.rope ~= "default" then config.rope_scaling, absent.rope_scaling = rope, { rope_type = "default" } end
  hf.elsewhere = { rope_theta = "rope_parameters.full_attention.rope_theta", rope_scaling = "rope_parameters.full_attention",
    rope_local_base_freq = "rope_parameters.sliding_attention.rope_theta" }
  return hf
end

local function add_experts(c, kind, hf)
  local config, count, hidden = hf.config, kind.keys.count, kind.keys.hidden
  config.intermediate_size = nil
  config[count], config[hidden], config.num_experts_per_tok = c.experts, c.hidden, c.active
  local other = count == "num_experts" and "num_local_experts" or "num_experts"
  hf.elsewhere[count], hf.harmless[other] = other, "compared as " .. count
  if not kind.share then config.norm_topk_prob, hf.absent.norm_topk_prob = c.normalised, false end
  if hidden ~= "intermediate_size" then hf.harmless.intermediate_size = "of layers without experts" end
  hf.harmless.router_aux_loss_coef = "counts only with output_router_logits"
  hf.also = { output_router_logits = c.balance > 0, router_aux_loss_coef = c.balance > 0 and c.balance or nil }
end

local function said_if(known, value) if known ~= nil then return value end end

-- config.json; `absent` says what a key means that is not there.
local function hugging_face(c)
  local kind = kinds[c.kind]
  local harmless = { rope_scaling = "compared as rope_parameters" }                             -- where it need not be unset
  for key, why in pairs(kind.harmless or {}) do harmless[key] = why end
  if kind.qk_norm == true then harmless.use_qk_norm = "as it is in any case" end
  if kind.partial and c.rope == "default" then harmless.original_max_position_embeddings = "of stretched positions" end
  local hf = {
    config = {
      model_type = c.kind, architectures = { kind.architecture },
      num_hidden_layers = c.layers, num_attention_heads = c.heads, num_key_value_heads = c.kv_heads,
      head_dim = head_width(c), hidden_size = c.width, intermediate_size = c.hidden, hidden_act = "silu",
      max_position_embeddings = context(c), rms_norm_eps = c.eps, rope_theta = c.rope_theta, rope_parameters = rope_of(c),
      partial_rotary_factor = kind.partial and c.rotary_share or nil,
      original_max_position_embeddings = kind.partial and c.rope == "longrope" and first_context(c) or nil,
      no_rope_layers = rope_layers(c, kind.no_rope and c.no_rope_interval),
      attention_bias = said_if(kind.attention_bias, c.attention_bias), mlp_bias = said_if(kind.mlp_bias, c.mlp_bias), tie_word_embeddings = c.tied,
      sliding_window = c.window > 0 and c.window or kind.window and context(c) or nil,          -- a window of all has no effect
    },
    absent = {
      num_key_value_heads = c.heads, head_dim = kind.head_width or c.width // c.heads, hidden_act = "silu",
      rms_norm_eps = kind.eps or 1e-6,
      rope_theta = kind.theta or 10000.0, rope_parameters = { rope_type = "default" }, partial_rotary_factor = 1.0,
      no_rope_layers = rope_layers(c, kind.no_rope),
      attention_bias = kind.attention_bias, mlp_bias = kind.mlp_bias, tie_word_embeddings = kind.tied or false,
      sliding_window = kind.window,
    },
    elsewhere = {
      rope_theta = "rope_parameters.rope_theta", rope_parameters = "rope_scaling",
      partial_rotary_factor = "rope_parameters.partial_rotary_factor",
    },
    unset = c.rope == "default" and { "rope_scaling" } or {},
    harmless = harmless,
    alike = c.rope == "longrope" and { rope_parameters = { older_rope(rope_of(c)) } } or {},
    ids = { config = "vocab_size", tensors = { "model.embed_tokens.weight", not c.tied and "lm_head.weight" or nil } },
    copies = c.tied and { ["lm_head.weight"] = "model.embed_tokens.weight" } or {},
    ignored = { "model.layers.%d.self_attn.rotary_emb.inv_freq" },
  }
  if kind.experts then add_experts(c, kind, hf) end
  return kind.norm_offset and add_gemma(c, kind, hf) or hf
end

local function check_rope(c, kind)
  local new = c.rope == "yarn" or by_length[c.rope]
  assert(c.rope == "default" or stretches[c.rope], "rope must be default, linear, llama3, yarn, dynamic or longrope")
  assert(not kind.partial or c.rope == "default" or c.rope == "longrope", "rope of the kind phi3 must be default or longrope")
  assert(not new or not kind.rope_local, "rope of the kind gemma3_text must be default, linear or llama3")
  assert(c.rope_factor > 0 and c.rope_low < c.rope_high, "rope_factor must be above 0, and rope_low below rope_high")
  assert(0 < c.rope_slow and c.rope_slow < c.rope_fast, "rope_slow must be above 0, and below rope_fast")
  assert(c.rope_amplitude == 0 or c.rope == "yarn" or c.rope == "longrope", "only rope yarn and longrope have a rope_amplitude")
  assert(c.rope ~= "dynamic" or c.rope_factor >= 1, "rope_factor of rope dynamic must be 1 or more")
  assert(c.rope ~= "dynamic" or rotary_width(c) > 2, "rope dynamic needs heads of more than 2 channels")
  for _, name in ipairs { "rope_short", "rope_long" } do
    local n, pairs_of_head = #numbers(c[name]), c.rope == "longrope" and rotary_width(c) // 2 or 0
    assert(n == pairs_of_head, ("%s: expected %d numbers, found %d"):format(name, pairs_of_head, n))
  end
end

return {
  config = {
    kind = "llama",                     -- or mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma, gemma2, gemma3_text, olmo2, phi3, smollm3
    layers = 4, heads = 4, kv_heads = 2, width = 128,
    head_width = 0,                     -- 0: width / heads
    hidden = 352,                       -- between gate, up and down, of each expert
    experts = 0, active = 2,            -- of mixtral and qwen3_moe: experts of a layer, and how many each token goes through
    normalised = true,                  -- the weights of a token's experts add up to 1
    balance = 0.0,                      -- times the balance loss of the routers, in the loss
    seq = 64, batch = 12, vocab = 256,
    context = 0,                        -- what decode remembers; 0: seq
    tied = true,                        -- the head shares the embedding's weight
    attention_bias = false, mlp_bias = false,   -- of all projections; qwen2 has those of q, k and v in any case
    window = 0,                         -- how many positions each sees, back from its own; 0: all
    full_every = 0,                     -- every so many layers one sees all, without the window, of gemma2 and gemma3_text; 0: none
    query_width = 0,                    -- scores are divided by its root; 0: the width of a head
    score_cap = 0.0, logit_cap = 0.0,   -- scores of attention, and logits, stay below; 0: as they are
    rope_theta = 10000.0, rope_local = 0.0,                             -- rope_local: of layers with the window; 0: rope_theta
    rotary_share = 1.0,                 -- the first part of each head that is turned, of phi3
    rope = "default", rope_factor = 1.0,                                -- or linear, llama3, yarn, dynamic, longrope
    rope_context = 0,                   -- how long texts were that the model began with, of llama3, yarn and longrope; 0: context
    rope_low = 1.0, rope_high = 4.0,    -- of llama3
    rope_fast = 32.0, rope_slow = 1.0,  -- of yarn
    rope_short = "", rope_long = "",    -- of longrope: numbers between blanks or commas, for seq up to rope_context and above
    rope_amplitude = 0.0,               -- of yarn and longrope; 0: as its factor says
    no_rope_interval = 0,               -- each such layer has no rotary positions, of smollm3; 0: all have
    eps = 1e-5,
    sd = 0.02,                          -- of every matrix before training

    tokenizer = "bytes",
    pack = false,                       -- several short documents in a sequence, none of which sees another
    shuffle_tokens = 1 << 22,            -- as many are in memory, twice, and shuffled with each other
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
    local kind = kinds[c.kind]
    assert(kind, "kind must be llama, mistral, mixtral, qwen2, qwen3, qwen3_moe, gemma, gemma2, gemma3_text, olmo2, phi3 or smollm3")
    assert(c.window == 0 or kind.window ~= nil, "only the kinds mistral, mixtral, gemma2, gemma3_text and phi3 have a window")
    assert(not kind.full_every == (c.full_every == 0), "the kinds gemma2 and gemma3_text need full_every, and others have none")
    assert(c.full_every == 0 or c.window > 0, "full_every needs a window for the layers between")
    assert(not kind.rope_local == (c.rope_local == 0), "the kind gemma3_text needs rope_local, and others have none")
    assert(c.score_cap == 0 or kind.score_cap, "only the kind gemma2 has score_cap")
    assert(c.logit_cap == 0 or kind.full_every, "only the kinds gemma2 and gemma3_text have logit_cap")
    assert(c.query_width == 0 or kind.full_every, "only the kinds gemma2 and gemma3_text have query_width")
    assert(not kind.experts == (c.experts == 0), "the kinds mixtral and qwen3_moe need experts, and others have none")
    assert(not kind.experts or c.active > 0 and c.active <= c.experts, "active must be 1 to experts")
    assert(c.normalised or kind.experts and not kind.share, "only the kind qwen3_moe may have normalised = false")
    assert(c.balance == 0 or kind.experts and c.balance > 0, "only the kinds mixtral and qwen3_moe have balance, above 0")
    assert(not c.attention_bias or kind.attention_bias ~= nil, "the kinds mistral, mixtral, qwen2 and phi3 have no attention_bias")
    assert(not c.mlp_bias or kind.mlp_bias ~= nil, "only the kinds llama and smollm3 have mlp_bias")
    check_rope(c, kind)
    assert(c.rotary_share == 1 or kind.partial, "only the kind phi3 has a rotary_share")
    assert(c.no_rope_interval == 0 or kind.no_rope, "only the kind smollm3 has a no_rope_interval")
    assert(c.head_width > 0 or c.width % (2 * c.heads) == 0,
      ("width %d must be a multiple of 2 * heads %d"):format(c.width, c.heads))
    assert(c.heads % c.kv_heads == 0, ("heads %d must be a multiple of kv_heads %d"):format(c.heads, c.kv_heads))
  end,

  forward = function(c, input)
    local init = nn.init.normal(c.sd)
    local x, embed, routers = nn.scope("model", model, c, init, input.tokens, c.pack and input.segments or nil)
    local head = nn.linear(c.tied and { weight = embed.weight, bias = false }
      or { name = "lm_head", out = c.vocab, bias = false, init = init })
    local logits = head(x)                      -- for generating; training does without, unless they are capped
    if c.logit_cap > 0 then
      logits = nn.soft_cap(logits, c.logit_cap)
      return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
    end
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = head.weight })
    local out = { logits = logits, accuracy = nn.accuracy(predicted, input.targets) }
    if c.balance == 0 then return loss, out end
    out.cross_entropy = loss                    -- what perplexity comes from
    return loss + c.balance * nn.balance_loss(routers, c.active), out
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, beta1 = c.beta1, beta2 = c.beta2, decay = c.decay },
      schedule = optim.cosine { warmup = c.warmup, final_lr = c.final_lr },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  hf = hugging_face,

  data = function(c)
    return data.text { tokenizer = c.tokenizer, val_fraction = 0.1, pack = c.pack, loss_on = c.loss_on, shuffle_tokens = c.shuffle_tokens }
  end,
}
