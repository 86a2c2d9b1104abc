-- einsum.lua: nn.einsum, as products of two tensors at a time, from the left.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail

-- "ij...k" as a list of letters; "..." stands for the other axes.
local function letters_of(spec, part)
  local list, seen, at = {}, false, 1
  while at <= #part do
    local letter = part:sub(at, at)
    if part:sub(at, at + 2) == "..." then
      if seen then fail("nn.einsum(\"%s\"): '%s' has '...' twice", spec, part) end
      list[#list + 1], seen, at = "...", true, at + 3
    elseif letter:match("%a") then
      list[#list + 1], at = letter, at + 1
    else
      fail("nn.einsum(\"%s\"): axes must be letters or '...', found '%s'", spec, letter)
    end
  end
  return list, seen
end

local function parse(spec)
  local text = spec:gsub("%s", "")
  local left, out = text:match("^(.-)%->(.*)$")
  local parts = {}
  for part in ((left or text) .. ","):gmatch("(.-),") do parts[#parts + 1] = part end
  return parts, out
end

-- The axes of '...' are labelled from the right, as in broadcasting: "~2", "~1".
local function labelled(spec, part, x, number)
  local list, open = letters_of(spec, part)
  local free = x.rank - (#list - (open and 1 or 0))
  if free < 0 or (free > 0 and not open) then
    fail("nn.einsum(\"%s\"): '%s' names %d axes, but operand %d is %s", spec, part, #list - (open and 1 or 0), number, core.text(x))
  end
  local labels = {}
  for _, letter in ipairs(list) do
    if letter ~= "..." then labels[#labels + 1] = letter end
    for k = letter == "..." and free or 0, 1, -1 do labels[#labels + 1] = "~" .. k end
  end
  return labels, open and free or 0
end

local function place(list, label)
  for i, other in ipairs(list) do if other == label then return i end end
end

-- Replaces both axes of "ii" by one, the diagonal.
local function diagonal(spec, x, labels)
  for i = 1, #labels do
    for j = #labels, i + 1, -1 do
      if labels[i] == labels[j] then
        local n, order = x:size(i - 1), {}
        if n ~= x:size(j - 1) then
          fail("nn.einsum(\"%s\"): '%s' names axes of extents %d and %d in one operand", spec, labels[i], n, x:size(j - 1))
        end
        for k = 1, #labels do if k ~= i and k ~= j then order[#order + 1] = k - 1 end end
        local shape, kept = {}, {}
        for k, axis in ipairs(order) do shape[k], kept[k] = x:size(axis), labels[axis + 1] end
        local label = labels[i]
        order[#order + 1], order[#order + 2] = i - 1, j - 1
        shape[#shape + 1] = n * n
        kept[#kept + 1] = label
        return diagonal(spec, x:permute(order):reshape(shape):slice(-1, 0, n * n, n + 1), kept)
      end
    end
  end
  return x, labels
end

-- Checks the extent of each label; drops axes of extent 1 where another operand is longer.
local function met(spec, operands)
  local extent = {}
  for number, o in ipairs(operands) do
    for i, label in ipairs(o.labels) do
      local n, old = o.x:size(i - 1), extent[label]
      if old and old ~= n and old ~= 1 and n ~= 1 then
        fail("nn.einsum(\"%s\"): '%s' is %d in operand %d (%s), but %d in an earlier one", spec, label:gsub("~.*", "..."), n, number, core.text(o.x), old)
      end
      extent[label] = math.max(old or 1, n)
    end
  end
  for _, o in ipairs(operands) do
    for i = #o.labels, 1, -1 do
      if o.x:size(i - 1) == 1 and extent[o.labels[i]] > 1 then
        o.x = o.x:squeeze(i - 1)
        table.remove(o.labels, i)
      end
    end
  end
end

-- The axes of the result: those written, or '...' and then, sorted, the letters that occur once.
local function result_of(spec, out, count, free)
  local result = {}
  if not out then
    for k = free, 1, -1 do result[#result + 1] = "~" .. k end
    local once = {}
    for label, n in pairs(count) do if n == 1 and label:match("%a") then once[#once + 1] = label end end
    table.sort(once)
    return table.move(once, 1, #once, #result + 1, result)
  end
  for _, letter in ipairs((letters_of(spec, out))) do
    if letter ~= "..." and place(result, letter) then fail("nn.einsum(\"%s\"): the result has '%s' twice", spec, letter) end
    if letter ~= "..." and not count[letter] then fail("nn.einsum(\"%s\"): no operand has the result's '%s'", spec, letter) end
    if letter ~= "..." then result[#result + 1] = letter end
    for k = letter == "..." and free or 0, 1, -1 do result[#result + 1] = "~" .. k end
  end
  return result
end

-- o summed over axes that are not wanted
local function summed(o, wanted)
  local axes, kept = {}, {}
  for i, label in ipairs(o.labels) do
    if wanted[label] then kept[#kept + 1] = label else axes[#axes + 1] = i - 1 end
  end
  if #axes == 0 then return o end
  return { x = o.x:sum(axes), labels = kept }
end

-- o with its axes in the order of labels; those that it lacks get extent 1.
local function ordered(o, labels)
  local order, shape = {}, {}
  for _, label in ipairs(labels) do
    local at = place(o.labels, label)
    if at then order[#order + 1] = at - 1 end
    shape[#shape + 1] = at and o.x:size(at - 1) or 1
  end
  local x = o.x
  for i, axis in ipairs(order) do
    if axis ~= i - 1 then x = x:permute(order) break end
  end
  return #order < #labels and x:reshape(shape) or x
end

-- The product of two, summed over axes that both have and that are not wanted.
local function product(a, b, wanted)
  local batch, contract, labels = { {}, {} }, { {}, {} }, {}
  for i, label in ipairs(a.labels) do
    local j = place(b.labels, label)
    local pairs_of = j and (wanted[label] and batch or contract)
    if pairs_of then
      table.insert(pairs_of[1], i - 1)
      table.insert(pairs_of[2], j - 1)
    end
  end
  if #contract[1] == 0 then
    for _, label in ipairs(a.labels) do labels[#labels + 1] = label end
    for _, label in ipairs(b.labels) do if not place(labels, label) then labels[#labels + 1] = label end end
    return { x = ordered(a, labels) * ordered(b, labels), labels = labels }
  end
  for _, axis in ipairs(batch[1]) do labels[#labels + 1] = a.labels[axis + 1] end
  for _, label in ipairs(a.labels) do if not place(b.labels, label) then labels[#labels + 1] = label end end
  for _, label in ipairs(b.labels) do if not place(a.labels, label) then labels[#labels + 1] = label end end
  return { x = nn.dot(a.x, b.x, { batch = batch, contract = contract }), labels = labels }
end

-- Σ of products, as torch.einsum: nn.einsum("bqhd,bkhd->bhqk", q, k); letters are axes.  Those that the result
-- lacks are summed over, a letter twice in an operand takes its diagonal, '...' stands for any other axes.
function nn.einsum(spec, ...)
  local given = table.pack(...)
  if type(spec) ~= "string" then fail("nn.einsum(\"ij,jk->ik\", a, b): the axes must be a string, found %s", core.text(spec)) end
  local parts, out = parse(spec)
  if #parts ~= given.n then fail("nn.einsum(\"%s\") names %d operand%s, found %d", spec, #parts, #parts == 1 and "" or "s", given.n) end
  local operands, count, free = {}, {}, 0
  for i, part in ipairs(parts) do
    local x = given[i]
    if not nn.is_tensor(x) or x.dtype ~= "f32" then fail("nn.einsum(\"%s\"): operand %d must be a real tensor, found %s", spec, i, core.text(x)) end
    local labels, more = labelled(spec, part, x, i)
    for _, label in ipairs(labels) do count[label] = (count[label] or 0) + 1 end
    x, labels = diagonal(spec, x, labels)
    operands[i], free = { x = x, labels = labels }, math.max(free, more)
  end
  local result = result_of(spec, out, count, free)
  met(spec, operands)
  local function wanted_after(number)           -- by the result and by later operands
    local wanted = {}
    for _, label in ipairs(result) do wanted[label] = true end
    for i = number + 1, #operands do for _, label in ipairs(operands[i].labels) do wanted[label] = true end end
    return wanted
  end
  local function wanted_beside(other, wanted)
    local both = setmetatable({}, { __index = wanted })
    for _, label in ipairs(other.labels) do both[label] = true end
    return both
  end
  local all = operands[1]
  for i = 2, #operands do
    local wanted = wanted_after(i)
    local a, b = summed(all, wanted_beside(operands[i], wanted)), summed(operands[i], wanted_beside(all, wanted))
    all = product(a, b, wanted)
  end
  all = summed(all, wanted_after(#operands))
  return ordered(all, result)
end
