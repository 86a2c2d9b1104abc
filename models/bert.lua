-- bert.lua: an encoder whose positions see each other in both directions: BERT (Devlin et al. 2018), RoBERTa, what has their layers, such
-- as MiniLM, and ModernBERT (Warner et al. 2024).  Names and layouts in checkpoints are theirs at Hugging Face.
--
-- What it is for is its head: "classes" (one class of a text, or of two), "tokens" (a class of each word), "masked" (words that were
-- hidden), "embedding" (a vector of length 1: texts that belong together are near each other).

-- offset: how many rows the table of positions has before that of the first token.  modern: norms before attention and mlp, rotary
-- positions, windows, gates; no types.
local kinds = {
  bert = { model = "Bert", offset = 0, prefix = "bert" },
  roberta = { model = "Roberta", offset = 2, prefix = "roberta" },
  modernbert = { model = "ModernBert", offset = 0, prefix = "model", modern = true },
}
local heads = { classes = "ForSequenceClassification", tokens = "ForTokenClassification", masked = "ForMaskedLM", embedding = "Model" }
local activations = {
  gelu = nn.gelu, relu = nn.relu, silu = nn.silu, gelu_new = function(x) return nn.gelu(x, "tanh") end,
}
activations.gelu_fast, activations.gelu_pytorch_tanh = activations.gelu_new, activations.gelu_new

local function linear(c, x, name, out) return nn.linear(x, { name = name, out = out, init = nn.init.normal(c.sd) }) end
local function norm(c, x, name) return nn.layernorm(x, { name = name or "LayerNorm", eps = c.eps }) end
local function rows(c, name, n) return nn.param { name = name .. ".weight", shape = { n, c.width }, init = nn.init.normal(c.sd) } end

-- tokens, types [B, T] (types nil: all of the first text)  ->  [B, T, width], and the embedding, whose weight the head may share
local function embedded(c, tokens, types)
  local first, T = kinds[c.kind].offset, tokens:size(1)
  local words = nn.embedding { name = "word_embeddings", rows = c.vocab, width = c.width, init = nn.init.normal(c.sd) }
  local type_rows, places = rows(c, "token_type_embeddings", c.types), rows(c, "position_embeddings", c.context)
  local x = words(tokens) + places:slice(0, first, first + T) + (types and type_rows:gather(types, 0) or type_rows:select(0, 0))
  return nn.dropout(norm(c, x), c.dropout), words
end

local function attended(c, x, lengths)
  local h = nn.scope("self", function()
    local function projected(name) return linear(c, x, name, c.width):reshape { x:size(0), x:size(1), c.heads, -1 } end
    local y = nn.attend(projected("query"), projected("key"), projected("value"), { lengths = lengths, dropout = c.attention_dropout })
    return y:reshape(x.shape)
  end)
  return nn.scope("output", function() return norm(c, x + nn.dropout(linear(c, h, "dense", c.width), c.dropout)) end)
end

local function block(c, x, lengths)
  x = nn.scope("attention", attended, c, x, lengths)
  local h = nn.scope("intermediate", function() return activations[c.activation](linear(c, x, "dense", c.hidden)) end)
  return nn.scope("output", function() return norm(c, x + nn.dropout(linear(c, h, "dense", c.width), c.dropout)) end)
end

-- ------------------------------------------------------------------ ModernBERT

local function modern_linear(c, x, name, out, bias) return nn.linear(x, { name = name, out = out, bias = bias, init = nn.init.normal(c.sd) }) end
local function modern_norm(c, x, name) return nn.layernorm(x, { name = name, eps = c.eps, bias = c.norm_bias }) end

-- Layer i (i32 [], of nn.stack): all but every so many-th see a window, on both sides, and have another base of rotary positions.
local function modern_block(c, x, i, lengths)
  local near, half = nn.ne(i % c.full_every, 0), c.window // 2
  local power = math.log(c.rope_local) / math.log(c.rope_theta)
  local h = nn.where(nn.eq(i, 0), x, modern_norm(c, x, "attn_norm"))            -- the first layer has no such norm
  x = x + nn.dropout(nn.attention(h, {
    name = "attn", names = { "Wqkv", "Wo" }, heads = c.heads, bias = c.attention_bias, init = nn.init.normal(c.sd),
    lengths = lengths, dropout = c.attention_dropout, rotary = c.rope_theta,
    rotary_stretch = function(rate) return nn.where(near, nn.exp(nn.log(rate) * power), rate) end,
    score_bias = function(queries, keys)
      local apart = queries:unsqueeze(-1) - keys
      return nn.where(nn.land(near, nn.lt(half, nn.max(apart, -apart))), -math.huge, 0)
    end,
  }), c.attention_dropout)
  local y = modern_norm(c, x, "mlp_norm")
  local gated = nn.scope("mlp", function()
    local a, gate = modern_linear(c, y, "Wi", 2 * c.hidden, c.mlp_bias):chunk(2, -1)
    return modern_linear(c, nn.dropout(activations[c.activation](a) * gate, c.dropout), "Wo", c.width, c.mlp_bias)
  end)
  return x + gated
end

local function modern(c, tokens, lengths)
  local x, words = nn.scope("embeddings", function()
    local words = nn.embedding { name = "tok_embeddings", rows = c.vocab, width = c.width, init = nn.init.normal(c.sd) }
    return nn.dropout(modern_norm(c, words(tokens), "norm"), c.embedding_dropout), words
  end)
  x = nn.stack(c.layers, x, function(x, i) return modern_block(c, x, i, lengths) end, { name = "layers" })
  return modern_norm(c, x, "final_norm"), words
end

-- What its heads begin with.
local function modern_head(c, x)
  return nn.scope("head", function()
    return modern_norm(c, activations[c.head_activation](modern_linear(c, x, "dense", c.width, c.head_bias)), "norm")
  end)
end

-- ------------------------------------------------------------------ heads

-- tokens [B, T], of which lengths [B] are real (padding is seen by none)  ->  [B, T, width], and the embedding
local function encoded(c, tokens, lengths, types)
  if kinds[c.kind].modern then return modern(c, tokens, lengths) end
  local x, words = nn.scope("embeddings", embedded, c, tokens, types)
  x = nn.scope("encoder", function()
    return nn.stack(c.layers, x, function(x) return block(c, x, lengths) end, { name = "layer" })
  end)
  return x, words
end

local function pooled(c, x) return nn.scope("pooler", function() return nn.tanh(linear(c, x:select(1, 0), "dense", c.width)) end) end

-- The mean over real tokens of x [B, T, width]; data has none without, but bench has
local function mean(x, lengths)
  lengths = nn.max(lengths, 1)
  local real = nn.lt(nn.iota(x:size(1)), lengths:unsqueeze(1)):cast("f32"):unsqueeze(-1)
  return (x * real):sum(1) / lengths:cast("f32"):unsqueeze(-1)
end

local head = {}

local function has_types(c) return c.pair and c.types > 1 and not kinds[c.kind].modern end

function head.classes(c, input)
  local x, drop = encoded(c, input.tokens, input.lengths, has_types(c) and input.types or nil), c.head_dropout
  if c.kind == "bert" then x = linear(c, nn.dropout(pooled(c, x), drop), "classifier", c.classes)
  elseif c.kind == "modernbert" then
    x = modern_head(c, c.pooling == "mean" and mean(x, input.lengths) or x:select(1, 0))
    x = linear(c, nn.dropout(x, drop), "classifier", c.classes)
  else
    x = nn.scope("classifier", function()
      local h = nn.tanh(linear(c, nn.dropout(x:select(1, 0), drop), "dense", c.width))
      return linear(c, nn.dropout(h, drop), "out_proj", c.classes)
    end)
  end
  return nn.cross_entropy(x, input.label), { logits = x, accuracy = nn.accuracy(x, input.label) }
end

-- The first piece of each word has its label.
function head.tokens(c, input)
  local x = encoded(c, input.tokens, input.lengths)
  if c.kind == "modernbert" then x = modern_head(c, x) end
  local logits = linear(c, nn.dropout(x, c.head_dropout), "classifier", c.classes)
  return nn.cross_entropy(logits, input.labels, { ignore = -100 }), {
    logits = logits, accuracy = nn.accuracy(logits, input.labels, { ignore = -100 }),
  }
end

-- 15 of 100 tokens are to be guessed; of these, 80 of 100 are hidden, 10 are others, 10 are as they were.
local function hidden_words(c, tokens, lengths)
  local real = nn.land(nn.lt(nn.iota(tokens:size(1)), lengths:unsqueeze(1)), nn.land(nn.ne(tokens, c.cls), nn.ne(tokens, c.sep)))
  local chosen, how = nn.land(real, nn.bernoulli(tokens, c.mask_share)), nn.uniform(tokens, 0, 1)
  local other = nn.where(nn.lt(how, 0.9), nn.integers(tokens, c.vocab), tokens)
  return nn.where(chosen, nn.where(nn.lt(how, 0.8), c.mask, other), tokens), nn.where(chosen, tokens, -1)
end

function head.masked(c, input)
  local read, targets = hidden_words(c, input.tokens, input.lengths)
  local x, words = encoded(c, read, input.lengths)
  local function last(dense, layer_norm)
    return norm(c, activations[c.kind == "bert" and c.activation or "gelu"](linear(c, x, dense, c.width)), layer_norm)
  end
  local function bias() return nn.param { name = "bias", shape = { c.vocab }, init = 0 } end
  local h, b = nil, 0
  if c.kind == "modernbert" then
    h = modern_head(c, x)
    b = c.decoder_bias and nn.scope("decoder", bias) or nil
  elseif c.kind == "bert" then
    h, b = nn.scope("cls", nn.scope, "predictions", function() return nn.scope("transform", last, "dense", "LayerNorm"), bias() end)
  else h, b = nn.scope("lm_head", function() return last("dense", "layer_norm"), bias() end) end
  local loss, _, predicted = nn.linear_cross_entropy(h, targets, { weight = words.weight, bias = b, ignore = -1 })
  return loss, {
    logits = nn.linear(h, { weight = words.weight, bias = false, name = "scores" }) + (b or 0), read = read, targets = targets,
    accuracy = nn.accuracy(predicted, targets, { ignore = -1 }),
  }
end

-- Each text of a batch has to find its second among all second ones.
function head.embedding(c, input)
  local function both(a, b) return nn.concat({ a:unsqueeze(1), b:unsqueeze(1) }, 1) end            -- one after the other
  local B, T = input.tokens:size(0), input.tokens:size(1)
  local lengths = both(input.lengths, input.second_lengths):reshape { 2 * B }
  local x = encoded(c, both(input.tokens, input.second):reshape { 2 * B, T }, lengths)
  local pairs_of = nn.normalize(c.vector == "cls" and x:select(1, 0) or mean(x, lengths)):reshape { B, 2, -1 }
  local first, second = pairs_of:select(1, 0), pairs_of:select(1, 1)
  local near = nn.dot(first, second, { contract = { -1, -1 } }) / c.temperature
  local own = nn.iota(B)
  return nn.cross_entropy(near, own), { embedding = first, accuracy = nn.accuracy(near, own), pooled = c.pooler and not kinds[c.kind].modern and pooled(c, x):reshape { B, 2, -1 }:select(1, 0) or nil }
end

-- ------------------------------------------------------------------ Hugging Face

-- Tensors that weights with another head have, by our names.
local function other_tensors(c)
  local all, pooler = {}, c.kind == "bert" and c.head == "classes" or c.head == "embedding" and c.pooler
  local function add(names) for _, name in ipairs(names) do table.insert(all, name .. ".weight") table.insert(all, name .. ".bias") end end
  if not pooler then add { "pooler.dense" } end
  if c.head ~= "masked" then
    add { "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder", "lm_head.dense",
          "lm_head.layer_norm", "lm_head.decoder" }
    table.insert(all, "cls.predictions.bias")
    table.insert(all, "lm_head.bias")
  end
  local plain = c.head == "tokens" or c.head == "classes" and c.kind == "bert"
  if not plain then add { "classifier" } end
  if plain or c.head ~= "classes" then add { "classifier.dense", "classifier.out_proj" } end
  add { "cls.seq_relationship", "qa_outputs" }
  return all
end

-- What llama.cpp makes of a text's tokens, in a GGUF file
local function pooling(c) return c.head == "embedding" and c.vector or c.head == "classes" and "rank" or nil end

-- What may be drawn where weights without this head are read
local function head_tensors(c)
  if c.head == "masked" then return {} end
  if c.head == "embedding" then return c.pooler and { "pooler.dense.weight", "pooler.dense.bias" } or {} end
  if c.kind == "bert" or c.head == "tokens" then return { "classifier.weight", "classifier.bias" } end
  return { "classifier.dense.weight", "classifier.dense.bias", "classifier.out_proj.weight", "classifier.out_proj.bias" }
end

-- The names of architectures with the same layers.
local function bases_of(kind)
  local all = {}
  for _, task in ipairs { "Model", "ForPreTraining", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering" } do
    table.insert(all, kind.model .. task)
  end
  return all
end

local function modern_hugging_face(c)
  local kind, masked, classes, names = kinds[c.kind], c.head == "masked", c.head == "classes" or c.head == "tokens", {}
  local function layer_types(every)
    local all = {}
    for i = 1, c.layers do all[i] = (i - 1) % every == 0 and "full_attention" or "sliding_attention" end
    return all
  end
  local left, ours = {}, { "layers.0.attn_norm.weight", "layers.0.attn_norm.bias" }
  local fresh = classes and { "classifier.weight", "classifier.bias", "head.dense.weight", "head.norm.weight" } or {}
  if classes and c.head_bias then table.insert(fresh, "head.dense.bias") end
  if classes and c.norm_bias then table.insert(fresh, "head.norm.bias") end
  if not classes then left = { "classifier.weight", "classifier.bias" } end
  if not masked then table.insert(left, "decoder.weight") table.insert(left, "decoder.bias") end
  if c.head == "embedding" then for _, name in ipairs { "dense.weight", "dense.bias", "norm.weight", "norm.bias" } do table.insert(left, "head." .. name) end
  else names = { { "head.*", "head.*" }, { "classifier.*", "classifier.*" }, { "decoder.*", "decoder.*" }, { "*", "model.*" } } end
  return {
    config = {
      model_type = c.kind, architectures = { kind.model .. heads[c.head] },
      num_hidden_layers = c.layers, num_attention_heads = c.heads, hidden_size = c.width, intermediate_size = c.hidden,
      hidden_activation = c.activation, max_position_embeddings = c.context, norm_eps = c.eps, norm_bias = c.norm_bias,
      attention_bias = c.attention_bias, mlp_bias = c.mlp_bias, local_attention = c.window, layer_types = layer_types(c.full_every),
      global_rope_theta = c.rope_theta, local_rope_theta = c.rope_local,
      rope_parameters = { full_attention = { rope_type = "default", rope_theta = c.rope_theta },
                          sliding_attention = { rope_type = "default", rope_theta = c.rope_local } },
      classifier_bias = c.head ~= "embedding" and c.head_bias or nil, classifier_activation = c.head ~= "embedding" and c.head_activation or nil,
      classifier_pooling = c.head == "classes" and c.pooling or nil, decoder_bias = masked and c.decoder_bias or nil,
      tie_word_embeddings = masked or nil, problem_type = c.head == "classes" and "single_label_classification" or nil,
    },
    absent = {
      hidden_activation = "gelu", norm_eps = 1e-5, norm_bias = false, attention_bias = false, mlp_bias = false, local_attention = 128,
      layer_types = layer_types(3), global_rope_theta = 160000.0, local_rope_theta = 10000.0,
      rope_parameters = { full_attention = { rope_type = "default" } },                        -- then the keys of older files say it
      classifier_bias = false, classifier_activation = "gelu", classifier_pooling = "cls", decoder_bias = true,
      tie_word_embeddings = masked or nil, problem_type = c.head == "classes" and "single_label_classification" or nil,
    },
    elsewhere = {
      global_rope_theta = "rope_parameters.full_attention.rope_theta", local_rope_theta = "rope_parameters.sliding_attention.rope_theta",
    },
    also = { attention_dropout = c.attention_dropout, mlp_dropout = c.dropout, embedding_dropout = c.embedding_dropout },
    harmless = {
      layer_norm_eps = "norm_eps is read", deterministic_flash_attn = "a kernel", reference_compile = "likewise",
      repad_logits_with_grad = "memory", sparse_prediction = "likewise", sparse_pred_ignore_index = "likewise",
      initializer_cutoff_factor = "weights before training", cls_token_id = "of the tokenizer", classifier_pooling = "of the head for classes",
      decoder_bias = "of the head for masked words", tie_word_embeddings = "likewise", classifier_bias = "of heads", classifier_activation = "likewise",
    },
    ids = { config = "vocab_size", tensors = { "embeddings.tok_embeddings.weight", masked and c.decoder_bias and "decoder.bias" or nil } },
    copies = masked and { ["decoder.weight"] = "embeddings.tok_embeddings.weight" } or {},
    names = names, bases = bases_of(kind), left = left, ours = ours,
    fresh = fresh, pooling = pooling(c),
    aliases = { { "*", "model.*" } },
  }
end

local function hugging_face(c)
  if kinds[c.kind].modern then return modern_hugging_face(c) end
  local kind, masked = kinds[c.kind], c.head == "masked"
  local names, vocab = {}, masked and (c.kind == "bert" and "cls.predictions" or "lm_head")
  if c.head ~= "embedding" then names = { { "cls.*", "cls.*" }, { "lm_head.*", "lm_head.*" }, { "classifier.*", "classifier.*" }, { "*", c.kind .. ".*" } } end
  return {
    config = {
      model_type = c.kind, architectures = { kind.model .. heads[c.head] },
      num_hidden_layers = c.layers, num_attention_heads = c.heads, hidden_size = c.width, intermediate_size = c.hidden,
      hidden_act = c.activation, max_position_embeddings = c.context, type_vocab_size = c.types, layer_norm_eps = c.eps,
      is_decoder = false, tie_word_embeddings = masked or nil,
      problem_type = c.head == "classes" and "single_label_classification" or nil,
      pad_token_id = c.kind == "roberta" and 1 or nil,                          -- its positions begin behind it
    },
    absent = {
      hidden_act = "gelu", type_vocab_size = 2, layer_norm_eps = 1e-12, is_decoder = false, tie_word_embeddings = masked or nil,
      problem_type = c.head == "classes" and "single_label_classification" or nil,
      pad_token_id = c.kind == "roberta" and 1 or nil,                          -- its positions begin behind it
    },
    also = { hidden_dropout_prob = c.dropout, attention_probs_dropout_prob = c.attention_dropout },
    harmless = {
      directionality = "of the first program", pooler_fc_size = "likewise", pooler_num_attention_heads = "likewise",
      pooler_num_fc_layers = "likewise", pooler_size_per_head = "likewise", pooler_type = "likewise",
      tie_word_embeddings = "of the head for masked words",
    },
    ids = { config = "vocab_size", tensors = { "embeddings.word_embeddings.weight", masked and vocab .. ".bias" or nil } },
    copies = masked and { [vocab .. ".decoder.weight"] = "embeddings.word_embeddings.weight", [vocab .. ".decoder.bias"] = vocab .. ".bias" } or {},
    names = names, ignored = { "embeddings.position_ids" },
    bases = bases_of(kind), fresh = head_tensors(c), pooling = pooling(c), left = other_tensors(c),
    aliases = { { "*", c.kind .. ".*" }, { "*.LayerNorm.weight", "*.LayerNorm.gamma" }, { "*.LayerNorm.bias", "*.LayerNorm.beta" } },
  }
end

return {
  config = {
    kind = "bert",                      -- or roberta, modernbert
    head = "classes",                   -- or tokens, masked, embedding
    layers = 4, heads = 4, width = 128,
    hidden = 512,                       -- between the two layers of the mlp
    vocab = 256,
    context = 512,                      -- rows of the table of positions, of which roberta leaves out the first two
    types = 2,                          -- rows of the table of types: which of two texts a token is of
    activation = "gelu",                -- or relu, silu, gelu_new, gelu_fast, gelu_pytorch_tanh
    eps = 1e-12, dropout = 0.1, attention_dropout = 0.1, embedding_dropout = 0.0,       -- the last of modernbert
    head_dropout = 0.1,                 -- before the classes
    sd = 0.02,                          -- of every matrix before training

    window = 128, full_every = 3,       -- modernbert: positions around each that it sees; every so many-th layer sees all
    rope_theta = 160000.0, rope_local = 10000.0,                        -- rope_local: of layers with the window
    norm_bias = false, attention_bias = false, mlp_bias = false, head_bias = false, decoder_bias = true,
    head_activation = "gelu",
    pooling = "cls",                    -- what classes read: the first token, or the "mean"

    classes = 2,
    pair = false,                       -- classes: two texts in a row
    pooler = true,                      -- embedding: the weights have a layer on the first token, which the vector does not use
    vector = "mean",                    -- embedding: of all tokens, or "cls", that of the first
    temperature = 0.05,                 -- embedding: similarities are divided by it
    mask_share = 0.15, mask = 103, cls = 101, sep = 102,        -- masked: ids of the tokenizer

    seq = 128, batch = 16,
    tokenizer = "bytes", text = "text", second = "", label = "label",   -- columns; tokens: of lists
    lr = 5e-5, warmup = 50, steps = 1000, decay = 0.01, clip = 1.0, accumulate = 1, eval_every = 100,
  },

  configs = {
    -- MiniLM with 6 layers, 23 million parameters
    minilm = { layers = 6, heads = 12, width = 384, hidden = 1536, vocab = 30522, head = "embedding", second = "second" },

    -- BERT with 110 million
    base = { layers = 12, heads = 12, width = 768, hidden = 3072, vocab = 30522 },
  },

  check = function(c)
    assert(kinds[c.kind], "kind must be bert, roberta or modernbert")
    assert(activations[c.head_activation] and (c.pooling == "cls" or c.pooling == "mean"), "pooling must be cls or mean")
    assert(c.vector == "mean" or c.vector == "cls", "vector must be mean or cls")
    assert(heads[c.head], "head must be classes, tokens, masked or embedding")
    assert(activations[c.activation], "activation must be gelu, relu, silu, gelu_new, gelu_fast or gelu_pytorch_tanh")
    assert(c.width % c.heads == 0, ("width %d must be a multiple of heads %d"):format(c.width, c.heads))
    local places = c.context - kinds[c.kind].offset
    assert(c.seq <= places, ("seq %d is more than the %d positions of the table"):format(c.seq, places))
    assert(c.head == "embedding" == (c.second ~= "" and not c.pair), "second names a column where head is embedding, or pair is true")
    assert(c.head ~= "classes" or c.classes > 1, "classes must be 2 or more: a head that predicts one number is not read; for classes of your own, say how many, and --init-except classifier")
    assert(c.head ~= "masked" or c.mask < c.vocab, ("mask %d is no id below vocab %d: give the tokenizer's own"):format(c.mask, c.vocab))
    assert(not c.pair or c.head == "classes" and c.second ~= "", "pair is of classes, and needs second, the column of the second text")
  end,

  inputs = function(c)
    local all = { tokens = { "i32", "seq", below = "vocab" }, lengths = { "i32", below = c.seq + 1 } }
    if has_types(c) then all.types = { "i32", "seq" } end
    if c.head == "classes" then all.label = { "i32", below = "classes", target = true } end
    if c.head == "tokens" then all.labels = { "i32", "seq", below = "classes", target = true } end
    if c.head == "embedding" then all.second, all.second_lengths = { "i32", "seq", below = "vocab" }, { "i32", below = c.seq + 1 } end
    return all
  end,

  forward = function(c, input) return head[c.head](c, input) end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = c.decay }, schedule = optim.linear { warmup = c.warmup },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  hf = hugging_face,

  data = function(c)
    return data.sentences { tokenizer = c.tokenizer, text = c.text, second = c.second ~= "" and c.second or nil, target = c.label }
  end,
}
