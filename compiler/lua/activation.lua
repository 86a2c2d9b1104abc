-- activation.lua: element-wise functions besides those of graph/ops.def and nn.lua.  Values and gradients are PyTorch's, also
-- at corners.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail

local function check(name, x)
  if not (nn.is_tensor(x) and x.dtype == "f32") then fail("%s needs a real tensor, found %s", name, core.text(x)) end
end

local function number(name, what, value, default)
  if value == nil then return default end
  if type(value) ~= "number" then fail("%s: %s must be a number, found %s", name, what, core.text(value)) end
  return value + 0.0
end

-- x limited to low … high; nil: no bound on that side.  Bounds are numbers or tensors; at a bound the gradient of x is 0.
function nn.clamp(x, low, high)
  if not nn.is_tensor(x) or x.dtype == "bool" then fail("nn.clamp(x, low, high): x must be a tensor of numbers, found %s", core.text(x)) end
  if low == nil and high == nil then fail("nn.clamp(x, low, high) needs a bound: a number or a tensor") end
  if type(low) == "number" and type(high) == "number" and low > high then
    fail("nn.clamp(x, low, high): low must not be above high, found %s and %s", core.text(low), core.text(high))
  end
  local function bound(v) return type(v) == "number" and v + 0.0 or v end      -- not an axis
  if low ~= nil then x = nn.max(bound(low), x) end      -- the first of two equal ones has the gradient
  if high ~= nil then x = nn.min(bound(high), x) end
  return x
end

-- x, and slope · x below 0 (0.01 by default)
function nn.leaky_relu(x, slope)
  check("nn.leaky_relu(x, slope)", x)
  return nn.where(nn.lt(0, x), x, x * number("nn.leaky_relu(x, slope)", "slope", slope, 0.01))
end

-- x, and alpha · (exp(x) - 1) below 0; alpha: 1 by default
function nn.elu(x, alpha)
  check("nn.elu(x, alpha)", x)
  return nn.where(nn.lt(0, x), x, number("nn.elu(x, alpha)", "alpha", alpha, 1.0) * nn.expm1(nn.min(x, 0)))
end

-- elu with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)
function nn.selu(x) return 1.0507009873554805 * nn.elu(x, 1.6732632423543772) end

-- x between low and high, -1 and 1 by default; no gradient at the bounds
function nn.hardtanh(x, low, high)
  check("nn.hardtanh(x, low, high)", x)
  low, high = number("nn.hardtanh(x, low, high)", "low", low, -1.0), number("nn.hardtanh(x, low, high)", "high", high, 1.0)
  return nn.clamp(x, low, high)
end

-- relu, up to 6
function nn.relu6(x) return nn.hardtanh(x, 0, 6) end

-- (x + 3) / 6 between 0 and 1
function nn.hardsigmoid(x) return nn.relu6(x + 3) / 6 end

-- x · hardsigmoid(x)
function nn.hardswish(x) return x * nn.hardsigmoid(x) end

-- x / (1 + |x|)
function nn.softsign(x) return x / (1 + nn.abs(x)) end

-- log(sigmoid(x))
function nn.log_sigmoid(x) return -nn.softplus(-x) end

-- x · tanh(softplus(x))
function nn.mish(x) return x * nn.tanh(nn.softplus(x)) end

-- a · sigmoid(b) of the halves a, b of an axis, the last by default
function nn.glu(x, axis)
  check("nn.glu(x, axis)", x)
  local a, b = x:chunk(2, axis or -1)
  return a * nn.sigmoid(b)
end

-- f32 [..., n]: 1 at each id, 0 elsewhere.  ignore: an id whose row is all 0.
local one_hot_options = core.use("options").declare("nn.one_hot", {
  ignore = { "integer", core.use("options").none, "an id whose row is all 0" },
})
function nn.one_hot(ids, n, given)
  if not (nn.is_tensor(ids) and ids.dtype == "i32") then fail("nn.one_hot(ids, n): ids must be i32, found %s", core.text(ids)) end
  if math.type(n) ~= "integer" or n < 1 then fail("nn.one_hot(ids, n): n must be a positive integer, found %s", core.text(n)) end
  local ignore = one_hot_options(given).ignore
  local places = core.class_ids(ids, n, ignore, "nn.one_hot"):unsqueeze(-1)
  local hot = nn.eq(nn.iota(n), places)
  if ignore and ignore >= 0 and ignore < n then hot = nn.land(hot, nn.ne(places, ignore)) end
  return hot:cast("f32")
end
