-- nn.lua: layers, written over the primitives of the op table.
--
-- A layer is used in one of two ways:
--
--   y = nn.linear(x, { out = 128 })          made and applied at once
--   local up = nn.linear { out = 128 }       made; up(x) applies it, and applying it again shares its parameters
--
-- Axes count from 0; negative ones count from the end.  [B, T, C] is batch, time, width.
local core = ...
local nn = core.nn              -- bindings of the op table: nn.exp, nn.where, nn.dot, … (front/map.c, front/move.c, front/index.c)
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")                  -- layer.lua: nn.param, nn.scope, nn.init
local layer, param, fail = made.layer, made.param, made.fail

-- ------------------------------------------------------------------ activations

-- 1 / (1 + exp(-x)); tanh keeps value and derivative finite for every x.
function nn.sigmoid(x) return 0.5 + 0.5 * nn.tanh(0.5 * x) end

-- max(x, 0); no gradient at 0
function nn.relu(x) return nn.max(0, x) end

-- x · sigmoid(x)
function nn.silu(x) return x * nn.sigmoid(x) end

-- kind: "erf" (exact, the default) or "tanh" (the approximation of GPT-2).
function nn.gelu(x, kind)
  if kind == "tanh" then
    return 0.5 * x * (1 + nn.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
  elseif kind == nil or kind == "erf" then
    return 0.5 * x * (1 + nn.erf(x * 0.7071067811865476))
  end
  fail("nn.gelu(x, kind): the kind must be \"erf\" or \"tanh\", found %s", core.text(kind))
end

local activations = { relu = nn.relu, silu = nn.silu, sigmoid = nn.sigmoid, tanh = nn.tanh, gelu = nn.gelu,
  gelu_tanh = function(x) return nn.gelu(x, "tanh") end }

local function activate(x, name)
  local f = activations[name]
  if not f then fail("there is no activation '%s'%s", name, core.advice(name, options.sorted(activations))) end
  return f(x)
end

core.activate = activate

-- cap · tanh(x / cap): near x for small x, never beyond ± cap.
function nn.soft_cap(x, cap)
  if type(cap) ~= "number" or not (cap > 0 and cap < math.huge) then
    fail("nn.soft_cap(x, cap): the cap must be a number above 0, found %s", core.text(cap))
  end
  return cap * nn.tanh(x * (1 / cap))
end

-- Any shift near the largest keeps exp in range; floor has no derivative, so none flows through the shift.
local function shift(x, axis) return nn.floor(x:max { axis, keep = true }) end

-- exp(x) / Σ exp(x) along an axis, the last by default.
function nn.softmax(x, axis)
  axis = axis or -1
  local e = nn.exp(x - shift(x, axis))
  return e / e:sum { axis, keep = true }
end

-- log Σ exp(x) along an axis, which stays with extent 1
local function log_sum_exp(x, axis)
  local m = shift(x, axis)
  return nn.log(nn.exp(x - m):sum { axis, keep = true }) + m
end

-- log(softmax(x))
function nn.log_softmax(x, axis) return x - log_sum_exp(x, axis or -1) end

-- -Σ p · log(p + eps) along an axis, the last by default, which is removed.
function nn.entropy(p, axis, eps) return -(p * nn.log(p + (eps or 1e-9))):sum(axis or -1) end

-- The mean of the elements of x where the bool `counts` is true, over all axes or those given; zero if none is.
function nn.masked_mean(x, counts, ...)
  if not (nn.is_tensor(x) and x.dtype == "f32" and nn.is_tensor(counts) and counts.dtype == "bool") then
    fail("nn.masked_mean(x, counts): x must be real, and counts a bool tensor that fits it\n    x       %s\n    counts  %s", core.text(x), core.text(counts))
  end
  local counted = nn.where(counts, x, 0)
  return counted:sum(...) / nn.max(nn.where(counts, nn.ones(counted.shape), 0):sum(...), 1.0)
end

-- The mean of x over all axes or those given, where an element counts as its weight says; zero if all weights are.
function nn.weighted_mean(x, weights, ...)
  if not (nn.is_tensor(x) and x.dtype == "f32" and nn.is_tensor(weights) and weights.dtype == "f32") then
    fail("nn.weighted_mean(x, weights): x and weights must be real tensors that fit each other\n    x        %s\n    weights  %s", core.text(x), core.text(weights))
  end
  local weighted = x * weights
  local total = (weights * nn.ones(weighted.shape)):sum(...)
  return weighted:sum(...) / nn.where(nn.eq(total, 0), 1, total)
end

-- In training drops each element with probability p and multiplies the others by 1 / (1 - p).
function nn.dropout(x, p)
  if type(p) ~= "number" or p < 0 or p >= 1 then
    fail("nn.dropout(x, p): p must be a probability below 1, found %s", core.text(p))
  end
  if p == 0 then return x end
  if not core.training() then
    core.skip_site()
    return x
  end
  local threshold = math.floor(p * 2 ^ 32)      -- of unsigned 32-bit integers, but the constant is signed
  if threshold >= 2 ^ 31 then threshold = threshold - 2 ^ 32 end
  local dropped = nn.ult(core.random_bits(x), threshold)
  return nn.where(dropped, 0, x * (1 / (1 - p)))
end

-- Whether the current entry trains.
function nn.training() return core.training() end

-- i32 bits shaped like x, different for each element, sample, step and call.  nn.u01 makes uniform numbers from them.
function nn.random_bits(x) return core.random_bits(x) end

-- ------------------------------------------------------------------ random numbers
--
-- Shaped like x, different for each element, sample, step and call, in evaluation too; without gradient.

-- Uniform in [low, high), [0, 1) by default: one of 2^24 equally spaced numbers.
function nn.uniform(x, low, high)
  low, high = low or 0, high or 1
  return nn.u01(nn.random_bits(x)) * (high - low) + low
end

-- Normal with mean 0 and standard deviation 1 (Box and Muller 1958).
function nn.normal(x)
  local radius = nn.sqrt(-2 * nn.log(nn.uniform(x) + 2 ^ -25))
  return radius * nn.cos(nn.uniform(x, 0, 2 * math.pi))
end

-- bool: true with probability p, a number or a tensor that fits x.
function nn.bernoulli(x, p) return nn.lt(nn.uniform(x), p) end

-- i32: 0 … n - 1; not quite uniform for n in the millions, since there are 2^24 uniform numbers.
function nn.integers(x, n)
  if math.type(n) ~= "integer" or n < 1 then fail("nn.integers(x, n): n must be a positive integer, found %s", core.text(n)) end
  return nn.min((nn.uniform(x) * n):cast("i32"), n - 1.0)
end

-- -log(-log(uniform)): logits + these, their argmax is a draw from softmax(logits) (Gumbel 1954).
function nn.gumbel(x) return -nn.log(-nn.log(nn.uniform(x) + 2 ^ -25)) end

-- ------------------------------------------------------------------ linear, embedding, norms

-- ‖W + scale · B · A‖ of each output, [out]: its square is ‖W‖² + 2 scale · B · (A · Wᵀ) + scale² · B · (A · Aᵀ) · Bᵀ, so
-- that the sum of W and B · A is in no memory.
local function adapted_norm(w, across, a, b, scale)
  local low, own = nn.dot(a, w, { contract = { 1, across } }), nn.dot(a, a, { contract = { 1, 1 } })      -- [rank, out], [rank, rank]
  local beside = 2 * scale * low:transpose(0, 1) + scale * scale * nn.dot(b, own, { contract = { 1, 0 } })
  return nn.sqrt(nn.max((w * w):sum(across) + (b * beside):sum(1), 1e-30))
end

-- x · Wᵀ = y with an adapter beside the layer's own weight W [out, in], where `lathe --lora` gives it one:
-- y + scale · (x · Aᵀ) · Bᵀ; decomposed (Liu et al. 2024, DoRA, equation 5): times magnitude / ‖W + scale · B · A‖, a norm that
-- is a constant of the gradient (section 4.3).
-- only_named: without match= the weight has none.
local function adapted(x, y, w, across, only_named)
  local o = core.lora("weight", only_named)
  if not o then return y end
  local bound = 1 / math.sqrt(x:size(-1))
  local a = param("lora_A", { o.rank, x:size(-1) }, nn.init.uniform(-bound, bound), nil, o.a)
  local b = param("lora_B", { w:size(1 - across), o.rank }, 0, nil, o.b)
  local magnitude = o.magnitude and param("lora_magnitude_vector", { w:size(1 - across) }, 1, false, o.magnitude)
  core.adapted("weight", across)
  local low = nn.dot(nn.dropout(x, o.dropout), a, { contract = { -1, 1 } })
  local sum = y + nn.dot(low * o.scale, b, { contract = { -1, 1 } })
  if not magnitude then return sum end
  return sum * (magnitude / nn.stop_gradient(adapted_norm(w, across, a, b, o.scale)))
end

core.adapted_dot = adapted

layer("linear", "y = x · weightᵀ + bias, over the last axis", {
  out = { "integer", none, "extent of the result's last axis" },
  bias = { "boolean", true, "whether a bias is added" },
  weight = { "tensor", none, "a weight [out, in] that exists already, such as an embedding's" },
  layout = { "string", "out_in", "\"out_in\": weight [out, in] as in PyTorch; \"in_out\": [in, out] as in GPT-2" },
  init = { "init", none, "of the weight; default: uniform within 1 / sqrt(in)" },
  bias_init = { "init", 0, "of the bias" },
  decay = { "boolean", none, "whether weight decay applies to the weight; default: yes" },
}, function(self, o, x)
  if x.rank == 0 then fail("nn.linear works along the last axis, but a scalar has none") end
  if o.layout ~= "out_in" and o.layout ~= "in_out" then
    fail("nn.linear: layout must be \"out_in\" or \"in_out\", found '%s'", o.layout)
  end
  local width, across = x:size(-1), o.layout == "out_in" and 1 or 0      -- axis of the weight along x
  local w = o.weight
  if w then
    if w.rank ~= 2 or w:size(across) ~= width then
      fail("nn.linear: the weight does not fit x\n    x       %s\n    weight  %s\n  the last axis of x, %d, must be axis %d of the weight",
        core.shape_text(x), core.shape_text(w), width, across)
    end
    if o.out and o.out ~= w:size(1 - across) then fail("nn.linear: out is %d, but the given weight has %d", o.out, w:size(1 - across)) end
  else
    if not o.out then fail("nn.linear needs out: an integer, extent of the result's last axis") end
    local bound = 1 / math.sqrt(width)
    w = param("weight", across == 1 and { o.out, width } or { width, o.out }, o.init or nn.init.uniform(-bound, bound), o.decay)
    core.out_axis("weight", 1 - across)
  end
  rawset(self, "weight", w)
  local y = nn.dot(x, w, { contract = { -1, across } })
  if not o.weight then y = adapted(x, y, w, across) end
  if not o.bias then return y end
  local b = param("bias", { w:size(1 - across) }, o.bias_init)
  rawset(self, "bias", b)
  return y + b
end)

layer("embedding", "rows of a table, by ids", {
  rows = { "integer", required, "number of different ids" },
  width = { "integer", required, "extent of a row" },
  init = { "init", nn.init.normal(0.02), "of the table" },
  decay = { "boolean", none, "whether weight decay applies; default: yes" },
  padding = { "integer", none, "an id whose row is zero and stays so" },
}, function(self, o, ids)
  local zero = o.padding
  if ids.dtype ~= "i32" then fail("nn.embedding: ids must be i32, found %s", ids.dtype) end
  if zero and (zero < 0 or zero >= o.rows) then fail("nn.embedding: padding must be an id below rows = %d, found %d", o.rows, zero) end
  local rows = param("weight", { o.rows, o.width }, o.init, o.decay, nil, zero)
  local picked = rows:gather(ids, 0)
  if zero then    -- the row is zero; this blocks its gradient, also that of a layer that shares the weight
    picked = nn.where(nn.ne(ids, zero):unsqueeze(-1), picked, 0)
    rows = nn.where(nn.ne(nn.iota(o.rows), zero):unsqueeze(-1), rows, 0)
  end
  rawset(self, "weight", rows)
  return picked
end)

layer("layernorm", "(x - mean) / sqrt(variance + eps) · weight + bias, over the last axis", {
  bias = { "boolean", true, "whether a bias is added" },
  eps = { "number", 1e-5, "added to the variance" },
}, function(_, o, x)
  local mean = x:mean { -1, keep = true }
  local centred = x - mean
  local variance = (centred * centred):mean { -1, keep = true }
  local rstd = nn.rsqrt(variance + o.eps)
  local y = centred * rstd * param("weight", { x:size(-1) }, 1)
  if o.bias then y = y + param("bias", { x:size(-1) }, 0) end
  return y
end)

layer("rmsnorm", "x / sqrt(mean of squares + eps) · weight, over the last axis", {
  eps = { "number", 1e-6, "added to the mean" },
  offset = { "number", 0, "added to the weight, which begins as 1 - offset; 1: as Gemma's" },
}, function(_, o, x)
  local mean_square = (x * x):mean { -1, keep = true }
  local rrms = nn.rsqrt(mean_square + o.eps)
  local w = param("weight", { x:size(-1) }, 1 - o.offset)
  if o.offset ~= 0 then w = w + o.offset end
  return x * rrms * w
end)

-- ------------------------------------------------------------------ feed-forward blocks

layer("mlp", "linear, activation, linear", {
  hidden = { "integer", required, "width between the two" },
  out = { "integer", none, "default: as x" },
  activation = { "string", "gelu", "gelu, gelu_tanh, relu, silu, tanh, sigmoid, leaky_relu, elu, selu, relu6, hardswish, mish" },
  bias = { "boolean", true, "whether both have a bias" },
  layout = { "string", "out_in", "of both weights, see nn.linear" },
  names = { "list", { "up", "down" }, "of the two linear layers" },
  init = { "init", none, "of the first weight" },
  out_init = { "init", none, "of the second weight; default: as init" },
}, function(_, o, x)
  local h = nn.linear(x, { name = o.names[1], out = o.hidden, bias = o.bias, layout = o.layout, init = o.init })
  local active = activate(h, o.activation)
  return nn.linear(active,
    { name = o.names[2], out = o.out or x:size(-1), bias = o.bias, layout = o.layout, init = o.out_init or o.init })
end)

layer("swiglu", "down(silu(gate(x)) · up(x))", {
  hidden = { "integer", required, "width between" },
  out = { "integer", none, "default: as x" },
  activation = { "string", "silu", "of the gate, as nn.mlp's" },
  bias = { "boolean", false, "whether all have a bias" },
  fused = { "boolean", false, "one weight for gate and up, in this order" },
  names = { "list", none, "of the linear layers; default: { \"gate\", \"up\", \"down\" }, or { \"gate_up\", \"down\" } where fused" },
  init = { "init", none, "of gate and up" },
  out_init = { "init", none, "of down; default: as init" },
}, function(_, o, x)
  local names = o.names or o.fused and { "gate_up", "down" } or { "gate", "up", "down" }
  if #names ~= (o.fused and 2 or 3) then
    fail("nn.swiglu: names must be %s, found %d", o.fused and "two, of gate_up and down" or "three, of gate, up and down", #names)
  end
  local gate = nn.linear(x, { name = names[1], out = (o.fused and 2 or 1) * o.hidden, bias = o.bias, init = o.init })
  local up
  if o.fused then gate, up = gate:chunk(2, -1) else up = nn.linear(x, { name = names[2], out = o.hidden, bias = o.bias, init = o.init }) end
  local gated = activate(gate, o.activation) * up
  return nn.linear(gated,
    { name = names[#names], out = o.out or x:size(-1), bias = o.bias, init = o.out_init or o.init })
end)

-- ------------------------------------------------------------------ losses and metrics

-- Whether a has the shape of b and then `more` axes.
local function begins_like(a, b, more)
  local ok = nn.is_tensor(a) and nn.is_tensor(b) and a.rank == b.rank + more
  for axis = 0, ok and b.rank - 1 or -1 do ok = ok and a:size(axis) == b:size(axis) end
  return ok
end

-- An image that was not flattened before the last layer: x has axes between the samples and the classes.
local function unflattened(x, ids)
  if not (nn.is_tensor(x) and nn.is_tensor(ids)) or x.rank <= ids.rank + 1 then return "" end
  for axis = 0, ids.rank - 1 do
    if x:size(axis) ~= ids:size(axis) then return "" end
  end
  return ("\n    the axes between are one sample's: before the last layer, put them into one, x:reshape { %sx:size(%d), -1 }, or take means, x:mean(%d, …)"):format(
    ids.rank > 1 and "…, " or "", ids.rank - 1, ids.rank)
end

-- called: the name of x for the user; x has one axis more than ids, the last
local function check_ids(name, called, x, ids, last)
  if begins_like(x, ids, 1) and x.dtype == "f32" and ids.dtype == "i32" then return end
  fail("%s(%s, ids): %s must be real [..., %s], ids i32 of the same shape without the last axis\n    %-6s  %s\n    ids     %s%s",
    name, called, called, last, called, core.text(x), core.text(ids), unflattened(x, ids))
end

local function check_classes(name, called, classes, ids, x)
  local below = core.ids_below(ids)
  if below and classes < below then
    fail("%s(%s, targets): targets are ids below vocab = %d, the text's next tokens, but the %s only %d classes\n    %-6s  %s\n    make the last layer `out = c.vocab`; targets that are classes or tags, not tokens, come with data.csv",
      name, called, below, called == "x" and "weight has" or "logits have", classes, called == "x" and "weight" or "logits", core.text(x))
  end
end

local function check_logits(name, logits, ids)
  check_ids(name, "logits", logits, ids, "classes")
  check_classes(name, "logits", logits:size(-1), ids, logits)
end

-- -log of the probability of the right class: [...] for logits [..., classes] and ids that are classes.
local function surprise(logits, ids, smoothing)
  local classes = nn.iota(logits:size(-1))
  local right = nn.where(nn.eq(classes, ids:unsqueeze(-1)), logits, 0):sum(-1)
  if smoothing > 0 then right = (1 - smoothing) * right + smoothing * logits:mean(-1) end
  return log_sum_exp(logits, -1):squeeze(-1) - right
end

-- The mean of values, one per id, over the ids that count.
local function mean_of(values, ids, ignored)
  if not ignored then return values:mean() end
  return nn.masked_mean(values, nn.ne(ids, ignored))
end

-- The mean; or with --prefer, of the text's next tokens, what preference pairs make of the losses.
local function mean_loss(name, losses, ids, targets, ignored, o)
  local how = core.preference(targets)
  if how and core.use("z_loss").wanted(o) then fail("%s: --prefer compares probabilities of answers; leave z_loss out", name) end
  if how then return core.use("preference")(name, losses, ids, o.smoothing, how) end
  return mean_of(losses, ids, ignored)
end

-- Padding, and sources of pairs in a sequence, have targets of -1 (data.text { pack = true }, { loss_on = "target" }, data.pairs).
local function ignored(o) return o.ignore or core.packed() and -1 or nil end

local does_not_count = "an id that does not count; default: none, or -1 if the data has it"
local shared_evenly = "part of each target that all classes share evenly"
local keeps_small = "this times log² of the sum of exp(logits) is added, in training alone: 1e-4"
local cross_entropy_options = options.declare("nn.cross_entropy", {
  smoothing = { "number", 0, shared_evenly },
  z_loss = { "number", 0, keeps_small },
  ignore = { "integer", none, does_not_count },
  weight = { "tensor", none, "[classes]: how much each class counts" },
  other = { "tensor", none, "classes that ids are mixed with, shaped like ids: input.label_other of mixup" },
  share = { "tensor", none, "the part of ids in each mixture, the rest of which is `other`: input.label_share" },
  reduction = { "string", "mean", "over the ids that count; \"sum\" or \"none\"" },
})

local function check_smoothing(name, s)
  if not (s >= 0 and s < 1) then fail("%s: smoothing must be from 0 to below 1, found %s", name, core.text(s)) end
end

-- With weights w of classes: (1 - smoothing) · w[id] · -log p[id] + smoothing · mean of w · -log p; then w[id].
local function weighed_surprise(name, logits, ids, o)
  local weights = core.use("losses").weights_of(name, o.weight, ids, logits:size(-1))
  local missed = -o.weight * nn.log_softmax(logits)
  local right = nn.where(nn.eq(nn.iota(logits:size(-1)), ids:unsqueeze(-1)), missed, 0):sum(-1)
  if o.smoothing > 0 then right = (1 - o.smoothing) * right + o.smoothing * missed:mean(-1) end
  return right, weights
end

-- share · surprise of ids + (1 - share) · surprise of the others
local function mixed_surprise(name, logits, ids, o)
  if o.weight or not (o.other and o.share) then fail("%s: other needs share, share needs other, and neither goes with weight", name) end
  check_ids(name, "logits", logits, o.other, "classes")
  if not (begins_like(o.share, ids, 0) and o.share.dtype == "f32") then
    fail("%s: share must be real and shaped like ids\n    share  %s\n    ids    %s", name, core.text(o.share), core.text(ids))
  end
  local other = core.class_ids(o.other, logits:size(-1), ignored(o), name)
  return o.share * surprise(logits, ids, o.smoothing) + (1 - o.share) * surprise(logits, other, o.smoothing)
end

-- Losses of ids, with z_loss, weighted as they are.
local function with_z(losses, logits, o, weights)
  local z_loss = core.use("z_loss")
  if not z_loss.wanted(o) then return losses end
  local z = z_loss.of(log_sum_exp(logits, -1):squeeze(-1), o)
  return losses + (weights and weights * z or z)
end

-- Mean over all ids that count of -log softmax(logits)[id].
function nn.cross_entropy(logits, ids, given)
  check_logits("nn.cross_entropy", logits, ids)
  local o = cross_entropy_options(given)
  check_smoothing("nn.cross_entropy", o.smoothing)
  core.use("z_loss").check("nn.cross_entropy", o.z_loss)
  local ignore, targets = ignored(o), ids
  ids = core.class_ids(ids, logits:size(-1), ignore, "nn.cross_entropy")
  local mixed = o.other or o.share
  if not mixed and not o.weight and o.reduction == "mean" then
    core.teach(targets, logits)
    local lesson = core.lesson("nn.cross_entropy", targets, logits:size(-1))
    if lesson then
      local mixed_losses = core.use("distillation").mixed(lesson, surprise(logits, ids, o.smoothing), logits)
      return core.taught(mean_of(with_z(mixed_losses, logits, o), ids, ignore))
    end
    return mean_loss("nn.cross_entropy", with_z(surprise(logits, ids, o.smoothing), logits, o), ids, targets, ignore, o)
  end
  local losses, weights
  if mixed then losses = mixed_surprise("nn.cross_entropy", logits, ids, o)
  elseif o.weight then losses, weights = weighed_surprise("nn.cross_entropy", logits, ids, o)
  else losses = surprise(logits, ids, o.smoothing) end
  losses = with_z(losses, logits, o, weights)
  if mixed and o.reduction == "mean" then return mean_of(losses, ids, ignore) end
  return core.use("losses").reduced_over_ids("nn.cross_entropy", losses, weights, ids, ignore, o.reduction)
end

local head_options = options.declare("nn.linear_cross_entropy", {
  weight = { "tensor", required, "[classes, width], such as nn.linear's, or an embedding's" },
  bias = { "tensor", none, "[classes]" },
  layout = { "string", "out_in", "of the weight; \"in_out\": [width, classes]" },
  smoothing = { "number", 0, shared_evenly },
  z_loss = { "number", 0, keeps_small },
  ignore = { "integer", none, does_not_count .. "; it need not be a class" },
  row_weight = { "tensor", none, "weight of each id's loss in the sum, [...]; default: the mean over the ids that count" },
})

local function check_head(name, x, ids, o)
  check_ids(name, "x", x, ids, "width")
  local across = o.layout == "out_in" and 1 or o.layout == "in_out" and 0
  if not across then fail("%s: layout must be \"out_in\" or \"in_out\", found '%s'", name, o.layout) end
  local w, b, rows = o.weight, o.bias, o.row_weight
  if w.rank ~= 2 or w.dtype ~= "f32" or w:size(across) ~= x:size(-1) then
    fail("%s: the weight does not fit x\n    x       %s\n    weight  %s\n  the last axis of x, %d, must be axis %d of the weight",
      name, core.shape_text(x), core.shape_text(w), x:size(-1), across)
  end
  local classes = w:size(1 - across)
  if b and (b.rank ~= 1 or b.dtype ~= "f32" or b:size(0) ~= classes) then
    fail("%s: the bias must be real [%d], one number per class of the weight, found %s", name, classes, core.text(b))
  end
  if rows and not (begins_like(rows, ids, 0) and rows.dtype == "f32") then
    fail("%s: row_weight must be real and shaped like ids\n    row_weight  %s\n    ids         %s", name, core.text(rows), core.text(ids))
  end
  check_smoothing(name, o.smoothing)
  core.use("z_loss").check(name, o.z_loss)
  check_classes(name, "x", classes, ids, w)
  return across
end

local function head_logits(x, o, across)
  local logits = nn.dot(x, o.weight, { contract = { -1, across } })
  return o.bias and logits + o.bias or logits
end

-- Cross entropy of a linear layer, x · weightᵀ + bias for x [..., width], whose logits are never in memory as a whole.
-- Returns the mean (or with row_weight the weighted sum) over all ids, then each id's loss and predicted id, shaped like ids.
function nn.linear_cross_entropy(x, ids, given)
  local name = "nn.linear_cross_entropy"
  local o = head_options(given)
  local across = check_head(name, x, ids, o)
  local ignore, targets = ignored(o), ids
  ids = core.class_ids(ids, o.weight:size(1 - across), ignore, name)
  core.teach(targets, x, o.weight, across, o.bias)
  local lesson, losses, predicted = core.lesson(name, targets, o.weight:size(1 - across)), nil, nil
  if lesson and lesson.logits then              -- these are in memory, so the student's may be
    local logits = head_logits(x, o, across)
    losses, predicted = core.use("distillation").mixed(lesson, surprise(logits, ids, o.smoothing), logits), logits:argmax(-1)
  else
    losses, predicted = core.linear_cross_entropy(x, ids, o.weight, across, o.smoothing, o.bias, ignore, lesson)
  end
  local trained, z_loss = losses, core.use("z_loss")
  if z_loss.wanted(o) then
    if lesson then fail("%s: z_loss does not go with a teacher (--distill); leave it out", name) end
    trained = losses + z_loss.of_head(losses, x, ids, o, across, ignore)
  end
  local loss = o.row_weight and (trained * o.row_weight):sum() or mean_loss(name, trained, ids, targets, ignore, o)
  if lesson then return core.taught(loss), core.use("distillation").each, predicted end
  return loss, losses, predicted
end

local accuracy_options = options.declare("nn.accuracy", { ignore = { "integer", none, does_not_count } })

-- The fraction of ids that count whose logit is the largest; or, given predicted ids, that are predicted.
function nn.accuracy(logits, ids, given)
  local ignore, predicted = ignored(accuracy_options(given)), logits
  if not (nn.is_tensor(logits) and logits.dtype == "i32" and begins_like(logits, ids, 0) and ids.dtype == "i32") then
    check_logits("nn.accuracy", logits, ids)
    ids = core.class_ids(ids, logits:size(-1), ignore, "nn.accuracy")
    predicted = logits:argmax(-1)
  end
  return mean_of(nn.eq(predicted, ids):cast("f32"), ids, ignore)
end

-- These name their values after themselves in the layer path, and so in the generated source.
for _, name in ipairs { "cross_entropy", "linear_cross_entropy", "accuracy" } do
  local f = nn[name]
  nn[name] = function(a, b, given) return nn.scope(name, f, a, b, given) end
end

-- ------------------------------------------------------------------ methods

core.lua_methods = { "softmax", "log_softmax", "relu", "gelu", "silu", "sigmoid", "clamp" }
for _, name in ipairs(core.lua_methods) do
  core.methods[name] = core.wrap(function(x, ...)
    if not nn.is_tensor(x) then
      fail("x:%s needs a tensor here, found %s; call a method with a colon, x:%s(…)", name, core.text(x), name)
    end
    return nn[name](x, ...)
  end, "x:" .. name, core.parameters(nn[name]))
end

-- Along time, decode adds to the sum so far.
local cumsum = core.methods.cumsum
nn.cumsum = core.wrap(function(x, axis, backwards)
  local follows = not backwards and nn.is_tensor(x) and math.type(axis) == "integer" and core.time_axis(x) == (axis < 0 and axis + x.rank or axis)
  if not core.over_time(follows) then return cumsum(x, axis, backwards) end
  if core.decoding() then
    local name, before = core.state("sum", x.shape, x)
    local sum = core.with_time(before, axis) + x
    core.state_next(name, sum)
    return sum
  end
  core.time_aware(true)
  local y = cumsum(x, axis)
  core.time_aware(false)
  return y
end, "x:cumsum")
core.methods.cumsum = nn.cumsum

core.use("reduce")              -- x:var, x:prod, …
core.use("order")               -- nn.cummax, nn.cummin, nn.sort
core.use("activation")          -- nn.clamp, nn.elu, …, nn.one_hot
core.use("losses")              -- nn.mse, nn.huber, nn.bce_with_logits, …
core.use("similarity")          -- nn.normalize, nn.cosine_similarity, …, nn.triplet_margin, nn.info_nce
core.use("einsum")              -- nn.einsum
for _, name in ipairs { "leaky_relu", "elu", "selu", "relu6", "hardswish", "mish" } do activations[name] = nn[name] end
core.use("attention")           -- nn.positions, nn.position_embedding, nn.sinusoidal, nn.rotary, nn.attention, nn.additive_attention
core.use("score_bias")          -- nn.alibi, nn.relative_bias
core.use("loop")                -- nn.stack, nn.map, nn.scan, nn.checkpoint
core.use("recurrent")           -- nn.rnn, nn.gru, nn.lstm
core.use("ctc")                 -- nn.ctc
core.use("experts")             -- nn.experts, nn.balance_loss
core.use("convolution")         -- nn.conv1d … nn.conv3d, nn.conv_transpose1d …, nn.shift
core.use("pooling")             -- nn.max_pool1d …, nn.avg_pool1d …, nn.adaptive_max_pool1d …, nn.adaptive_avg_pool1d …
core.use("normalisation")       -- nn.batchnorm, nn.groupnorm, nn.instancenorm, nn.local_response_norm
core.use("upsample")            -- nn.upsample
core.use("embedding_bag")       -- nn.embedding_bag

return nn
