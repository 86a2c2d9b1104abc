-- neox.lua: a decoder-only transformer with layernorm, biases, rotary positions that turn a part of each head, and an mlp that stands
-- beside attention: GPT-NeoX and Pythia.  Names and layouts in checkpoints are those of GPT-NeoX at Hugging Face.

-- Hugging Face has three names for gelu by tanh.
local activations = { gelu = "gelu", gelu_new = "gelu_tanh", gelu_fast = "gelu_tanh", gelu_pytorch_tanh = "gelu_tanh" }

local function context(c) return c.context > 0 and c.context or c.seq end
local function rotary_width(c) return math.floor(c.width // c.heads * c.rotary_share + 1e-6) end

local function block(c, init, x, segments)
  local function norm(y, name) return nn.layernorm(y, { name = name, eps = c.eps }) end
  local h = nn.attention(norm(x, "input_layernorm"), {
    name = "attention", names = { "query_key_value", "dense" }, by_group = true, bias = c.attention_bias, init = init,
    heads = c.heads, causal = true, rotary = c.rope_theta, rotary_width = rotary_width(c),
    context = context(c), segments = segments,
  })
  local attended = x + h
  h = norm(c.parallel and x or attended, "post_attention_layernorm")
  return attended + nn.mlp(h, {
    name = "mlp", names = { "dense_h_to_4h", "dense_4h_to_h" }, hidden = c.hidden, activation = activations[c.activation], init = init,
  })
end

-- tokens [B, T]  ->  [B, T, width], and the embedding, whose weight the head may share; segments: of documents that
-- share a sequence, or nil
local function model(c, init, tokens, segments)
  local embed = nn.embedding { name = "embed_in", rows = c.vocab, width = c.width, init = init }
  local x = nn.stack(c.layers, embed(tokens), function(x) return block(c, init, x, segments) end, { name = "layers" })
  return nn.layernorm(x, { name = "final_layer_norm", eps = c.eps }), embed
end

-- config.json; older files have rotary_emb_base and rotary_pct, newer ones rope_parameters.
local function hugging_face(c)
  return {
    config = {
      model_type = "gpt_neox", architectures = { "GPTNeoXForCausalLM" },
      num_hidden_layers = c.layers, num_attention_heads = c.heads, hidden_size = c.width, intermediate_size = c.hidden,
      hidden_act = c.activation, max_position_embeddings = context(c), layer_norm_eps = c.eps,
      use_parallel_residual = c.parallel, attention_bias = c.attention_bias, tie_word_embeddings = c.tied,
      rotary_emb_base = c.rope_theta, rotary_pct = c.rotary_share,
      rope_parameters = { rope_type = "default", rope_theta = c.rope_theta, partial_rotary_factor = c.rotary_share },
    },
    absent = {
      hidden_act = "gelu", layer_norm_eps = 1e-5, use_parallel_residual = true, attention_bias = true, tie_word_embeddings = false,
      rotary_emb_base = 10000.0, rotary_pct = 0.25, rope_parameters = { rope_type = "default" },
    },
    elsewhere = { rotary_emb_base = "rope_parameters.rope_theta", rotary_pct = "rope_parameters.partial_rotary_factor" },
    unset = { "rope_scaling" },
    harmless = { attention_probs_dropout_prob = "of training alone", hidden_dropout_prob = "of training alone" },
    ids = { config = "vocab_size", tensors = { "gpt_neox.embed_in.weight", not c.tied and "embed_out.weight" or nil } },
    copies = c.tied and { ["embed_out.weight"] = "gpt_neox.embed_in.weight" } or {},
    ignored = {                                                                                 -- masks and rates
      "gpt_neox.layers.%d.attention.bias", "gpt_neox.layers.%d.attention.masked_bias",
      "gpt_neox.layers.%d.attention.rotary_emb.inv_freq",
    },
  }
end

return {
  config = {
    layers = 4, heads = 4, width = 128,
    hidden = 512,                       -- between the two layers of the mlp
    seq = 64, batch = 12, vocab = 256,
    context = 0,                        -- what decode remembers; 0: seq
    tied = false,                       -- the head shares the embedding's weight
    parallel = true,                    -- the mlp reads what attention reads; false: what attention has added to
    attention_bias = true,
    activation = "gelu",                -- or gelu_new, gelu_fast, gelu_pytorch_tanh: by tanh
    rope_theta = 10000.0, rotary_share = 0.25,                          -- the first part of each head that is turned
    eps = 1e-5,
    sd = 0.02,                          -- of every matrix before training

    tokenizer = "bytes",
    pack = false,                       -- several short documents in a sequence, none of which sees another
    loss_on = "auto",                   -- "target": of pairs and chats no more than that counts
    lr = 1e-3, final_lr = 1e-4, warmup = 100, steps = 2000,
    beta1 = 0.9, beta2 = 0.95, decay = 0.01, clip = 1.0, accumulate = 1,
    eval_every = 250,
  },

  configs = {
    -- Pythia with 160 million parameters
    pythia = {
      layers = 12, heads = 12, width = 768, hidden = 3072, vocab = 50304, context = 2048, batch = 2, seq = 512,
      lr = 6e-4, final_lr = 6e-5, accumulate = 8,
    },
  },

  check = function(c)
    assert(c.width % (2 * c.heads) == 0, ("width %d must be a multiple of 2 * heads %d"):format(c.width, c.heads))
    assert(activations[c.activation], "activation must be gelu, gelu_new, gelu_fast or gelu_pytorch_tanh")
  end,

  forward = function(c, input)
    local init = nn.init.normal(c.sd)
    local x, embed = nn.scope("gpt_neox", model, c, init, input.tokens, c.pack and input.segments or nil)
    local head = nn.linear(c.tied and { weight = embed.weight, bias = false }
      or { name = "embed_out", out = c.vocab, bias = false, init = init })
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
