-- window.lua: what convolutions and pools share: options that are one integer or a list with one for each axis, and the
-- places of a window as slices.  x is [batch, axes…, channels]; axis k of the window is axis k of x.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail
local M = {}

local needs = { "[batch, time, width]", "[batch, height, width, channels]", "[batch, depth, height, width, channels]" }

-- n: number of axes between batch and channels
function M.check_input(name, x, n)
  if x.rank ~= n + 2 then fail("%s needs %s, found %s", name, needs[n], core.shape_text(x)) end
  if x.dtype ~= "f32" then fail("%s needs a real x, found %s; x:cast(\"f32\") converts it", name, x.dtype) end
end

function M.check_range(name, key, value, least)
  if value < least then
    local rule = least > 0 and "be at least " .. least or "not be negative"
    fail("%s: %s must %s, found %s", name, key, rule, core.text(value))
  end
  if value > 2147483647 then fail("%s: %s must be at most 2147483647, found %s", name, key, core.text(value)) end
end

-- An option's value, a number or a list of n, as a list of n.
function M.per_axis(name, key, value, n, least)
  local list = {}
  if type(value) == "table" and #value ~= n then
    fail("%s: %s must be one number or a list of %d, one for each axis, found a list of %d", name, key, n, #value)
  end
  for axis = 1, n do
    list[axis] = type(value) == "table" and value[axis] or value
    M.check_range(name, key, list[axis], least)
  end
  return list
end

-- A table with a list for each of these options of o, given as { key, least value }.
function M.lists(name, o, n, keys)
  local lists = {}
  for _, key in ipairs(keys) do lists[key[1]] = M.per_axis(name, key[1], o[key[1]], n, key[2]) end
  return lists
end

function M.check_span(name, x, axis, span, length)
  if span > length and not core.decoding() then
    fail("%s: the kernel spans %d, but axis %d of the padded x is only %d long\n    x  %s", name, span, axis, length,
      core.shape_text(x))
  end
end

-- Zeros at both ends; without any, x itself, which then does not mix times.
function M.padded(x, axis, before, after)
  if before == 0 and after == 0 then return x end
  return x:pad(axis, before, after)
end

-- Whether an axis keeps its extent.  In decode time has extent 1, and what changes it was refused before.
function M.keeps(x, axis, extent) return x:size(axis) == extent or core.decoding() and core.time_axis(x) == axis end

-- The places of a window along an axis: `kernel` slices, each with what stands there in every window.  count: of
-- windows; default: as many as fit.
function M.along(x, axis, kernel, stride, dilation, count)
  local reach, places = (kernel - 1) * dilation, {}
  if x:size(axis) <= reach then x = x:pad(axis, 0, reach) end        -- in decode, where it is refused if needed
  count = count or (x:size(axis) - reach - 1) // stride + 1
  for k = 0, kernel - 1 do
    places[k + 1] = x:slice(axis, k * dilation, k * dilation + (count - 1) * stride + 1, stride)
  end
  return places
end

-- Numbers, one for each element of an axis, so that they broadcast with x.
function M.across(x, axis, numbers)
  local shape = { #numbers }
  for k = 2, x.rank - axis do shape[k] = 1 end
  return nn.constant(numbers):reshape(shape)
end

return M
