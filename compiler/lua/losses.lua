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

local nll_options = options.declare("nn.nll", {
  reduction = reduction,
  ignore = { "integer", none, "an id that does not count; default: none, or -1 if the data has it" },
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
  local ignore = o.ignore or core.packed() and -1 or nil
  ids = core.class_ids(ids, x:size(-1), ignore, name)
  local losses = -nn.where(nn.eq(nn.iota(x:size(-1)), ids:unsqueeze(-1)), x, 0):sum(-1)
  if not ignore then return reduced(name, losses, o.reduction) end
  local counts = nn.ne(ids, ignore)
  if o.reduction == "mean" then return nn.masked_mean(losses, counts) end
  return reduced(name, nn.where(counts, losses, 0), o.reduction)
end

for _, name in ipairs { "mse", "l1", "huber", "smooth_l1", "bce_with_logits", "kl_div", "nll" } do
  local f = nn[name]
  nn[name] = function(a, b, given) return nn.scope(name, f, a, b, given) end
end
