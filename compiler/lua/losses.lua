-- losses.lua: losses by name, with PyTorch's values; nn.cross_entropy and the head are in nn.lua.
--
-- reduction of the elements' losses: "mean" (the default), "sum" or "none".
local core = ...
local nn = core.nn
local options = core.use("options")
local none = options.none
local fail = core.use("layer").fail

local reduction = { "string", "mean", "of the elements' losses: \"mean\", \"sum\" or \"none\"" }

local function reduced(name, losses, how)
  if how == "mean" then return losses:mean() end
  if how == "sum" then return losses:sum() end
  if how == "none" then return losses end
  fail("%s: reduction must be \"mean\", \"sum\" or \"none\", found '%s'", name, how)
end

-- Broadcasting here is a mistake: [B] with [B, 1] gives [B, B].
local function check_pair(name, a, b, of_a, of_b)
  local ok = nn.is_tensor(a) and nn.is_tensor(b) and a.dtype == "f32" and b.dtype == "f32" and a.rank == b.rank
  for axis = 0, ok and a.rank - 1 or -1 do ok = ok and a:size(axis) == b:size(axis) end
  if ok then return end
  fail("%s(%s, %s): both must be real tensors of one shape\n    %s  %s\n    %s  %s", name, of_a, of_b, of_a, core.text(a), of_b, core.text(b))
end

-- nn.NAME(prediction, target, options): loss(d, o) of the differences
local function of_differences(name, spec, loss)
  name = "nn." .. name
  spec.reduction = reduction
  local checked = options.declare(name, spec)
  return function(x, target, given)
    check_pair(name, x, target, "x", "target")
    local o = checked(given)
    return reduced(name, loss(x - target, o), o.reduction)
  end
end

local function positive(name, word, v)
  if not (v > 0) then fail("%s: %s must be above 0, found %s", name, word, core.text(v)) end
  return v + 0.0
end

local square = of_differences("mse", {}, function(d) return d * d end)
local size = of_differences("l1", {}, function(d) return nn.abs(d) end)
local huber = of_differences("huber", { delta = { "number", 1.0, "where the square ends" } }, function(d, o)
  local delta, far = positive("nn.huber", "delta", o.delta), nn.abs(d)
  return nn.where(nn.lt(far, delta), 0.5 * d * d, delta * (far - 0.5 * delta))
end)
local smooth = of_differences("smooth_l1", { beta = { "number", 1.0, "where the square ends" } }, function(d, o)
  local beta, far = positive("nn.smooth_l1", "beta", o.beta), nn.abs(d)
  return nn.where(nn.lt(far, beta), 0.5 * d * d / beta, far - 0.5 * beta)
end)

-- (x - target)²
function nn.mse(x, target, given) return square(x, target, given) end

-- |x - target|
function nn.l1(x, target, given) return size(x, target, given) end

-- d = x - target: ½ d² where |d| < delta, beyond delta · (|d| - ½ delta)
function nn.huber(x, target, given) return huber(x, target, given) end

-- huber divided by its delta, here beta
function nn.smooth_l1(x, target, given) return smooth(x, target, given) end

local bce_options = options.declare("nn.bce_with_logits", {
  reduction = reduction,
  pos_weight = { "value", none, "weight of targets of 1 relative to those of 0: a number, or a tensor that fits the logits" },
})

-- Binary cross entropy of sigmoid(logits); targets are real, 0 … 1.  Finite for any logit.
function nn.bce_with_logits(logits, target, given)
  local name = "nn.bce_with_logits"
  check_pair(name, logits, target, "logits", "target")
  local o = bce_options(given)
  local missed = nn.softplus(-logits)           -- -log(sigmoid(logits))
  if o.pos_weight then missed = (1 + (o.pos_weight - 1) * target) * missed end
  return reduced(name, (1 - target) * logits + missed, o.reduction)
end

local kl_options = options.declare("nn.kl_div", {
  reduction = { "string", "mean", "\"mean\" (over elements), \"batchmean\" (the sum, over the first axis' extent), \"sum\" or \"none\"" },
  log_target = { "boolean", false, "whether target holds logarithms too" },
})

-- target · (log target - x) for x the logarithms of a distribution (nn.log_softmax), target a distribution
function nn.kl_div(x, target, given)
  local name = "nn.kl_div"
  check_pair(name, x, target, "x", "target")
  local o, losses = kl_options(given), nil
  if o.log_target then
    losses = nn.exp(target) * (target - x)
  else                                          -- 0 · log 0 is 0
    local zero = nn.eq(target, 0)
    losses = target * (nn.where(zero, 0, nn.log(nn.where(zero, 1, target))) - x)
  end
  if o.reduction ~= "batchmean" then return reduced(name, losses, o.reduction) end
  if losses.rank == 0 then fail("%s: reduction = \"batchmean\" divides by the extent of the first axis, but a scalar has none", name) end
  return losses:sum() / (losses:size(0) + 0.0)
end

-- weight[id] for each id, 0 for ids that are no class
local function weights_of(name, weight, ids, classes)
  if weight.rank ~= 1 or weight.dtype ~= "f32" or weight:size(0) ~= classes then
    fail("%s: weight must be real [%d], a number for each class, found %s", name, classes, core.text(weight))
  end
  return nn.where(nn.eq(nn.iota(classes), ids:unsqueeze(-1)), weight, 0):sum(-1)
end

-- Losses of ids; "mean" is over the ids that count, with `weights` over the sum of theirs; the losses of others are 0.
local function reduced_over_ids(name, losses, weights, ids, ignore, how)
  local counts = ignore and nn.ne(ids, ignore)
  if how == "mean" and weights then
    local total = (counts and nn.where(counts, weights, 0) or weights):sum()
    return (counts and nn.where(counts, losses, 0) or losses):sum() / nn.where(nn.eq(total, 0), 1, total)
  end
  if not counts then return reduced(name, losses, how) end
  if how == "mean" then return nn.masked_mean(losses, counts) end
  return reduced(name, nn.where(counts, losses, 0), how)
end

local nll_options = options.declare("nn.nll", {
  reduction = reduction,
  ignore = { "integer", none, "an id that does not count; default: none, or -1 if the data has it" },
  weight = { "tensor", none, "[classes]: how much each class counts" },
})

-- -x[id] for x [..., classes] the logarithms of distributions; "mean" is over the ids that count; the losses of others are 0
function nn.nll(x, ids, given)
  local name = "nn.nll"
  local ok = nn.is_tensor(x) and nn.is_tensor(ids) and x.dtype == "f32" and ids.dtype == "i32" and x.rank == ids.rank + 1
  for axis = 0, ok and ids.rank - 1 or -1 do ok = ok and x:size(axis) == ids:size(axis) end
  if not ok then
    fail("%s(x, ids): x must be real [..., classes], ids i32 of the same shape without the last axis\n    x    %s\n    ids  %s", name, core.text(x), core.text(ids))
  end
  local o = nll_options(given)
  local ignore, weights = o.ignore or core.packed() and -1 or nil, nil
  ids = core.class_ids(ids, x:size(-1), ignore, name)
  local losses = -nn.where(nn.eq(nn.iota(x:size(-1)), ids:unsqueeze(-1)), x, 0):sum(-1)
  if o.weight then
    weights = weights_of(name, o.weight, ids, x:size(-1))
    losses = losses * weights
  end
  return reduced_over_ids(name, losses, weights, ids, ignore, o.reduction)
end

-- ------------------------------------------------------------------ classes that are rare, quantiles, distributions

local focal_options = options.declare("nn.focal", {
  reduction = reduction,
  alpha = { "number", 0.25, "weight of targets of 1; targets of 0 have 1 - alpha; below 0: all have 1" },
  gamma = { "number", 2.0, "how much what is predicted well counts less, 0 or more" },
})

-- bce_with_logits · (1 - p)^gamma · weight, p the probability of the target (Lin et al. 2017; torchvision's
-- sigmoid_focal_loss)
function nn.focal(logits, target, given)
  local name = "nn.focal"
  check_pair(name, logits, target, "logits", "target")
  local o = focal_options(given)
  if not (o.gamma >= 0) then fail("%s: gamma must be 0 or more, found %s", name, core.text(o.gamma)) end
  local losses = (1 - target) * logits + nn.softplus(-logits)
  if o.gamma > 0 then
    local missed = nn.sigmoid(logits) * (1 - target) + nn.sigmoid(-logits) * target      -- 1 - p
    local none_missed = nn.eq(missed, 0)        -- has no slope, which would be infinite for gamma < 1
    losses = losses * nn.where(none_missed, 0, nn.where(none_missed, 1, missed) ^ o.gamma)
  end
  if o.alpha >= 0 then losses = losses * (o.alpha * target + (1 - o.alpha) * (1 - target)) end
  return reduced(name, losses, o.reduction)
end

local pinball_options = options.declare("nn.pinball", {
  reduction = reduction,
  quantiles = { "numbers", 0.5, "between 0 and 1: a number, or a list with one for each element of x's last axis" },
})

-- x [..., n], and target [...] with an axis of extent 1 behind it
local function check_quantiles(name, x, target, n)
  local ok = nn.is_tensor(x) and nn.is_tensor(target) and x.dtype == "f32" and target.dtype == "f32"
  ok = ok and x.rank == target.rank + 1
  for axis = 0, ok and target.rank - 1 or -1 do ok = ok and x:size(axis) == target:size(axis) end
  if ok and x:size(-1) == n then return target:unsqueeze(-1) end
  fail("%s(x, target): with a list of %d quantiles x must be real [..., %d], target real of the same shape without the "
    .. "last axis\n    x       %s\n    target  %s", name, n, n, core.text(x), core.text(target))
end

-- Pinball loss, smallest where x is the quantile q of target: q · (target - x), above target (1 - q) · (x - target)
function nn.pinball(x, target, given)
  local name = "nn.pinball"
  local o = pinball_options(given)
  local q, list = o.quantiles, type(o.quantiles) == "table" and o.quantiles or { o.quantiles }
  for _, v in ipairs(list) do
    if not (type(v) == "number" and v > 0 and v < 1) then
      fail("%s: quantiles must be numbers between 0 and 1, found %s", name, core.text(v))
    end
  end
  if q == list then
    target, q = check_quantiles(name, x, target, #list), nn.constant(list)
  else
    check_pair(name, x, target, "x", "target")
  end
  local short = target - x
  return reduced(name, nn.max(q * short, (q - 1) * short), o.reduction)
end

-- var: a number, or real [...] like x, with 1 in place of the last axis, or without it
local function check_variance(name, x, var)
  if type(var) == "number" then
    if not (var >= 0) then fail("%s: var must be 0 or more, found %s", name, core.text(var)) end
    return nn.full({ 1 }, var)
  end
  local ok = nn.is_tensor(var) and var.dtype == "f32" and x.rank - var.rank <= 1 and x.rank >= var.rank
  for axis = 0, ok and x.rank - 2 or -1 do ok = ok and var:size(axis) == x:size(axis) end
  if ok and var.rank < x.rank then return var:unsqueeze(-1) end
  if ok and (x.rank == 0 or var:size(-1) == x:size(-1) or var:size(-1) == 1) then return var end
  fail("%s(x, target, var): var must be a number, or real and shaped like x; its last axis may be 1 or missing\n    x    %s\n    var  %s",
    name, core.text(x), core.text(var))
end

local gaussian_options = options.declare("nn.gaussian_nll", {
  reduction = reduction,
  full = { "boolean", false, "whether the constant ½ log 2π is added" },
  eps = { "number", 1e-6, "least variance that is counted with" },
})

-- ½ (log var + (x - target)² / var): target is normal with mean x and variance var
function nn.gaussian_nll(x, target, var, given)
  local name = "nn.gaussian_nll"
  check_pair(name, x, target, "x", "target")
  local o = gaussian_options(given)
  var = check_variance(name, x, var)
  var = var + nn.stop_gradient(nn.max(positive(name, "eps", o.eps), var) - var)      -- below eps it keeps its gradient
  local d = x - target
  local losses = 0.5 * (nn.log(var) + d * d / var)
  if o.full then losses = losses + 0.5 * math.log(2 * math.pi) end
  return reduced(name, losses, o.reduction)
end

local poisson_options = options.declare("nn.poisson_nll", {
  reduction = reduction,
  log_input = { "boolean", true, "whether x is the logarithm of the rate" },
  full = { "boolean", false, "whether Stirling's approximation of log target! is added, for targets above 1" },
  eps = { "number", 1e-8, "added to x before its logarithm is taken, if log_input = false" },
})

-- exp(x) - target · x, or with log_input = false x - target · log(x + eps): target is a count of mean exp(x), or x
function nn.poisson_nll(x, target, given)
  local name = "nn.poisson_nll"
  check_pair(name, x, target, "x", "target")
  local o = poisson_options(given)
  local losses = o.log_input and nn.exp(x) - target * x or x - target * nn.log(x + o.eps)
  if o.full then
    local counts = nn.lt(1, target)
    local many = nn.where(counts, target, 1)
    losses = losses + nn.where(counts, many * nn.log(many) - many + 0.5 * nn.log(2 * math.pi * many), 0)
  end
  return reduced(name, losses, o.reduction)
end

-- ------------------------------------------------------------------ targets of 1 and -1

local soft_margin_options = options.declare("nn.soft_margin", { reduction = reduction })

-- log(1 + exp(-target · x))
function nn.soft_margin(x, target, given)
  check_pair("nn.soft_margin", x, target, "x", "target")
  local o = soft_margin_options(given)
  return reduced("nn.soft_margin", nn.softplus(-target * x), o.reduction)
end

local hinge_options = options.declare("nn.hinge_embedding", {
  reduction = reduction,
  margin = { "number", 1.0, "distance from which on targets of -1 cost nothing" },
})

-- x for targets of 1, max(0, margin - x) for targets of -1
function nn.hinge_embedding(x, target, given)
  check_pair("nn.hinge_embedding", x, target, "x", "target")
  local o = hinge_options(given)
  local losses = nn.where(nn.eq(target, -1), 0, x) + nn.where(nn.eq(target, 1), 0, nn.relu(o.margin - x))
  return reduced("nn.hinge_embedding", losses, o.reduction)
end

local ranking_options = options.declare("nn.margin_ranking", {
  reduction = reduction,
  margin = { "number", 0.0, "by how much the right one must be larger" },
})

-- max(0, margin - target · (a - b)): a should be larger where target is 1, b where it is -1
function nn.margin_ranking(a, b, target, given)
  check_pair("nn.margin_ranking", a, b, "a", "b")
  check_pair("nn.margin_ranking", a, target, "a", "target")
  local o = ranking_options(given)
  return reduced("nn.margin_ranking", nn.relu(o.margin - target * (a - b)), o.reduction)
end

-- Each names its values after itself in the layer path.
local function named(...)
  for _, name in ipairs { ... } do
    local f = nn[name]
    nn[name] = core.wrap(function(...) return nn.scope(name, f, ...) end, "nn." .. name, core.parameters(f))
  end
end
named("mse", "l1", "huber", "smooth_l1", "bce_with_logits", "kl_div", "nll", "focal", "pinball", "gaussian_nll",
  "poisson_nll", "soft_margin", "hinge_embedding", "margin_ranking")

return { reduction = reduction, reduced = reduced, check_pair = check_pair, positive = positive, named = named,
  weights_of = weights_of, reduced_over_ids = reduced_over_ids }
