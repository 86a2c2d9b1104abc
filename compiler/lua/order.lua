-- order.lua: running extremes and sorting: values with the indices that they come from, to which their gradient goes.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail

-- x and the axis counted from 0; decode cannot walk along time.
local function checked(name, x, axis)
  if not nn.is_tensor(x) or x.dtype == "bool" or x.rank == 0 then
    fail("%s needs a tensor of numbers with an axis, found %s", name, core.text(x))
  end
  if math.type(axis) ~= "integer" then fail("%s: an axis must be an integer, found %s", name, core.text(axis)) end
  if axis < 0 then axis = axis + x.rank end
  return core.time_axis(x) == axis and core.mixing(x, name .. " works along the time axis") or x, axis
end

-- x at an index for each element along an axis, and the indices; ids has the shape of x.
local function picked(x, ids, axis)
  local last = x.rank - 1
  if axis == last then return x:gather(ids, last, last), ids end
  return x:transpose(axis, last):gather(ids:transpose(axis, last), last, last):transpose(axis, last), ids
end

-- The largest so far along an axis, and its i32 index, the last of equal ones; backwards: from the end.
function nn.cummax(x, axis, backwards)
  x, axis = checked("x:cummax", x, axis)
  return picked(x, x:cumargmax(axis, backwards), axis)
end

-- The smallest so far along an axis, and its i32 index, the last of equal ones; backwards: from the end.
function nn.cummin(x, axis, backwards)
  x, axis = checked("x:cummin", x, axis)
  return picked(x, (-x):cumargmax(axis, backwards), axis)
end

-- Sorted along an axis, the last by default, and the i32 indices; equal elements stay in their order, NaN counts as largest.
function nn.sort(x, axis, descending)
  x, axis = checked("x:sort", x, axis or -1)
  return picked(x, x:argsort(axis, descending), axis)
end

for _, name in ipairs { "cummax", "cummin", "sort" } do
  core.lua_methods[#core.lua_methods + 1] = name
  core.methods[name] = core.wrap(nn[name], "x:" .. name, core.parameters(nn[name]))
end
