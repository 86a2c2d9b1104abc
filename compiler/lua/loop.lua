-- loop.lua: nn.stack, nn.map, nn.scan, nn.checkpoint.
local core = ...
local nn = core.nn
local options = core.use("options")
local none = options.none
local fail = core.use("layer").fail

-- Appends the tensors of a tensor or a nested table of tensors to list.
local function flatten(value, list, what, key)
  if nn.is_tensor(value) then
    list[#list + 1] = value
    if list.names then list.names[#list] = key or "state" end
  elseif type(value) == "table" and getmetatable(value) == nil then
    local keys = {}
    for key in pairs(value) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b)
      if type(a) == type(b) then return a < b end
      return type(a) == "number"
    end)
    for _, k in ipairs(keys) do flatten(value[k], list, what, type(k) == "string" and k or key) end
  else
    fail("%s must be a tensor or a table of tensors, found %s", what, core.text(value))
  end
  return list
end

-- The structure of `like` with the tensors of list, in the order of flatten.
local function rebuild(like, list, at)
  at = at or { 0 }
  if nn.is_tensor(like) then
    at[1] = at[1] + 1
    return list[at[1]]
  end
  local keys, out = {}, {}
  for key in pairs(like) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  for _, key in ipairs(keys) do out[key] = rebuild(like[key], list, at) end
  return out
end

local function mapped(list, f)
  local out = {}
  for i, v in ipairs(list) do out[i] = f(v, i) end
  return out
end

local function check_function(name, f)
  if type(f) ~= "function" then fail("%s needs a function here, found %s", name, core.text(f)) end
end

-- Sets the next values of the carries to what the body returned.
local function set_next(l, name, begun, returned)
  if returned == nil then fail("%s: the function returns nothing; it must return the carried value", name) end
  local next = flatten(returned, {}, name .. ": what the function returns")
  if #next ~= #begun then
    fail("%s: %d tensors are carried, but the function returns %d", name, #begun, #next)
  end
  for i, v in ipairs(next) do core.next(l, i - 1, v, name) end
  return next
end

-- Closes the loop; returns the body's results from number `first` on, stacked, after finish(ys).
local function close(l, results, first, finish)
  local lists = {}
  for i = first, results.n do
    lists[i] = flatten(results[i], {}, "a stacked result")
    for _, v in ipairs(lists[i]) do core.keep(l, v) end
  end
  core.close(l)
  local out = {}
  for i = first, results.n do
    out[i - first + 1] = rebuild(results[i], mapped(lists[i], function(v)
      local ys = core.stacked(l, v)
      return finish and finish(ys) or ys
    end))
  end
  return out
end

local scope_name = { name = { "string", none, "part of the layer path" } }
local stack_options = options.declare("nn.stack", scope_name)
local map_options = options.declare("nn.map", {
  name = scope_name.name,
  over = { "tensors", none, "a tensor [n, …] or a table of such: copy i is f(i, slice i)" },
})

-- Applies a block n times, each with its own parameters: x = f(x, i).  Other results of f are returned stacked, [n, …].
function nn.stack(n, x, f, given)
  check_function("nn.stack(n, x, f)", f)
  local o = stack_options(given)
  local begun = flatten(x, {}, "nn.stack: the carried value")
  local l = core.loop("layer", n, false, true)
  core.enter_copies("layer", o.name)
  local carried = mapped(begun, function(v) return core.carry(l, v) end)
  local results = table.pack(f(rebuild(x, carried), core.index(l)))
  core.leave()
  local next = set_next(l, "nn.stack", begun, results[1])
  local rest = close(l, results, 2)
  local last = mapped(next, function(v, i) return core.result(l, i - 1, v) end)
  return rebuild(x, last), table.unpack(rest, 1, results.n - 1)
end

-- The slices for one iteration of the tensors in `over`, [n, …].
local function slices(l, n, over)
  return rebuild(over, mapped(flatten(over, {}, "nn.map: over"), function(v)
    if v.rank == 0 or v:size(0) ~= n then fail("nn.map: over must be [%d, …], one slice per copy, found %s", n, core.text(v)) end
    return core.loop_x(l, v)
  end))
end

-- n independent copies, each with its own parameters: computes f(i) for every i; results are stacked, [n, …].
function nn.map(n, f, given)
  check_function("nn.map(n, f)", f)
  local o = map_options(given)
  local l = core.loop("copy", n, false, true)
  core.enter_copies("copy", o.name)
  local results = table.pack(f(core.index(l), o.over and slices(l, n, o.over)))
  core.leave()
  return table.unpack(close(l, results, 1), 1, results.n)
end

local scan_options = options.declare("nn.scan", {
  axis = { "integer", 1, "the axis of xs that is walked" },
  reverse = { "boolean", false, "whether it runs from the last to the first" },
  lengths = { "tensor", none, "i32 [batch]: from that step on a sample keeps its state and gives zeros" },
  carry = { "boolean", false, "whether a batch begins with the last state of the batch before, if its text continues" },
})

local function move_axis(x, from, to)
  local order = {}
  for axis = 0, x.rank - 1 do
    if axis ~= from then order[#order + 1] = axis end
  end
  table.insert(order, to + 1, from)
  return x:permute(order)
end

-- lengths: i32 [batch]; if they are known here, 0 to n
local function check_lengths(lengths, n)
  if lengths.dtype ~= "i32" or lengths.rank ~= 1 then
    fail("nn.scan: lengths must be i32 [batch], found %s %s", lengths.dtype, core.shape_text(lengths))
  end
  for row, length in ipairs(core.values(lengths) or {}) do
    if length < 0 or length > n then
      fail("nn.scan: lengths must be 0 to %d, the number of steps, but that of row %d is %d", n, row - 1, length)
    end
  end
end

-- where(keep, new, old) for keep [batch] and values of any rank, with the batch first
local function choose(keep, new, old)
  if new.rank == 0 or new:size(0) ~= keep:size(0) then
    fail("nn.scan: with lengths, the first axis of states and results must be the batch\n    lengths  %s\n    value    %s",
      core.shape_text(keep), core.shape_text(new))
  end
  for _ = 2, new.rank do keep = keep:unsqueeze(-1) end
  return nn.where(keep, new, old)
end

-- One step of f; samples past their length keep their state.
local function scan_step(f, x, h, t, lengths)
  local results = table.pack(f(x, h, t))
  if not lengths then return results end
  local keep, old = nn.lt(t, lengths), flatten(h, {}, "the state")
  local new = flatten(results[1], {}, "nn.scan: what the function returns")
  if #new ~= #old then fail("nn.scan: %d tensors are carried, but the function returns %d", #old, #new) end
  results[1] = rebuild(results[1], mapped(new, function(v, i) return choose(keep, v, old[i]) end))
  for i = 2, results.n do
    local list = flatten(results[i], {}, "nn.scan: what the function returns")
    results[i] = rebuild(results[i], mapped(list, function(v) return choose(keep, v, 0) end))
  end
  return results
end

-- decode: one step; the state is kept between calls and begins as h0 at position 0.
local function scan_decode(xs, h0, f, o)
  local at = core.position(flatten(xs, {}, "nn.scan: xs")[1], 1)        -- [batch] where rows have their own
  local x = rebuild(xs, mapped(flatten(xs, {}, "nn.scan: xs"), function(v) return core.with_time(v, nil):squeeze(o.axis) end))
  local names, begun = {}, flatten(h0, { names = {} }, "nn.scan: the state")
  local old = mapped(begun, function(v, i)
    local name, state = core.state(begun.names[i], v.shape, v)
    names[i] = name
    if core.is_zero(v) then return state end
    return core.apart() and choose(nn.eq(at, 0), v, state) or nn.where(nn.eq(at, 0), v, state)
  end)
  if core.apart() and core.parameters(f) > 2 then
    fail("nn.scan: the function is given its step, but with generate.slots each row is at a step of its own; leave slots out")
  end
  local results = scan_step(f, x, rebuild(h0, old), at, o.lengths)
  local next = flatten(results[1], {}, "nn.scan: what the function returns")
  if #next ~= #begun then fail("nn.scan: %d tensors are carried, but the function returns %d", #begun, #next) end
  for i, v in ipairs(next) do core.state_next(names[i], v) end
  local ys = {}
  for k = 2, results.n do
    local list = flatten(results[k], {}, "nn.scan: what the function returns")
    ys[k - 1] = rebuild(results[k], mapped(list, function(v) return core.with_time(v:unsqueeze(o.axis), o.axis) end))
  end
  return results[1], table.unpack(ys, 1, results.n - 1)
end

-- With carry = true: rows whose text continues begin with the state of the batch before, without gradient; others with h0.
-- Returns these states and the names under which the last states are kept.
local function carried_on(h0, o)
  if o.reverse then fail("nn.scan: carry = true continues where the text stopped, but reverse = true begins at its end") end
  if o.lengths then fail("nn.scan: carry = true continues where the text stopped, but lengths end rows earlier") end
  local begun, names = flatten(h0, { names = {} }, "nn.scan: the state"), {}
  if not core.carries() then return begun, names end
  local begins = nn.ne(core.begins(), 0)
  return mapped(begun, function(v, i)
    if v.rank == 0 or v:size(0) ~= begins:size(0) then
      fail("nn.scan: carry = true needs a state per row, [batch %d, …], found %s", begins:size(0),
        core.text(v))
    end
    local old
    names[i], old = core.state(begun.names[i], v.shape, v)
    return choose(begins, v, old)
  end), names
end

-- Over time: h, y = f(x, h, t) for each slice x of xs; gives the last h and the ys, stacked along the same axis.
function nn.scan(xs, h0, f, given)
  check_function("nn.scan(xs, h0, f)", f)
  local o = scan_options(given)
  local list = flatten(xs, {}, "nn.scan: xs")
  if #list == 0 then fail("nn.scan: xs holds no tensor") end
  local n, timed, mixes = nil, true, false
  for _, v in ipairs(list) do
    if n and v:size(o.axis) ~= n then fail("nn.scan: the xs differ along axis %d: %d and %d", o.axis, n, v:size(o.axis)) end
    n, timed, mixes = v:size(o.axis), timed and core.time_axis(v) == o.axis, mixes or core.holds_time(v, o.axis)
  end
  if o.lengths then check_lengths(o.lengths, n) end
  local over_time = core.over_time(timed)
  if over_time and core.decoding() then return scan_decode(xs, h0, f, o) end
  local begun, kept = flatten(h0, {}, "nn.scan: the state"), {}
  if o.carry then begun, kept = carried_on(h0, o) end
  local l = core.loop("time", n, o.reverse, false)
  local h = mapped(begun, function(v) return core.carry(l, v) end)
  local x = mapped(list, function(v) return core.loop_x(l, move_axis(v, o.axis, 0)) end)
  local results = scan_step(f, rebuild(xs, x), rebuild(h0, h), core.index(l), o.lengths)
  local next = set_next(l, "nn.scan", begun, results[1])
  local ys = close(l, results, 2, function(v)
    v = core.with_time(move_axis(v, 0, o.axis), over_time and o.axis or nil)
    if over_time and o.reverse then return core.mixing(v, "nn.scan with reverse = true looks at later tokens") end
    return mixes and not over_time and core.mixing(v, "nn.scan walks along an axis that merges time with another") or v
  end)
  for i, name in ipairs(kept) do core.state_next(name, core.result(l, i - 1, next[i])) end
  local last = mapped(next, function(v, i)
    local h = core.result(l, i - 1, v)
    return mixes and core.mixing(h, "the last state of nn.scan depends on the whole sequence") or h
  end)
  return rebuild(h0, last), table.unpack(ys, 1, results.n - 1)
end

-- Calls f(...); the backward pass recomputes its values instead of saving them.
nn.checkpoint = core.checkpoint
