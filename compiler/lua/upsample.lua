-- upsample.lua: nn.upsample: axis after axis, each result is an element of x, or a mean of two neighbours whose weights
-- are constants.  Where elements lie follows PyTorch's F.interpolate.
local core = ...
local nn = core.nn
local options = core.use("options")
local none = options.none
local made = core.use("layer")
local layer, fail = made.layer, made.fail
local window = core.use("window")

local modes = { nearest = true, linear = 1, bilinear = 2, trilinear = 3 }      -- true: any number of axes

-- Each element of an axis `times` times.
local function repeated(x, axis, times)
  local shape, wide = x.shape, x:unsqueeze(axis + 1)
  local repeats = wide.shape
  repeats[axis + 2], shape[axis + 1] = times, shape[axis + 1] * times
  return wide:expand(repeats):reshape(shape)
end

-- n results; scale: a factor said instead of their number, which need not be n / extent
local function nearest(x, axis, n, scale)
  local extent, ids = x:size(axis), {}
  if n % extent == 0 and n == extent * (scale or n / extent) then return repeated(x, axis, n // extent) end
  for i = 0, n - 1 do ids[i + 1] = scale and math.min(math.floor(i / scale), extent - 1) or i * extent // n end
  return x:gather(nn.constant(ids, "i32"), axis)
end

local function linear(x, axis, n, scale, align_corners)
  local extent, low, high, share, rest = x:size(axis), {}, {}, {}, {}
  local step = scale and 1 / scale or extent / n
  if align_corners then step = n > 1 and (extent - 1) / (n - 1) or 0.0 end
  for i = 1, n do
    local at = align_corners and step * (i - 1) or math.max(step * (i - 1 + 0.5) - 0.5, 0.0)
    low[i] = math.min(math.floor(at), extent - 1)
    high[i] = math.min(low[i] + 1, extent - 1)
    share[i] = math.min(math.max(at - low[i], 0.0), 1.0)
    rest[i] = 1 - share[i]
  end
  local before, after = x:gather(nn.constant(low, "i32"), axis), x:gather(nn.constant(high, "i32"), axis)
  return before * window.across(x, axis, rest) + after * window.across(x, axis, share)
end

local function resized(x, axis, n, scale, o)
  local timed = core.time_axis(x) == axis
  if x:size(axis) == n and (scale or 1) == 1 then return x end
  if timed and core.decoding() then return x end                     -- what changes time was refused before
  local y = o.mode == "nearest" and nearest(x, axis, n, scale) or linear(x, axis, n, scale, o.align_corners)
  return timed and core.mixing(y, "nn.upsample works along the time axis") or y
end

-- For each axis the extent of the result, and a list of scales if they are given.
local function extents(o, x, n)
  local name = "nn.upsample"
  if (o.size == nil) == (o.scale == nil) then
    fail("%s needs size = { … }, the extents of the result, or scale, a factor", name)
  end
  if o.size then return window.per_axis(name, "size", o.size, n, 1), {} end
  local scales, sizes = window.per_axis(name, "scale", o.scale, n, 0), {}
  for axis, scale in ipairs(scales) do
    sizes[axis] = math.floor(x:size(axis) * scale)
    if sizes[axis] < 1 and not core.decoding() then
      fail("%s: scale = %s leaves nothing of axis %d\n    x  %s", name, core.text(scale), axis, core.shape_text(x))
    end
  end
  return sizes, scales
end

local function check(o, x)
  local n, mode = x.rank - 2, modes[o.mode]
  if n < 1 or n > 3 then
    fail("nn.upsample needs [batch, axes…, channels] with one to three axes, found %s", core.shape_text(x))
  end
  if not mode then fail("nn.upsample: there is no mode '%s'%s", o.mode, core.advice(o.mode, options.sorted(modes))) end
  if mode ~= true and mode ~= n then
    fail("nn.upsample: mode = \"%s\" is for %d ax%s between batch and channels, but x has %d\n    x  %s", o.mode, mode,
      mode == 1 and "is" or "es", n, core.shape_text(x))
  end
  if o.align_corners and mode == true then
    fail("nn.upsample: align_corners needs mode = \"linear\", \"bilinear\" or \"trilinear\"")
  end
  return n
end

layer("upsample", "x with more or fewer elements along the axes between batch and channels, as F.interpolate", {
  size = { "integers", none, "extents of the result: an integer, or a list with one for each axis" },
  scale = { "numbers", none, "instead of size: factors" },
  mode = { "string", "nearest", "nearest, or means of neighbours: linear, bilinear, trilinear for 1, 2, 3 axes" },
  align_corners = { "boolean", false, "whether first and last elements of x and result coincide; else outer edges" },
}, function(_, o, x)
  local n = check(o, x)
  local sizes, scales = extents(o, x, n)
  for axis = 1, n do x = resized(x, axis, math.max(sizes[axis], 1), scales[axis], o) end
  return x
end)
