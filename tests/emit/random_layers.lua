-- random_layers.lua: layers and losses drawn by a seed, one behind another, for test_random_layers.c.
--
-- What goes in are parameters, so their gradients are compared, too.  A layer that does not fit (a kernel larger than
-- what it reads, too many results) is left out.

local state, drawn                                       -- of the generator; what was drawn, told by outputs

-- 0 … n - 1.  (L'Ecuyer 1999, Tables of linear congruential generators.)
local function below(n)
  state = state * 1583458089 % 2147483647
  return state // 65536 % n
end

local function either(...) return (select(1 + below(select("#", ...)), ...)) end
local function between(low, high) return low + below(high - low + 1) end

local function list(n, low, high)
  local all = {}
  for i = 1, n do all[i] = between(low, high) end
  return all
end

-- ------------------------------------------------------------------ layers of [batch, sides…, channels]

local function sides(x) return x.rank - 2 end

local function reach(o, i) return (o.kernel[i] - 1) * (o.dilation and o.dilation[i] or 1) + 1 end

-- Does the kernel reach beyond what there is?
local function fits(x, o)
  for i = 1, sides(x) do
    if reach(o, i) > x:size(i) + 2 * (o.padding and o.padding[i] or 0) then return false end
  end
  return true
end

local function divisor(n, ...)
  local groups = either(1, 1, ...)
  return n % groups == 0 and groups or 1
end

local function convolution(x, name)
  local n, channels = sides(x), x:size(-1)
  local groups = divisor(channels, 2, channels)
  local o = { name = name, groups = groups, out = groups * between(1, 6), kernel = list(n, 1, 4), bias = below(2) == 1,
    stride = list(n, 1, either(1, 1, 2)), dilation = list(n, 1, either(1, 1, 2)), padding = list(n, 0, 2) }
  if below(3) == 0 then o.kernel, o.stride, o.out = list(n, 3, 3), list(n, 1, 1), groups * between(7, 19) end
  if fits(x, o) then return nn["conv" .. n .. "d"](x, o) end
end

local function transposed(x, name)
  local n, channels = sides(x), x:size(-1)
  local groups = divisor(channels, 2)
  local o = { name = name, groups = groups, out = groups * between(1, 5), kernel = list(n, 1, 4) }
  o.stride, o.dilation = list(n, 1, 3), list(n, 1, 2)
  return nn["conv_transpose" .. n .. "d"](x, o)
end

local function pool(x, name)
  local n, kind = sides(x), either("max", "avg")
  local o = { kernel = list(n, 2, 3), stride = list(n, 1, 3), padding = list(n, 0, 1), ceil_mode = below(2) == 1 }
  if kind == "avg" then o.count_include_pad = below(2) == 1 else o.dilation = list(n, 1, 2) end
  if fits(x, o) then return nn[kind .. "_pool" .. n .. "d"](x, o) end
end

local function fitted_pool(x)
  return nn["adaptive_" .. either("max", "avg") .. "_pool" .. sides(x) .. "d"](x, { size = list(sides(x), 1, 4) })
end

local function upsample(x)
  local smooth = { "linear", "bilinear", "trilinear" }
  local mode = either("nearest", smooth[sides(x)])
  local o = { mode = mode, size = list(sides(x), 2, 9) }
  if mode ~= "nearest" then o.align_corners = below(2) == 1 end
  return nn.upsample(x, o)
end

local function pixels(x)
  local n = 1
  for i = 1, sides(x) do n = n * x:size(i) end
  return n
end

local function groupnorm(x, name)
  if pixels(x) < 4 then return end
  return nn.groupnorm(x, { name = name, groups = divisor(x:size(-1), 2, 3), affine = below(2) == 1 })
end

local function instancenorm(x, name)
  if pixels(x) >= 4 then return nn.instancenorm(x, { name = name, affine = below(2) == 1, eps = 0.1 }) end
end

local function batchnorm(x, name)
  if x:size(0) * pixels(x) < 4 then return end
  return nn.batchnorm(x, { name = name, affine = below(2) == 1, eps = 0.1, momentum = either(0.1, 0.25, 1.0) })
end

-- The bags of the batch's samples, beside every pixel.
local function bag(x, name)
  local count, rows = between(1, 5), between(2, 6)
  local bags = { x:size(0), count }
  local ids = nn.mod(nn.iota(bags, 0) * between(1, 5) + nn.iota(bags, 1) * between(0, 3), rows)
  local mode = either("sum", "mean", "max")
  local shape = { x:size(0) }
  for _ = 1, sides(x) do shape[#shape + 1] = 1 end
  shape[#shape + 1] = x:size(-1)
  local padding = either(nil, 0, rows - 1)
  return x + nn.embedding_bag(ids, { name = name, rows = rows, width = x:size(-1), mode = mode, padding = padding }):reshape(shape)
end

local function response(x) return nn.local_response_norm(x, { size = between(1, 5), alpha = 0.1 }) end

local function activation(x)
  return nn[either("relu", "gelu", "silu", "tanh", "mish", "elu", "hardswish", "softsign", "leaky_relu")](x)
end

local function around(x, name)                           -- a path around a layer
  local n = sides(x)
  local o = { name = name, out = x:size(-1), kernel = list(n, 3, 3), padding = "same" }
  return x + nn["conv" .. n .. "d"](activation(x), o)
end

-- Of a single channel some layers leave exactly 0, where a relu behind them has no derivative to compare with.
local function of_several(layer)
  return function(x, name) if x:size(-1) > 1 then return layer(x, name) end end
end

local layers = {
  convolution = convolution, transposed = transposed, pool = pool, fitted_pool = fitted_pool, upsample = upsample,
  groupnorm = groupnorm, batchnorm = batchnorm, bag = bag, instancenorm = instancenorm, response = response, activation = activation,
  around = around,
  softmax = of_several(function(x) return nn.softmax(x) end),
  layernorm = of_several(function(x, name) return nn.layernorm(x, { name = name }) end),
  scaled = function(x) return nn.normalize(x, { eps = 0.1 }) end,
  linear = function(x, name) return nn.linear(x, { name = name, out = between(1, 7) }) end,
  sorted = function(x) return (x:sort(either(1, -1), below(2) == 1)) end,
  running_product = function(x) return nn.tanh(x):cumprod(either(1, -1), below(2) == 1) end,
  running_max = function(x) return (x:cummax(either(1, -1), below(2) == 1)) end,
  spread = of_several(function(x) return x / nn.sqrt(x:var { -1, keep = true, correction = 0 } + 0.1) end),
  largest = of_several(function(x) return x - x:logsumexp { -1, keep = true } end),
  mixed = function(x)
    local rows = x:mean { 1 }:reshape { x:size(0), -1 }
    return nn.einsum("b...c,bd->b...d", x, rows:slice(1, 0, x:size(-1)))
  end,
}

-- ------------------------------------------------------------------ losses of [rows, n]

local losses = {
  mse = nn.mse, l1 = nn.l1, huber = nn.huber, smooth_l1 = nn.smooth_l1, soft_margin = nn.soft_margin,
  bce = function(x, y) return nn.bce_with_logits(x, nn.sigmoid(y)) end,
  kl = function(x, y) return nn.kl_div(nn.log_softmax(x), nn.softmax(y)) end,
  focal = function(x, y) return nn.focal(x, nn.lt(0, y):cast("f32")) end,
  gaussian = function(x, y) return nn.gaussian_nll(x, y, nn.softplus(y) + 0.1) end,
  poisson = function(x, y) return nn.poisson_nll(x, nn.softplus(y)) end,
  pinball = function(x, y) return nn.pinball(x:unsqueeze(-1), y, { quantiles = { 0.3 } }) end,
  cosine = function(x, y) return nn.cosine_similarity(x + 0.1, y):mean() end,
  triplet = function(x, y) return nn.triplet_margin(x, y, x:slice(0, 0, x:size(0)) + nn.cos(y)) end,
  info = function(x, y) return nn.info_nce(x, y) end,
  classes = function(x, y) return nn.cross_entropy(x, y:argmax(-1)) end,
}

local function names_of(all)
  local names = {}
  for name in pairs(all) do names[#names + 1] = name end
  table.sort(names)                                      -- pairs() has no order
  return names
end

local function pick(all)
  local names = names_of(all)
  local name = all.convolution and below(5) == 0 and "convolution" or names[1 + below(#names)]
  drawn[#drawn + 1] = name
  return all[name]
end

local function elements(x)
  local n = 1
  for i = 0, x.rank - 1 do n = n * x:size(i) end
  return n
end

local function chain(c, name)
  local shape = list(1 + below(3), 3, 9)
  table.insert(shape, 1, between(1, 3))
  shape[#shape + 1] = between(1, 10)
  local x = nn.param { name = name .. "_x", shape = shape }
  for i = 1, c.layers do
    local y = pick(layers)(x, name .. i)
    if y and elements(y) < c.elements then x = y end
  end
  return 3 * nn.softsign(x):reshape { x:size(0) * x:size(1), -1 }        -- in reach of every loss
end

return {
  config = { seed = 1, layers = 6, chains = 3, elements = 4000, batch = 1, features = 1 },
  forward = function(c)
    state, drawn = 1 + c.seed * 7919 % 2147483645, {}
    for _ = 1, 9 do below(2) end
    local loss, outputs = nn.zeros {}, {}
    for i = 1, c.chains do
      local x = chain(c, "chain" .. i)
      local y = nn.param { name = "like" .. i, shape = { x:size(0), x:size(1) } }
      local part = pick(losses)(x, y)
      outputs["loss" .. i], outputs["last" .. i] = part, x
      loss = loss + part
    end
    for _, name in ipairs(drawn) do outputs["drew_" .. name] = nn.ones {} end
    outputs.kinds = nn.ones {} * (#names_of(layers) + #names_of(losses))
    return loss, outputs
  end,
  decode = false,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 1 },
  data = data.csv { target = "class" },
}
