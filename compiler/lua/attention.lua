-- attention.lua: what tells positions in time apart: position tables, rotary positions, attention.  [B, T, C] is batch, time, width.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- i32 [n]: 0 … n-1, or in decode (where n is 1) the position of the token.
local function positions(n, over_time)
  local p = nn.iota(n)
  if over_time and core.decoding() then p = p + core.position() end
  return core.with_time(p, over_time and 0 or nil)
end

local function is_time(x, axis) return core.time_axis(x) == axis end

-- i32 [T]: positions along the time axis of x.
function nn.positions(x, axis)
  axis = axis or 1
  return positions(x:size(axis), core.over_time(is_time(x, axis)))
end

local function check_positions(name, p, x)
  if not p or p.rank == 2 and p.dtype == "i32" and p:size(0) == x:size(0) and p:size(1) == x:size(1) then return end
  fail("%s: positions are i32 [batch, time]\n    x          %s\n    positions  %s", name, core.shape_text(x), core.text(p))
end

layer("position_embedding", "the first T rows of a learned table [context, width], for x [B, T, …]; or those at given positions", {
  context = { "integer", required, "rows of the table" },
  width = { "integer", required, "extent of a row" },
  positions = { "tensor", none, "i32 [B, T]: such as input.positions; default: 0 … T-1" },
  init = { "init", nn.init.normal(0.02), "of the table" },
  decay = { "boolean", none, "whether weight decay applies; default: yes" },
}, function(self, o, x)
  local T = x:size(1)
  check_positions("nn.position_embedding", o.positions, x)
  if T > o.context then fail("nn.position_embedding: %d positions do not fit its context of %d", T, o.context) end
  local rows, over_time = param("weight", { o.context, o.width }, o.init, o.decay), core.over_time(is_time(x, 1))
  rawset(self, "weight", rows)
  if o.positions then return rows:gather(o.positions, 0) end
  if over_time and core.decoding() then return rows:gather(positions(T, true), 0) end
  return core.with_time(rows:slice(0, 0, T), over_time and 0 or nil)
end)

-- Cosines and sines [..., width / 2] of x [...] times rates that fall evenly, by their logarithms, from 1 towards 1 / base.
local function waves(x, width, base)
  local half = width // 2
  local rate = nn.exp(nn.iota(half):cast("f32") * (-math.log(base) / half))
  local angle = (x.dtype == "f32" and x or x:cast("f32")):unsqueeze(-1) * rate
  return nn.cos(angle), nn.sin(angle)
end

local sinusoidal_options = options.declare("nn.sinusoidal", {
  base = { "number", 10000, "the rates fall towards 1 / base" },
  alternate = { "boolean", false, "sine, cosine, sine, … (Vaswani et al. 2017); default: the cosines, then the sines" },
})

-- Numbers x [...], such as nn.positions or how much noise there is, as cosines and sines of many rates: [..., width].
function nn.sinusoidal(x, width, given)
  local o = sinusoidal_options(given)
  if not nn.is_tensor(x) then fail("nn.sinusoidal(x, width): x is a tensor, and this is %s", core.text(x)) end
  if math.type(width) ~= "integer" or width < 2 or width % 2 ~= 0 then
    fail("nn.sinusoidal(x, width): the width is an even integer, and this is %s", core.text(width))
  end
  if o.base <= 1 then fail("nn.sinusoidal: base is above 1, and this is %s", core.text(o.base)) end
  local cos, sin = waves(x, width, o.base)
  if not o.alternate then return nn.concat({ cos, sin }, -1) end
  local y, extents = nn.concat({ sin:unsqueeze(-1), cos:unsqueeze(-1) }, -1), {}
  for axis = 0, x.rank - 1 do extents[axis + 1] = x:size(axis) end
  extents[x.rank + 1] = width
  return y:reshape(extents)
end

-- Rotary positions for heads of width D at the positions [T]: cosines and sines [T, D / 2].
local function angles(at, dim, base)
  if dim % 2 ~= 0 then fail("nn.rotary: the width of a head must be even, and it is %d", dim) end
  return waves(at, dim, base)
end

-- [T, D]: both side by side, as nn.attend takes them.
function nn.turns(at, dim, base)
  return nn.concat({ angles(at, dim, base) }, -1)
end

-- Rotary positions: the two halves of each head [B, T, H, D] are turned by an angle that grows with the position.
function nn.rotary(x, at, base)
  local cos, sin = angles(at, x:size(-1), base)
  cos, sin = cos:reshape { at:size(0), 1, cos:size(-1) }, sin:reshape { at:size(0), 1, sin:size(-1) }
  local a, b = x:chunk(2, -1)
  return nn.concat({ a * cos - b * sin, b * cos + a * sin }, -1)
end

-- Decode keeps earlier keys and values: [1, context, heads, D], one row written a step.
local function remembered(name, new, context)
  local state, old = core.state(name, { new:size(0), context, new:size(2), new:size(3) }, new)
  local now = old:overwrite(positions(1, true), new, 1)
  core.state_next(state, now)
  return now
end

local attend_options = options.declare("nn.attend", {
  scale = { "number", none, "of q · k; default: 1 / sqrt(D)" },
  causal = { "boolean", false, "whether query t sees only keys up to offset + t" },
  window = { "integer", 0, "how many keys back a query sees, the one at offset + t included; 0: all" },
  offset = { "tensor", none, "i32 []: where query 0 stands among the keys; default: 0" },
  lengths = { "tensor", none, "i32 [batch…]: how many keys there are" },
  segments = { "tensor", none, "i32 [batch…, T]: a query sees the keys of its own segment" },
  memory_segments = { "tensor", none, "i32 [batch…, S], of the keys; default: segments" },
  turns = { "tensor", none, "[T, D] or [batch…, T, D]: q and k are turned before they meet (rotary positions, nn.turns)" },
  memory_turns = { "tensor", none, "of the keys; default: turns" },
  dropout = { "number", 0, "on the probabilities" },
  probabilities = { "boolean", false, "whether they are returned as well" },
})

-- softmax(scale · q · k) · v for each head, as one operation: q [batch…, T, H, D], k [batch…, S, G, D], v [batch…, S, G, E]
-- ->  [batch…, T, H, E], log of the sum of exp [batch…, H, T], and if asked for the probabilities [batch…, H, T, S] before
-- dropout, and after it.  H / G queries share a key.  A query that sees no key yields zeros.
function nn.attend(q, k, v, given)
  local o = attend_options(given)
  if not (nn.is_tensor(q) and nn.is_tensor(k) and nn.is_tensor(v)) then
    fail("nn.attend(q, k, v): they are tensors, and these are %s, %s, %s", core.text(q), core.text(k), core.text(v))
  end
  if o.dropout < 0 or o.dropout >= 1 then fail("nn.attend: dropout is a probability below 1, and this is %s", core.text(o.dropout)) end
  if o.window < 0 then fail("nn.attend: a window is at least 1, or 0 for none, and this is %d", o.window) end
  if o.memory_turns and not o.turns then fail("nn.attend: memory_turns turns the keys; give turns for the queries as well") end
  o.scale = o.scale or 1 / math.sqrt(q:size(-1))
  return core.attend(q, k, v, o)
end

local function check_heads(o, x)
  local width = x:size(-1)
  if x.rank ~= 3 then fail("nn.attention works on [batch, time, width], and this is %s", core.shape_text(x)) end
  if o.heads < 1 or (not o.head_width and width % o.heads ~= 0) then
    fail("nn.attention: width %d cannot be cut into %d heads (%d is left over); width must be a multiple of heads, or give head_width",
      width, o.heads, o.heads > 0 and width % o.heads or width)
  end
  local groups = o.kv_heads or o.heads
  if groups < 1 or o.heads % groups ~= 0 then
    fail("nn.attention: %d heads cannot share %d kv_heads evenly; heads must be a multiple of kv_heads", o.heads, groups)
  end
  return o.head_width or width // o.heads, groups
end

-- The projections' names, given or not: { qkv, out } or { q, k, v, out }.
local function names_of(o, fused)
  local names = o.names or (fused and { "qkv", "out" } or { "q", "k", "v", "out" })
  if #names ~= (fused and 2 or 4) then
    fail("nn.attention: names are %s, and these are %d", fused and "two: of qkv and out" or "four: of q, k, v and out", #names)
  end
  return names
end

-- Queries from x, keys and values from memory (or x): one weight for all three, or one each.
local function project(o, names, x, memory, dim, groups)
  local function linear(y, name, out)
    return nn.linear(y, { name = name, out = out, bias = o.bias, layout = o.layout, init = o.init })
  end
  local q, k, v
  if #names == 4 then
    q = linear(x, names[1], o.heads * dim)
    k, v = linear(memory or x, names[2], groups * dim), linear(memory or x, names[3], groups * dim)
  else
    local qkv, mine = linear(x, names[1], (o.heads + 2 * groups) * dim), o.heads * dim
    q, k, v = qkv:slice(-1, 0, mine), qkv:slice(-1, mine, mine + groups * dim), qkv:slice(-1, mine + groups * dim)
  end
  local function heads(y, n) return y:reshape { y:size(0), y:size(1), n, dim } end
  return heads(q, o.heads), heads(k, groups), heads(v, groups)
end

layer("attention", "softmax(q · k / sqrt(D)) · v for each head; of x [B, T, C] to itself, or to a memory [B, S, C]", {
  heads = { "integer", required, "number of heads" },
  kv_heads = { "integer", none, "number of key and value heads, shared by groups of heads; default: heads" },
  head_width = { "integer", none, "default: width / heads" },
  causal = { "boolean", false, "whether a position sees only itself and earlier ones" },
  window = { "integer", 0, "how many positions back it sees, its own included; 0: all" },
  lengths = { "tensor", none, "i32 [batch]: how many keys there are" },
  segments = { "tensor", none, "i32 [batch, time]: a position sees those of its own segment (packed documents)" },
  dropout = { "number", 0, "on the probabilities" },
  rotary = { "number", 0, "base of rotary positions, such as 10000; 0: none" },
  scale = { "number", none, "of q · k; default: 1 / sqrt(head_width)" },
  context = { "integer", none, "positions that decode remembers; default: seq" },
  fused = { "boolean", true, "one weight for q, k, v (self-attention)" },
  bias = { "boolean", true, "whether the projections have a bias" },
  layout = { "string", "out_in", "of the weights, see nn.linear" },
  names = { "table", none, "of the projections; default: { \"qkv\", \"out\" }, or { \"q\", \"k\", \"v\", \"out\" } where not fused" },
  probabilities = { "boolean", false, "whether they are returned as well, [batch, heads, time, length], after dropout" },
  init = { "init", none, "of the weights of q, k, v" },
  out_init = { "init", none, "of the last weight; default: as init" },
}, function(_, o, x, memory)
  local dim, groups = check_heads(o, x)
  local names = names_of(o, o.fused and not memory)
  if memory then
    if not nn.is_tensor(memory) or memory.rank ~= 3 or memory:size(0) ~= x:size(0) then
      fail("nn.attention: the memory must be [batch, length, width] with the batch of x\n    x       %s\n    memory  %s",
        core.shape_text(x), core.text(memory))
    end
  end
  local over_time = core.over_time(is_time(x, 1) and is_time(memory or x, 1))
  core.time_aware(true)
  local q, k, v = project(o, names, x, memory, dim, groups)
  local packed = over_time and core.packed(o.segments)          -- decode is inside one document
  local offset, turns, memory_turns
  local function at(y) return positions(y:size(1), over_time) end
  if over_time and core.decoding() then
    local context = o.context or core.sequence()
    if o.rotary > 0 then q, k = nn.rotary(q, at(q), o.rotary), nn.rotary(k, at(k), o.rotary) end
    k, v, offset = remembered("keys", k, context), remembered("values", v, context), core.position()
  elseif o.rotary > 0 then
    turns, memory_turns = nn.turns(at(q), dim, o.rotary), nn.turns(at(k), dim, o.rotary)
  end
  local y, _, _, seen = nn.attend(q, k, v, {
    turns = turns, memory_turns = memory_turns, scale = o.scale, causal = o.causal, window = o.window, offset = offset,
    lengths = o.lengths, segments = not (packed and core.decoding()) and o.segments or nil, dropout = o.dropout,
    probabilities = o.probabilities,
  })
  y = y:reshape { x:size(0), x:size(1), o.heads * dim }
  core.time_aware(false)
  local function marked(y, time)
    if over_time and not o.causal then y = core.mixing(y, "nn.attention without causal = true looks at later tokens") end
    if over_time and o.segments and not packed then y = core.mixing(y, "nn.attention with segments looks at the document of each token") end
    if not over_time and memory and is_time(memory, 1) then y = core.mixing(y, "nn.attention attends to a whole sequence") end
    return core.with_time(y, core.time_axis(x) and time)
  end
  y = nn.linear(marked(y, core.time_axis(x)), { name = names[#names], out = x:size(-1), bias = o.bias, layout = o.layout, init = o.out_init or o.init })
  if not o.probabilities then return y end
  return y, marked(seen, 2)
end)

local function check_memory(query, memory, seen, lengths)
  local B, S = query:size(0), nn.is_tensor(memory) and memory.rank == 3 and memory:size(1)
  if not S or memory:size(0) ~= B or query.rank ~= 2 and query.rank ~= 3 then
    fail("nn.additive_attention: the query is [batch, width] or [batch, time, width], the memory [batch, length, width]\n    query   %s\n    memory  %s",
      core.shape_text(query), core.text(memory))
  end
  local fits = seen == nil or nn.is_tensor(seen) and seen.rank == query.rank and seen:size(0) == B and seen:size(-1) == S
  if not fits or seen and query.rank == 3 and seen:size(1) ~= query:size(1) then
    fail("nn.additive_attention: seen is shaped like the probabilities, [%d, %s%d], and this is %s", B,
      query.rank == 3 and query:size(1) .. ", " or "", S, core.text(seen))
  end
  if lengths and (lengths.dtype ~= "i32" or lengths.rank ~= 1 or lengths:size(0) ~= B) then
    fail("nn.additive_attention: lengths are i32 [batch], and these are %s", core.text(lengths))
  end
end

layer("additive_attention", "softmax(v · tanh(W_d · query + W_h · memory)) over the memory [B, S, M] -> its weighted sum, the probabilities (Bahdanau, Cho, Bengio 2015)", {
  width = { "integer", required, "of what tanh is applied to" },
  lengths = { "tensor", none, "i32 [batch]: how much of the memory there is" },
  bias = { "boolean", false, "whether W_d has a bias" },
}, function(_, o, query, memory, seen)
  check_memory(query, memory, seen, o.lengths)
  local bound, apart = 1 / math.sqrt(o.width), query.rank == 3
  local sum = nn.linear(query, { name = "W_d", out = o.width, bias = o.bias }):unsqueeze(-2)
  local keys = nn.linear(memory, { name = "W_h", out = o.width, bias = false })         -- inside a scan: once, before it
  sum = sum + (apart and keys:unsqueeze(1) or keys)                                     -- [B, (T,) S, width]
  if seen then    -- coverage: what earlier steps have looked at (See, Liu, Manning 2017)
    sum = sum + seen:unsqueeze(-1) * param("W_c", { o.width }, nn.init.uniform(-1, 1))
  end
  local scores = (nn.tanh(sum) * param("v", { o.width }, nn.init.uniform(-bound, bound))):sum(-1)
  if o.lengths then
    local within = nn.lt(nn.iota(memory:size(1)), o.lengths:unsqueeze(-1))              -- [B, S]
    scores = nn.where(apart and within:unsqueeze(1) or within, scores, -1e4)
  end
  local p = nn.softmax(scores)
  return nn.dot(p, memory, { batch = { 0, 0 }, contract = { -1, 1 } }), p
end)
