-- pooling.lua: the largest element or the mean of each window of one to three axes.  A window's axes are taken one
-- after another, the last first.  Over whole axes, x:max(1, 2) and x:mean(1, 2) do the same.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, fail = made.layer, made.fail
local window = core.use("window")

local input = { "[B, T, C]", "[B, H, W, C]", "[B, D, H, W, C]" }

-- a from the first of the list on, combined with each of the others
local function folded(list, f)
  local y = list[1]
  for k = 2, #list do y = f(y, list[k]) end
  return y
end

local function sum(a, b) return a + b end

-- ------------------------------------------------------------------ windows of one size

-- How many windows an axis has, and how far the last reaches beyond x.
local function count_windows(name, o, c, x, axis)
  local extent, padding, stride = x:size(axis), c.padding[axis], c.stride[axis]
  local span = (c.kernel[axis] - 1) * c.dilation[axis] + 1
  if padding > span // 2 then
    fail("%s: padding must be at most half of what the kernel spans, %d, found %d along axis %d", name, span, padding,
      axis)
  end
  local room = extent + 2 * padding - span
  local count = (o.ceil_mode and -(-room // stride) or room // stride) + 1
  if o.ceil_mode and (count - 1) * stride >= extent + padding then count = count - 1 end      -- it would begin behind x
  if count < 1 then window.check_span(name, x, axis, span, extent + 2 * padding) end
  return math.max(count, 1), math.max(0, (count - 1) * stride + span - padding - extent)
end

-- x with `before` and `after` elements around that no maximum takes
local function lowest_around(x, axis, before, after)
  if before == 0 and after == 0 then return x end
  local wide, shape, n = x:pad(axis, before, after), {}, x:size(axis)
  for k = 1, x.rank - axis do shape[k] = k == 1 and n + before + after or 1 end
  local at = nn.iota(n + before + after):reshape(shape)
  return nn.where(nn.land(nn.le(before, at), nn.lt(at, before + n)), wide, -math.huge)
end

local function largest(x, axis, c, count, after)
  local wide = lowest_around(x, axis, c.padding[axis], after)
  return folded(window.along(wide, axis, c.kernel[axis], c.stride[axis], c.dilation[axis], count), nn.max)
end

-- Elements that count in each window of an axis: those of x, and with padding those of the padding, but none beyond.
local function counted(c, axis, extent, count, with_padding)
  local numbers, same, padding = {}, true, c.padding[axis]
  for i = 1, count do
    local first = (i - 1) * c.stride[axis] - padding
    local beyond = math.min(first + c.kernel[axis], extent + (with_padding and padding or 0))
    numbers[i] = beyond - (with_padding and first or math.max(first, 0)) + 0.0
    same = same and numbers[i] == numbers[1]
  end
  return numbers, same
end

local function mean(x, axis, c, count, after, with_padding)
  local wide = window.padded(x, axis, c.padding[axis], after)
  local total = folded(window.along(wide, axis, c.kernel[axis], c.stride[axis], c.dilation[axis], count), sum)
  local numbers, same = counted(c, axis, x:size(axis), count, with_padding)
  return total / (same and numbers[1] or window.across(x, axis, numbers))
end

-- over: largest or mean
local function pool(kind, n, doc, more, over)
  local all = {
    kernel = { "integers", required, "elements of a window; as all of these one, or a list with one for each axis" },
    stride = { "integers", none, "from one window to the next; default: kernel" },
    padding = { "integers", 0, "elements around x" },
    ceil_mode = { "boolean", false, "whether a last window may reach beyond the padding" },
  }
  for key, row in pairs(more) do all[key] = row end
  kind = ("%s_pool%dd"):format(kind, n)
  layer(kind, doc .. input[n], all, function(_, o, x)
    local name = "nn." .. kind
    window.check_input(name, x, n)
    local c = window.lists(name, o, n, { { "kernel", 1 }, { "padding", 0 } })
    c.stride = window.per_axis(name, "stride", o.stride or o.kernel, n, 1)
    c.dilation = window.per_axis(name, "dilation", o.dilation or 1, n, 1)
    for axis = n, 1, -1 do
      local count, after = count_windows(name, o, c, x, axis)
      x = over(x, axis, c, count, after, o.count_include_pad)
    end
    return x
  end)
end

for n = 1, 3 do
  pool("max", n, "the largest element of each window of ", {
    dilation = { "integers", 1, "from one element of a window to the next" },
  }, largest)
  pool("avg", n, "the mean of each window of ", {
    count_include_pad = { "boolean", true, "whether padding counts, as zeros" },
  }, mean)
end

-- ------------------------------------------------------------------ windows of about one size

-- Bin i of n is from i · extent / n rounded down to (i + 1) · extent / n rounded up: where each begins, where it ends,
-- and the most elements of one.
local function bins(extent, n)
  local first, beyond, most = {}, {}, 0
  for i = 0, n - 1 do
    first[i + 1], beyond[i + 1] = i * extent // n, ((i + 1) * extent + n - 1) // n
    most = math.max(most, beyond[i + 1] - first[i + 1])
  end
  return first, beyond, most
end

-- For k = 0, 1, … the k-th element of each bin, and whether the bin has that many; else its last again.
local function of_bins(x, axis, n)
  local first, beyond, most = bins(x:size(axis), n)
  local places, shares = {}, {}
  for k = 0, most - 1 do
    local ids, share = {}, {}
    for i = 1, n do
      ids[i] = math.min(first[i] + k, beyond[i] - 1)
      share[i] = first[i] + k < beyond[i] and 1 / (beyond[i] - first[i]) or 0.0
    end
    places[k + 1], shares[k + 1] = x:gather(nn.constant(ids, "i32"), axis), window.across(x, axis, share)
  end
  return places, shares
end

-- The windows where they have one size, as slices.
local function even_bins(x, axis, n)
  local size = x:size(axis) // n
  return window.along(x, axis, size, size, 1)
end

local function largest_of_bins(x, axis, n, even)
  return folded(even and even_bins(x, axis, n) or of_bins(x, axis, n), nn.max)
end

local function mean_of_bins(x, axis, n, even)
  if even then return folded(even_bins(x, axis, n), sum) / (x:size(axis) // n + 0.0) end
  local places, shares = of_bins(x, axis, n)
  for k, share in ipairs(shares) do places[k] = places[k] * share end
  return folded(places, sum)
end

local function adaptive(kind, n, doc, over)
  kind = ("adaptive_%s_pool%dd"):format(kind, n)
  layer(kind, doc .. input[n] .. ", in so many windows that the result has the size asked for", {
    size = { "integers", required, "extents of the result: an integer, or a list with one for each axis" },
  }, function(_, o, x)
    local name = "nn." .. kind
    window.check_input(name, x, n)
    local size = window.per_axis(name, "size", o.size, n, 1)
    for axis = n, 1, -1 do
      if not window.keeps(x, axis, size[axis]) then x = over(x, axis, size[axis], x:size(axis) % size[axis] == 0) end
    end
    return x
  end)
end

for n = 1, 3 do
  adaptive("max", n, "the largest element of windows of ", largest_of_bins)
  adaptive("avg", n, "the mean of windows of ", mean_of_bins)
end
