-- convolution.lua: convolutions over one to three axes, their transposes, nn.shift.  core.convolve is the operation
-- (compiler/ops/convolution.c); one tap is a plain product.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail
local window = core.use("window")

-- Zeros before and after each axis: "same" gives as many results as x has elements, the odd zero after, as in PyTorch.
local function read_padding(name, o, c, n)
  if o.padding ~= "same" then
    c.before = window.per_axis(name, "padding", o.padding, n, 0)
    c.after = c.before
    return
  end
  c.before, c.after = {}, {}
  for axis = 1, n do
    if c.stride[axis] > 1 then fail("%s: padding = \"same\" gives one result per element; leave stride out", name) end
    local reach = (c.kernel[axis] - 1) * c.dilation[axis]
    c.before[axis], c.after[axis] = reach // 2, reach - reach // 2
  end
end

local far = 536870911        -- ops/convolution.c: places that a kernel may span, and zeros before them

local function check_reach(name, c)
  for axis = 1, #c.kernel do
    local span = math.max(c.kernel[axis] * c.dilation[axis], c.before[axis] + c.after[axis], c.stride[axis])
    if span > far then fail("%s: a kernel, its padding and its stride may span up to %d places, found %d", name, far, span) end
  end
end

-- The options with a list for each that is per axis.
local function read(name, o, x, n)
  window.check_input(name, x, n)
  local c = window.lists(name, o, n, { { "kernel", 1 }, { "stride", 1 }, { "dilation", 1 } })
  for _, key in ipairs { "groups", "out" } do window.check_range(name, key, o[key], 1) end
  read_padding(name, o, c, n)
  check_reach(name, c)
  local width = x:size(-1)
  if width % o.groups ~= 0 or o.out % o.groups ~= 0 then
    fail("%s: the channels of x, %d, and out, %d, must be multiples of groups, %d", name, width, o.out, o.groups)
  end
  c.groups, c.out, c.places = o.groups, o.out, 1
  for axis = 1, n do c.places = c.places * c.kernel[axis] end
  return c
end

-- Weight and bias; inputs: of one result and tap, whose number bounds both at first.
local function parameters(o, c, shape, inputs)
  local bound = 1 / math.sqrt(inputs * c.places)
  table.move(c.kernel, 1, #c.kernel, 3, shape)
  local w = param("weight", shape, o.init or nn.init.uniform(-bound, bound))
  return w, o.bias and param("bias", { o.out }, nn.init.uniform(-bound, bound))
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
  if math.type(steps) ~= "integer" or steps < 1 then
    fail("nn.shift(x, steps): steps must be a positive integer, found %s", core.text(steps))
  end
  local timed, T = core.time_axis(x), x:size(1)
  local over_time, mixes = core.over_time(timed == 1), core.holds_time(x, 1)
  core.time_aware(true)
  local y = reaching_back(x, steps, over_time):slice(1, 0, T)
  core.time_aware(false)
  if mixes and not over_time then y = core.mixing(y, "nn.shift moves an axis that merges time with another") end
  return core.with_time(y, timed)
end

-- ------------------------------------------------------------------ convolutions

-- Each channel several times, one behind another: [B, …, C] -> [B, …, out].
local function repeated(x, out)
  local shape, each = x.shape, out // x:size(-1)
  if each == 1 then return x end
  shape[#shape + 1] = each
  x = x:unsqueeze(-1):expand(shape)
  shape[#shape] = nil
  shape[#shape] = out
  return x:reshape(shape)
end

-- Results along each axis.
local function extents(name, c, x)
  local all = {}
  for axis = 1, #c.kernel do
    local span, length = (c.kernel[axis] - 1) * c.dilation[axis] + 1, c.before[axis] + x:size(axis) + c.after[axis]
    window.check_span(name, x, axis, span, length)
    all[axis] = math.max((length - span) // c.stride[axis] + 1, 1)
  end
  return all
end

local function convolve(name, c, x, w)
  local extent, groups, plain = extents(name, c, x), c.groups, c.places == 1 and c.groups == 1
  if groups == x:size(-1) and groups > 1 then x, groups = repeated(x, c.out), c.out end        -- each channel alone
  for axis = 1, #c.kernel do plain = plain and c.stride[axis] == 1 and c.before[axis] + c.after[axis] == 0 end
  if plain then return nn.dot(x, w:reshape { c.out, x:size(-1) }, { contract = { { -1 }, { 1 } } }) end
  return core.convolve(x, w, { groups = groups, kernel = c.kernel, stride = c.stride, dilation = c.dilation,
    before = c.before, extent = extent })
end

-- A causal one reaches back; in decode, to inputs that are kept.
local function causal(name, c, x, w, follows)
  local reach = (c.kernel[1] - 1) * c.dilation[1]
  if follows and core.decoding() and reach > 0 then return convolve(name, c, reaching_back(x, reach, true), w) end
  c.before, c.after = { reach }, { 0 }
  return convolve(name, c, x, w)
end

-- Along time, where a causal one can be computed step by step.
local function over_time(name, o, c, x, w)
  local timed = core.time_axis(x)
  local follows = core.over_time(timed == 1)
  if o.causal and (c.before[1] > 0 or c.after[1] > 0 or c.stride[1] > 1) then
    fail("%s: causal = true gives one result per input; leave padding and stride out", name)
  end
  core.time_aware(true)
  local y = (o.causal and causal or convolve)(name, c, x, w, follows)
  core.time_aware(false)
  local moves = c.kernel[1] * c.stride[1] > 1 or c.before[1] + c.after[1] > 0
  if follows and not o.causal and moves then
    y = core.mixing(y, name .. " without causal = true looks at later tokens")
  end
  return core.with_time(y, y:size(1) == x:size(1) and timed or nil)
end

local function options_of(more)
  local all = {
    out = { "integer", required, "channels of the result" },
    kernel = { "integers", required, "taps; as all of these an integer, or a list with one for each axis" },
    stride = { "integers", 1, "from one result to the next" },
    padding = { "padding", 0, "zeros at both ends of an axis; \"same\": as many as give a result per element" },
    dilation = { "integers", 1, "from one tap to the next" },
    groups = { "integer", 1, "groups of channels that are independent; with one channel per group, depthwise" },
    bias = { "boolean", true, "whether a bias is added" },
    init = { "init", none, "of the weight; default: uniform within 1 / sqrt(C / groups * taps)" },
  }
  for key, row in pairs(more) do all[key] = row end
  return all
end

local function convolution(n, doc, more)
  local kind = ("conv%dd"):format(n)
  layer(kind, doc, options_of(more), function(_, o, x)
    local name = "nn." .. kind
    local c = read(name, o, x, n)
    local width = x:size(-1) // c.groups
    local w, b = parameters(o, c, { c.out, width }, width)
    local y = n == 1 and over_time(name, o, c, x, w) or convolve(name, c, x, w)
    return b and y + b or y
  end)
end

convolution(1, "a convolution along time, [B, T, C] -> [B, T', out]; weight [out, C / groups, kernel] as in PyTorch", {
  causal = { "boolean", false, "whether a result sees only its own and earlier inputs, then zeros; T' = T" },
})
convolution(2, "a convolution of images, [B, H, W, C] -> [B, H', W', out]; weight as in PyTorch", {})
convolution(3, "a convolution of volumes, [B, D, H, W, C] -> [B, D', H', W', out]; weight as in PyTorch", {})

-- ------------------------------------------------------------------ transposed

-- Results along an axis, before padding takes some away.
local function spread_length(name, o, c, x, axis, more)
  local length = (x:size(axis) - 1) * c.stride[axis] + (c.kernel[axis] - 1) * c.dilation[axis] + 1 + more
  if more >= math.max(c.stride[axis], c.dilation[axis]) then
    fail("%s: output_padding must be less than stride or dilation, found %d along axis %d", name, more, axis)
  elseif length <= 2 * c.before[axis] and not core.decoding() then
    fail("%s: padding = %d leaves nothing of the %d results along axis %d\n    x  %s", name, c.before[axis], length,
      axis, core.shape_text(x))
  end
  return math.max(length, 2 * c.before[axis] + 1)
end

local function transposed(n, doc)
  local kind = ("conv_transpose%dd"):format(n)
  local all = options_of {
    padding = { "integers", 0, "results dropped at both ends" },
    output_padding = { "integers", 0, "results more at the end" },
    init = { "init", none, "of the weight; default: uniform within 1 / sqrt(out / groups * taps)" },
  }
  layer(kind, doc, all, function(_, o, x)
    local name = "nn." .. kind
    local c = read(name, o, x, n)
    local more = window.per_axis(name, "output_padding", o.output_padding, n, 0)
    local w, b = parameters(o, c, { x:size(-1), c.out // c.groups }, c.out // c.groups)
    local extent = {}
    for axis = 1, n do
      extent[axis] = spread_length(name, o, c, x, axis, more[axis]) - c.before[axis] - c.after[axis]
    end
    local y = core.convolve(x, w, { transposed = true, groups = c.groups, kernel = c.kernel, stride = c.stride,
      dilation = c.dilation, before = c.before, extent = extent })
    return b and y + b or y
  end)
end

transposed(1, "nn.conv1d's transpose, [B, T, C] -> [B, T', out]; weight [C, out / groups, kernel] as in PyTorch")
transposed(2, "nn.conv2d's transpose, [B, H, W, C] -> [B, H', W', out]; weight as in PyTorch")
transposed(3, "nn.conv3d's transpose, [B, D, H, W, C] -> [B, D', H', W', out]; weight as in PyTorch")
