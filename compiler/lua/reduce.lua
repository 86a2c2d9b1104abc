-- reduce.lua: reductions made of others; front/reduce.c has sum, mean, max, min, and reads the axes.
--
-- All are called x:NAME(…) or nn.NAME(x, …): over all axes, over given ones, x:var(0, 1), or with a table that may have other
-- keys, x:var { -1, keep = true }.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail

-- For `lathe stubs`.
local function known(name, doc) core.reductions[#core.reductions + 1] = { name = name, doc = doc } end
core.reductions = {}

-- words: other keys of the table.  body(x, axes, given) keeps the axes, with extent 1; axes: a table for the front's
-- reductions, given: the user's table.
local function reduction(name, doc, words, body)
  local doing = "x:" .. name
  local function f(x, ...)
    local axes, keep = core.axes(doing, x, words, ...)
    local first = ...
    local given = type(first) == "table" and first or {}
    local y = body(x, { keep = true, table.unpack(axes) }, given)
    if keep then return y end
    table.sort(axes)
    for i = #axes, 1, -1 do y = y:squeeze(axes[i]) end
    return y
  end
  nn[name] = f
  core.methods[name] = core.wrap(f, doing)
  known(name, doc)
end

local function number(name, word, value, default, fits, what)
  if value == nil then return default end
  if type(value) ~= "number" or not fits(value) then fail("x:%s: %s must be %s, found %s", name, word, what, core.text(value)) end
  return value
end

local function truth(x) return (x.dtype == "bool" and x or nn.ne(x, 0)):cast("i32") end

reduction("any", "bool: whether it holds, or is not 0, anywhere", {}, function(x, axes) return nn.ne(truth(x):max(axes), 0) end)
reduction("all", "bool: whether it holds, or is not 0, everywhere", {}, function(x, axes) return nn.ne(truth(x):min(axes), 0) end)

-- Multiplies halves until one element is left, so gradients are right beside zeros.
reduction("prod", "product", {}, function(x, axes)
  if x.dtype == "bool" then fail("x:prod needs numbers, found a bool tensor") end
  for _, axis in ipairs(axes) do
    while x:size(axis) > 1 do
      local n, half = x:size(axis), x:size(axis) // 2
      local product = x:slice(axis, 0, half) * x:slice(axis, half, 2 * half)
      x = n > 2 * half and nn.concat({ product, x:slice(axis, 2 * half) }, axis) or product
    end
  end
  return x
end)

local function variance(name, x, axes, given)
  local n, m = 1, x:mean(axes)
  for _, axis in ipairs(axes) do n = n * x:size(axis) end
  local less = number(name, "correction", given.correction, 1, function(v) return v >= 0 end, "a number, 0 or more")
  if n - less <= 0 then
    fail("x:%s is undefined for %d element%s with correction = %g; correction = 0 divides by their number", name, n, n == 1 and "" or "s", less)
  end
  local centred = x - m
  return (centred * centred):sum(axes) / (n - less + 0.0)
end
reduction("var", "sum of (x - mean)^2 / (n - correction); correction: 1 (the default, as PyTorch's) or 0", { "correction" }, function(x, axes, given) return variance("var", x, axes, given) end)
reduction("std", "square root of x:var", { "correction" }, function(x, axes, given) return nn.sqrt(variance("std", x, axes, given)) end)

-- Shifted by about the largest, so exp does not overflow.
reduction("logsumexp", "log of the sum of exp(x)", {}, function(x, axes)
  local m = nn.floor(x:max(axes))
  m = nn.where(nn.lt(nn.abs(m), math.huge), m, 0)
  return nn.log(nn.exp(x - m):sum(axes)) + m
end)

reduction("norm", "(sum of |x|^p)^(1/p); p: 2 (the default), any positive number, or math.huge: the largest |x|; its gradient at 0 is 0", { "p" }, function(x, axes, given)
  local p = number("norm", "p", given.p, 2, function(v) return v > 0 end, "a positive number, or math.huge")
  if p == math.huge then return nn.abs(x):max(axes) end
  if p == 1 then return nn.abs(x):sum(axes) end
  local function power(y, e)                    -- of y >= 0, with gradient 0 at 0
    local zero = nn.eq(y, 0)
    local safe = nn.where(zero, 1, y)
    return nn.where(zero, 0, e == 0.5 and nn.sqrt(safe) or safe ^ e)
  end
  if p == 2 then return power((x * x):sum(axes), 0.5) end
  return power(power(nn.abs(x), p):sum(axes), 1 / p)
end)

-- ------------------------------------------------------------------ where the largest, the smallest is

local largest_at = nn.argmax    -- (x, axis)

-- Along one axis; without one, among all elements in order.
local function index_of(name, sign, doc)
  local doing = "x:" .. name
  local function f(x, ...)
    local axes, keep, named = core.axes(doing, x, {}, ...)
    if x.dtype == "bool" then fail("%s needs numbers, found a bool tensor", doing) end
    if sign < 0 then x = -x end
    if not named then
      if keep then fail("%s: keep = true needs an axis", doing) end
      return largest_at(x:reshape { -1 }, 0)
    end
    if #axes > 1 then fail("%s works along one axis, found %d; x:reshape can merge them", doing, #axes) end
    local at = largest_at(x, axes[1])
    return keep and at:unsqueeze(axes[1]) or at
  end
  nn[name] = f
  core.methods[name] = core.wrap(f, doing)
  if doc then known(name, doc) end
end
index_of("argmax", 1)           -- its documentation is the binding's
index_of("argmin", -1, "i32: first index of the smallest along an axis, which goes away, or of all elements")
