-- llama.lua: a decoder-only transformer with rmsnorm, rotary positions, grouped heads and swiglu.  Names and layouts in
-- checkpoints are those of Llama at Hugging Face, whose rotary positions turn the two halves of a head against each other.

local function block(c, init, x, segments)
  local h = nn.rmsnorm(x, { name = "input_layernorm", eps = c.eps })
  x = x + nn.attention(h, {
    name = "self_attn", fused = false, names = { "q_proj", "k_proj", "v_proj", "o_proj" }, init = init, bias = false,
    heads = c.heads, kv_heads = c.kv_heads, causal = true, rotary = c.rope_theta,
    context = c.context > 0 and c.context or c.seq, segments = segments,        -- angles between positions matter alone, so these may run on
  })
  h = nn.rmsnorm(x, { name = "post_attention_layernorm", eps = c.eps })
  return x + nn.swiglu(h, { name = "mlp", names = { "gate_proj", "up_proj", "down_proj" }, hidden = c.hidden, init = init })
end

-- tokens [B, T]  ->  [B, T, width], and the embedding, whose weight the head may share; segments: of documents that
-- share a sequence, or nil
local function model(c, init, tokens, segments)
  local embed = nn.embedding { name = "embed_tokens", rows = c.vocab, width = c.width, init = init }
  local x = nn.stack(c.layers, embed(tokens), function(x) return block(c, init, x, segments) end, { name = "layers" })
  return nn.rmsnorm(x, { name = "norm", eps = c.eps }), embed
end

-- At Hugging Face it is LlamaForCausalLM.
local function hugging_face(c)
  return {
    config = {
      model_type = "llama", architectures = { "LlamaForCausalLM" },
      num_hidden_layers = c.layers, num_attention_heads = c.heads, num_key_value_heads = c.kv_heads,
      head_dim = c.width // c.heads, hidden_size = c.width, intermediate_size = c.hidden, hidden_act = "silu",
      max_position_embeddings = c.context > 0 and c.context or c.seq, rms_norm_eps = c.eps,
      rope_theta = c.rope_theta, rope_parameters = { rope_theta = c.rope_theta, rope_type = "default" },
      attention_bias = false, mlp_bias = false, tie_word_embeddings = c.tied,
    },
    absent = {
      num_key_value_heads = c.heads, head_dim = c.width // c.heads, hidden_act = "silu", rms_norm_eps = 1e-6,
      rope_theta = 10000.0, attention_bias = false, mlp_bias = false, tie_word_embeddings = false,
    },
    elsewhere = { rope_theta = "rope_parameters.rope_theta" },
    unset = { "rope_scaling" },
    ids = { config = "vocab_size", tensors = { "model.embed_tokens.weight", not c.tied and "lm_head.weight" or nil } },
    copies = c.tied and { ["lm_head.weight"] = "model.embed_tokens.weight" } or {},
    ignored = { "model.layers.%d.self_attn.rotary_emb.inv_freq" },
  }
end

return {
  config = {
    layers = 4, heads = 4, kv_heads = 2, width = 128,
    hidden = 352,                       -- between gate, up and down
    seq = 64, batch = 12, vocab = 256,
    context = 0,                        -- what decode remembers; 0: seq
    tied = true,                        -- the head shares the embedding's weight
    rope_theta = 10000.0,
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
    assert(c.width % (2 * c.heads) == 0, ("width %d must be a multiple of 2 * heads %d"):format(c.width, c.heads))
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
