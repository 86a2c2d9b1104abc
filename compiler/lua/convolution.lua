-- convolution.lua: nn.conv1d, nn.shift.  Each tap of a kernel is a slice of the padded input; the slices side by side are
-- multiplied with the weight in one product.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

local function check(o, x)
  if x.rank ~= 3 then fail("nn.conv1d needs [batch, time, width], found %s", core.shape_text(x)) end
  for _, key in ipairs { "kernel", "stride", "dilation", "groups", "out" } do
    if o[key] < 1 then fail("nn.conv1d: %s must be at least 1, found %d", key, o[key]) end
  end
  for _, key in ipairs { "kernel", "stride", "padding", "dilation", "groups", "out" } do
    if o[key] > 2147483647 then fail("nn.conv1d: %s must be at most 2147483647, found %d", key, o[key]) end
  end
  if o.padding < 0 then fail("nn.conv1d: padding must not be negative, found %d", o.padding) end
  local width = x:size(-1)
  if width % o.groups ~= 0 or o.out % o.groups ~= 0 then
    fail("nn.conv1d: the width of x, %d, and out, %d, must be multiples of groups, %d", width, o.out, o.groups)
  end
  if o.causal and (o.padding > 0 or o.stride > 1) then
    fail("nn.conv1d: causal = true gives one result per input; leave padding and stride out")
  end
  local reach, T = (o.kernel - 1) * o.dilation, x:size(1) + 2 * o.padding
  if not o.causal and reach >= T and not core.decoding() then
    fail("nn.conv1d: the kernel spans %d, but the padded x is only %d long\n    x  %s", reach + 1, T, core.shape_text(x))
  end
  return reach
end

-- x preceded by zeros, or in decode by earlier inputs, kept between calls.
local function reaching_back(x, reach, over_time)
  if not (over_time and core.decoding()) then return x:pad(1, reach) end
  local shape = x.shape
  shape[2] = reach
  local name, before = core.state("inputs", shape, x)
  local all = nn.concat({ before, x }, 1)
  core.state_next(name, all:slice(1, -reach))
  return all
end

-- x [batch, time, …] delayed by `steps`: y[t] = x[t - steps], zeros before the first.
function nn.shift(x, steps)
  if not nn.is_tensor(x) or x.rank < 2 then fail("nn.shift needs x [batch, time, …], found %s", core.text(x)) end
  steps = steps or 1
  if math.type(steps) ~= "integer" or steps < 1 then fail("nn.shift(x, steps): steps must be a positive integer, found %s", core.text(steps)) end
  local timed, T = core.time_axis(x), x:size(1)
  local over_time, mixes = core.over_time(timed == 1), core.holds_time(x, 1)
  core.time_aware(true)
  local y = reaching_back(x, steps, over_time):slice(1, 0, T)
  core.time_aware(false)
  if mixes and not over_time then y = core.mixing(y, "nn.shift moves an axis that merges time with another") end
  return core.with_time(y, timed)
end

-- Each channel alone: one element-wise expression over the taps, [B, T, C] each.
local function depthwise(taps, w, channels, out)
  local each, y = out // channels, nil
  w = w:reshape { channels, each, #taps }
  for k, tap in ipairs(taps) do
    local part = tap:unsqueeze(-1) * w:select(2, k - 1)
    y = y and y + part or part
  end
  return y:reshape { y:size(0), y:size(1), out }
end

-- taps [B, T, C], weight [out, C / groups, kernel]  ->  [B, T, out]
local function product(taps, w, groups)
  local B, T, width, out, kernel = taps[1]:size(0), taps[1]:size(1), taps[1]:size(2), w:size(0), #taps
  local side = {}
  for k, tap in ipairs(taps) do side[k] = tap:reshape { B, T, groups, 1, width // groups } end
  local x = nn.concat(side, 3)                                                  -- [B, T, groups, kernel, C / groups]
  if groups == 1 then return nn.dot(x:squeeze(2), w, { contract = { { 2, 3 }, { 2, 1 } } }) end
  w = w:reshape { groups, out // groups, width // groups, kernel }
  local y = nn.dot(x, w, { batch = { 2, 0 }, contract = { { 3, 4 }, { 3, 2 } } })       -- [groups, B, T, out / groups]
  return y:permute { 1, 2, 0, 3 }:reshape { B, T, out }
end

layer("conv1d", "a convolution along time, [B, T, C] -> [B, T', out]; weight [out, C / groups, kernel] as in PyTorch", {
  out = { "integer", required, "channels of the result" },
  kernel = { "integer", required, "taps" },
  stride = { "integer", 1, "from one result to the next" },
  padding = { "integer", 0, "zeros at both ends" },
  dilation = { "integer", 1, "from one tap to the next" },
  groups = { "integer", 1, "groups of channels that are independent; with one channel per group, depthwise" },
  causal = { "boolean", false, "whether a result sees only its own input and earlier ones, zeros before the first; T' = T" },
  bias = { "boolean", true, "whether a bias is added" },
  init = { "init", none, "of the weight; default: uniform within 1 / sqrt(C / groups * kernel)" },
}, function(_, o, x)
  local reach, width, timed = check(o, x), x:size(-1), core.time_axis(x)
  local over_time = core.over_time(timed == 1)
  local bound = 1 / math.sqrt(width // o.groups * o.kernel)
  local w = param("weight", { o.out, width // o.groups, o.kernel }, o.init or nn.init.uniform(-bound, bound))
  local b = o.bias and param("bias", { o.out }, nn.init.uniform(-bound, bound))
  core.time_aware(true)
  local padded = o.causal and reach > 0 and reaching_back(x, reach, over_time) or x:pad(1, o.padding, o.padding)
  if padded:size(1) <= reach then padded = padded:pad(1, 0, reach) end          -- in decode, where it is refused if needed
  local count, taps = (padded:size(1) - reach - 1) // o.stride + 1, {}
  for k = 0, o.kernel - 1 do
    taps[k + 1] = padded:slice(1, k * o.dilation, k * o.dilation + (count - 1) * o.stride + 1, o.stride)
  end
  local y = o.groups == width and depthwise(taps, w, width, o.out) or product(taps, w, o.groups)
  core.time_aware(false)
  if over_time and not o.causal and o.kernel * o.stride > 1 then
    y = core.mixing(y, "nn.conv1d without causal = true looks at later tokens")
  end
  y = core.with_time(y, count == x:size(1) and timed or nil)
  return b and y + b or y
end)
