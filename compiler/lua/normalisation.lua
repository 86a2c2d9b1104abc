-- normalisation.lua: nn.batchnorm, nn.groupnorm, nn.instancenorm, nn.local_response_norm; nn.layernorm and nn.rmsnorm are in nn.lua.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- The deviations from a mean add up to nothing, so no gradient comes to it from here; making one would take a sweep
-- over x.
local function variance_about(x, mean, axes)
  local centred = x - nn.stop_gradient(mean)
  return (centred * centred):mean(axes)
end

-- (x - mean) / sqrt(variance + eps) over some axes
local function normal(x, eps, axes)
  axes.keep = true
  local mean = x:mean(axes)
  local centred = x - mean
  local variance = variance_about(x, mean, axes)
  local rstd = nn.rsqrt(variance + eps)
  return centred * rstd
end

-- y · weight + bias, one of each per channel
local function affine(y)
  local width = y:size(-1)
  return y * param("weight", { width }, 1) + param("bias", { width }, 0)
end

-- The axes from 1 to `last`.
local function axes_to(last)
  local axes = {}
  for axis = 1, last do axes[axis] = axis end
  return axes
end

local eps = { "number", 1e-5, "added to the variance" }

layer("groupnorm", "as nn.layernorm, over a group of channels and all axes between batch and channels", {
  groups = { "integer", required, "into which the channels, the last axis, are divided" },
  eps = eps,
  affine = { "boolean", true, "whether there are a weight and a bias for each channel" },
}, function(_, o, x)
  local shape, rank = x.shape, x.rank
  if rank < 2 then fail("nn.groupnorm needs [batch, …, channels], found %s", core.shape_text(x)) end
  if o.groups < 1 or x:size(-1) % o.groups ~= 0 then
    fail("nn.groupnorm: the channels of x, %d, must be a multiple of groups, found %d", x:size(-1), o.groups)
  end
  shape[rank], shape[rank + 1] = o.groups, x:size(-1) // o.groups
  local axes = axes_to(rank - 2)
  axes[rank - 1] = rank
  local y = normal(x:reshape(shape), o.eps, axes):reshape(x.shape)
  return o.affine and affine(y) or y
end)

-- Mean and variance of each channel over the rows that are trained on, which become the next running ones.
local function seen(x, momentum, running)
  local axes, count = axes_to(x.rank - 2), x:size(0)
  for _, axis in ipairs(axes) do count = count * x:size(axis) end
  if count == 1 and not core.cut() then
    fail("nn.batchnorm needs several values per channel to train on, found %s", core.shape_text(x))
  end
  table.insert(axes, 1, 0)
  local mean = core.of_rows(x:mean(axes))
  local variance = core.of_rows(variance_about(x, mean, axes))
  local unbiased = core.of_rows(variance * (count / math.max(count - 1, 1)))
  local next_mean = (1 - momentum) * running.mean + momentum * mean
  local next_var = (1 - momentum) * running.variance + momentum * unbiased
  core.statistic_next(running.mean_name, next_mean)
  core.statistic_next(running.var_name, next_var)
  return mean, variance
end

layer("batchnorm", "(x - mean) / sqrt(variance + eps) · weight + bias of each channel, the last axis, over all other axes; " ..
  "not in training: of the running mean and variance", {
  eps = eps,
  momentum = { "number", 0.1, "share of a batch in the running mean and variance" },
  affine = { "boolean", true, "whether there are a weight and a bias for each channel" },
}, function(_, o, x)
  if x.rank < 2 then fail("nn.batchnorm needs [batch, …, channels], found %s", core.shape_text(x)) end
  if not (o.momentum >= 0 and o.momentum <= 1) then
    fail("nn.batchnorm: momentum must be from 0 to 1, found %s", core.text(o.momentum))
  end
  local width, running = { x:size(-1) }, {}
  running.mean_name, running.mean = core.statistic("running_mean", width, "zeros")
  running.var_name, running.variance = core.statistic("running_var", width, "ones")
  local mean, variance = running.mean, running.variance
  if core.training() then mean, variance = seen(x, o.momentum, running) end
  local scale, shift = nn.rsqrt(variance + o.eps), nil
  if o.affine then
    scale = scale * param("weight", width, 1)
    shift = param("bias", width, 0) - mean * scale
  end
  return x * scale + (shift or -mean * scale)              -- a sweep that reads x alone
end)

layer("instancenorm", "as nn.layernorm, of each channel over all axes between batch and channels", {
  eps = eps,
  affine = { "boolean", false, "whether each channel has a weight, by which the result is multiplied, and a bias, which is added" },
}, function(_, o, x)
  local places = 1
  for axis = 1, x.rank - 2 do places = places * x:size(axis) end
  if places == 1 and not core.decoding() then
    fail("nn.instancenorm needs [batch, axes…, channels] with several elements per channel, found %s",
      core.shape_text(x))
  end
  local y = normal(x, o.eps, axes_to(x.rank - 2))
  return o.affine and affine(y) or y
end)

layer("local_response_norm", "x / (k + alpha · mean of squares of the channels around)^beta", {
  size = { "integer", required, "channels of a mean; of an even number one more before the channel than after it" },
  alpha = { "number", 1e-4, "factor of the mean" },
  beta = { "number", 0.75, "exponent" },
  k = { "number", 1, "added to the mean" },
}, function(_, o, x)
  local width, size = x:size(-1), o.size
  if size < 1 then fail("nn.local_response_norm: size must be at least 1, found %d", size) end
  local before, after, total = math.min(size // 2, width), math.min((size - 1) // 2, width), nil
  local squares = (x * x):pad(-1, before, after)
  for k = 0, before + after do
    local part = squares:slice(-1, k, k + width)
    total = total and total + part or part
  end
  return x / (total * (o.alpha / size) + o.k) ^ o.beta
end)
