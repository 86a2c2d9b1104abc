-- attention.lua: positions in time (tables, sinusoids, rotary) and attention.  [B, T, C] is batch, time, width.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- i32 [n], along an axis of x of extent n: 0 … n-1, or in decode the positions of the tokens; where rows have their own
-- (core.apart), [batch…, n].
local function positions(x, axis, over_time)
  local p, time = nn.iota(x:size(axis)), 0
  if over_time and core.apart() then p, time = core.position(x, axis):unsqueeze(-1) + p, axis
  elseif over_time and core.decoding() then p = p + core.position() end
  return core.with_time(p, over_time and time or nil)
end

local function is_time(x, axis) return core.time_axis(x) == axis end

-- i32 [T]: positions along the time axis of x; [B, T] where the rows of decode have their own.
function nn.positions(x, axis)
  axis = axis or 1
  return positions(x, axis, core.over_time(is_time(x, axis)))
end

local function check_positions(name, p, x)
  if not p or p.rank == 2 and p.dtype == "i32" and p:size(0) == x:size(0) and p:size(1) == x:size(1) then return end
  fail("%s: positions must be i32 [batch, time]\n    x          %s\n    positions  %s", name, core.shape_text(x), core.text(p))
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
  if over_time and core.decoding() then
    core.remembers(o.context)
    return rows:gather(positions(x, 1, true), 0)
  end
  return core.with_time(rows:slice(0, 0, T), over_time and 0 or nil)
end)

-- Cosines and sines [..., width / 2] of x [...] times rates that fall geometrically from 1 towards 1 / base, or what
-- stretch(rates) makes of these; a second value of stretch, a number or f32 [], multiplies all of them.
local function waves(x, width, base, stretch)
  local half = width // 2
  local rate = nn.exp(nn.iota(half):cast("f32") * (-math.log(base) / half))
  local amplitude
  if stretch then rate, amplitude = stretch(rate) end
  local angle = (x.dtype == "f32" and x or x:cast("f32")):unsqueeze(-1) * rate
  local cos, sin = nn.cos(angle), nn.sin(angle)
  if amplitude then return cos * amplitude, sin * amplitude end
  return cos, sin
end

local sinusoidal_options = options.declare("nn.sinusoidal", {
  base = { "number", 10000, "the rates fall towards 1 / base" },
  alternate = { "boolean", false, "sine, cosine, sine, … (Vaswani et al. 2017); default: the cosines, then the sines" },
})

-- Numbers x [...], such as nn.positions or a noise level, as cosines and sines of many rates: [..., width].
function nn.sinusoidal(x, width, given)
  local o = sinusoidal_options(given)
  if not nn.is_tensor(x) then fail("nn.sinusoidal(x, width): x must be a tensor, found %s", core.text(x)) end
  if math.type(width) ~= "integer" or width < 2 or width % 2 ~= 0 then
    fail("nn.sinusoidal(x, width): the width must be an even integer, found %s", core.text(width))
  end
  if o.base <= 1 then fail("nn.sinusoidal: base must be above 1, found %s", core.text(o.base)) end
  local cos, sin = waves(x, width, o.base)
  if not o.alternate then return nn.concat({ cos, sin }, -1) end
  local y, extents = nn.concat({ sin:unsqueeze(-1), cos:unsqueeze(-1) }, -1), {}
  for axis = 0, x.rank - 1 do extents[axis + 1] = x:size(axis) end
  extents[x.rank + 1] = width
  return y:reshape(extents)
end

-- Cosines and sines [T, D / 2] of rotary positions [T], for heads of width D.
local function angles(at, dim, base, stretch)
  if dim % 2 ~= 0 then fail("nn.rotary: the width of a head must be even, found %d", dim) end
  return waves(at, dim, base, stretch)
end

-- [T, D] of positions [T]: cosines, then sines, for nn.attend.  stretch: a function of the rates [D / 2] that gives others; default: they stay.
function nn.turns(at, dim, base, stretch)
  return nn.concat({ angles(at, dim, base, stretch) }, -1)
end

-- Rotary positions: rotates the two halves of each head [B, T, H, D] by an angle that grows with the position.
function nn.rotary(x, at, base)
  local cos, sin = angles(at, x:size(-1), base)
  cos, sin = cos:unsqueeze(-2), sin:unsqueeze(-2)
  local a, b = x:chunk(2, -1)
  return nn.concat({ a * cos - b * sin, b * cos + a * sin }, -1)
end

-- x [batch…, T, heads, D] rotated by turns [T, D] or [batch…, T, D] (nn.turns).
local function turned(x, turns)
  local a, b = x:chunk(2, -1)
  local cos, sin = turns:unsqueeze(-2):chunk(2, -1)
  return nn.concat({ a * cos - b * sin, b * cos + a * sin }, -1)
end

-- The same of the first channels alone, as many as turns has.
local function partly_turned(x, turns)
  local width = turns:size(-1)
  return nn.concat({ turned(x:slice(-1, 0, width), turns), x:slice(-1, width) }, -1)
end

-- In decode, earlier keys or values: the time axis, before the heads, has `context` entries, of which each token writes one.
local function remembered(name, new, context)
  local shape, axis = {}, new.rank - 3
  new = core.rounded(new)                                               -- --cache
  for a = 0, new.rank - 1 do shape[a + 1] = a == axis and context or new:size(a) end
  local state, old = core.state(name, shape, new, axis)
  local at = positions(new, axis, true)
  local now = old:overwrite(at, new, axis, at.rank - 1)
  core.remembers(context)
  core.state_next(state, now)
  return now
end

local attend_options = options.declare("nn.attend", {
  scale = { "number", none, "of q · k; default: 1 / sqrt(D)" },
  soft_cap = { "number", none, "a score becomes soft_cap · tanh(score / soft_cap); default: it stays" },
  score_bias = { "scores", none, "added to the scores: a tensor that fits [batch…, H, T, S], or a function of positions i32 [T], [S] that gives one" },
  causal = { "boolean", false, "whether query t sees only keys up to offset + t" },
  window = { "integer", 0, "number of keys that a query sees, back from the one at offset + t; 0: all" },
  windowed = { "tensor", none, "bool []: whether the window holds, such as in some layers of nn.stack; default: it does" },
  offset = { "tensor", none, "i32 []: position of query 0 among the keys; default: 0" },
  lengths = { "tensor", none, "i32 [batch…]: number of keys" },
  segments = { "tensor", none, "i32 [batch…, T]: a query sees the keys of its own segment" },
  memory_segments = { "tensor", none, "i32 [batch…, S], of the keys; default: segments" },
  turns = { "tensor", none, "[T, D] or [batch…, T, D]: q and k are rotated by them (rotary positions, nn.turns)" },
  memory_turns = { "tensor", none, "of the keys; default: turns" },
  context = { "integer", none, "positions that decode remembers; default: seq" },
  dropout = { "number", 0, "on the probabilities" },
  probabilities = { "boolean", false, "whether they are returned as well" },
})

local function check_attend(name, o)
  if o.dropout < 0 or o.dropout >= 1 then fail("%s: dropout must be a probability below 1, found %s", name, core.text(o.dropout)) end
  if o.window < 0 then fail("%s: window must be at least 1, or 0 for none, found %d", name, o.window) end
  if o.windowed and (o.windowed.dtype ~= "bool" or o.windowed.rank ~= 0) then
    fail("%s: windowed must be one bool, found %s", name, core.text(o.windowed))
  end
  if o.windowed and (o.window == 0 or o.offset) then fail("%s: windowed says whether a window holds: give a window, and no offset", name) end
  if o.context and o.context < 1 then fail("%s: context must be at least 1, found %d", name, o.context) end
  if o.memory_turns and not o.turns then fail("%s: memory_turns, for the keys, needs turns for the queries as well", name) end
  if o.soft_cap and not (o.soft_cap > 0 and o.soft_cap < math.huge) then
    fail("%s: soft_cap must be above 0, found %s", name, core.text(o.soft_cap))
  end
end

-- Why decode cannot compute this attention; nil: it can.
local function obstacle(o, packed, given)
  if not o.causal then return "without causal = true looks at later tokens" end
  if o.segments and not packed then return "with segments looks at the document of each token" end
  if o.offset then return "with an offset looks at other tokens than its own and earlier ones" end
  if given and nn.is_tensor(o.score_bias) and given:size(-1) > 1 then
    return "has a score_bias tensor with one number per key (give a function of the positions of queries and keys instead)"
  end
end

-- Whether x has one element per position along its axis, which is not the time axis.
local function stands_still(x, axis) return x and x:size(axis) > 1 and core.time_axis(x) ~= x.rank + axis end

-- f(positions of queries i32 [T], of keys i32 [S]), a tensor […, T, S].  Where rows have positions of their own, f is given
-- those of all rows, and the result is [batch…, …, T, S], with T = 1.
local function of_pairs(f, q, S, timed)
  local axis, keys = q.rank - 3, core.with_time(nn.iota(S), nil)
  if not (timed and core.apart()) then return f(positions(q, axis, timed), keys) end
  local rows, extents = core.position(q, axis), {}
  for a = 0, axis - 1 do extents[a + 1] = q:size(a) end
  local count = 1
  for _, n in ipairs(extents) do count = count * n end
  local y = f(core.with_time(rows:reshape { count }, nil), keys)
  if not nn.is_tensor(y) or y.rank < 2 or y.rank > 3 then return y end
  extents[axis + 1] = y.rank == 3 and y:size(0) or 1
  extents[axis + 2], extents[axis + 3] = 1, y:size(-1)
  if y.rank == 3 then y = y:transpose(0, 1) end
  return y:reshape(extents)
end

-- The score_bias as a tensor, or nil.
local function bias_of(name, o, q, S, timed)
  local b = o.score_bias
  if not b or nn.is_tensor(b) then return b end
  b = of_pairs(b, q, S, timed)
  if not nn.is_tensor(b) then fail("%s: score_bias must return a tensor [heads, queries, keys], found %s", name, core.text(b)) end
  return b
end

-- The bias, and -∞ for keys before the window where that holds.  A window of all queries has a kernel of its own.
local function window_bias(o, bias, q, S, timed)
  if not o.windowed then return bias end
  local function hides(queries, keys)
    return nn.where(nn.land(o.windowed, nn.le(o.window, queries:unsqueeze(-1) - keys)), -math.huge, 0)
  end
  local hidden = of_pairs(hides, q, S, timed)
  return bias and bias + hidden or hidden
end

-- nn.attend, called by `name`.
local function attend(name, q, k, v, o)
  check_attend(name, o)
  local axis = q.rank - 3
  local timed = core.over_time(is_time(q, axis))                        -- queries are tokens
  local over_time = core.over_time(is_time(q, axis) and is_time(k, axis) and is_time(v, axis))    -- and keys too
  local packed = over_time and core.packed(o.segments) and (not o.memory_segments or core.packed(o.memory_segments))
  local turns, offset, S = o.turns, o.offset, k:size(-3)
  local memory_turns = o.memory_turns or turns
  if core.decoding() then
    core.time_aware(true)
    if over_time then
      local context = o.context or core.sequence()
      if turns then q, k, turns, memory_turns = turned(q, turns), turned(k, memory_turns), nil, nil end
      k, v, S = remembered("keys", k, context), remembered("values", v, context), context
    end
    if timed and (o.causal or o.window > 0) then
      local at = core.position(q, axis)
      offset = offset and offset + at or at
    end
    core.time_aware(false)
  end
  local bias = window_bias(o, bias_of(name, o, q, S, timed), q, S, timed)
  local results = table.pack(core.attend(q, k, v, {
    name = name, follows = over_time, scale = o.scale or 1 / math.sqrt(q:size(-1)), soft_cap = o.soft_cap, bias = bias,
    causal = o.causal, window = o.windowed and 0 or o.window, offset = offset, lengths = o.lengths,
    segments = not (packed and core.decoding()) and o.segments or nil,          -- decode is inside one document
    memory_segments = not (packed and core.decoding()) and o.memory_segments or nil,
    turns = turns, memory_turns = memory_turns, dropout = o.dropout, probabilities = o.probabilities,
  }))
  local why = over_time and obstacle(o, packed, bias)
  if timed and (stands_still(o.turns, -2) or bias and bias.rank > 1 and stands_still(bias, -2)) or over_time and stands_still(o.memory_turns, -2) then
    why = why or "has turns or a score_bias not computed from nn.positions"
  end
  for i = 1, why and results.n or 0 do results[i] = core.mixing(results[i], name .. " " .. why) end
  return table.unpack(results, 1, results.n)
end

-- softmax(scale · q · k) · v for each head, as one operation: q [batch…, T, H, D], k [batch…, S, G, D], v [batch…, S, G, E]
-- ->  [batch…, T, H, E], log of the sum of exp [batch…, H, T], and if asked for the probabilities [batch…, H, T, S] before
-- and after dropout.  H / G queries share a key.  A query that sees no key gives zeros.
function nn.attend(q, k, v, given)
  local o = attend_options(given)
  if not (nn.is_tensor(q) and nn.is_tensor(k) and nn.is_tensor(v)) then
    fail("nn.attend(q, k, v): all three must be tensors, found %s, %s, %s", core.text(q), core.text(k), core.text(v))
  end
  return attend("nn.attend", q, k, v, o)
end

local function check_heads(o, x)
  local width = x:size(-1)
  if x.rank ~= 3 then fail("nn.attention needs [batch, time, width], found %s", core.shape_text(x)) end
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

local function rotary_width(o, dim)
  local width = o.rotary_width or dim
  if width < 2 or width > dim or width % 2 ~= 0 then
    fail("nn.attention: rotary_width must be even, from 2 to the width of a head, %d, found %d", dim, width)
  end
  return width
end

-- The names of the projections, given or default: { qkv, out } or { q, k, v, out }.
local function names_of(o, fused)
  local names = o.names or (fused and { "qkv", "out" } or { "q", "k", "v", "out" })
  if #names ~= (fused and 2 or 4) then
    fail("nn.attention: names must be %s, found %d", fused and "two, of qkv and out" or "four, of q, k, v and out", #names)
  end
  return names
end

local norms = {
  rmsnorm = function(y, name) return nn.rmsnorm(y, { name = name }) end,
  layernorm = function(y, name) return nn.layernorm(y, { name = name }) end,
  rmsnorm_wide = function(y, name)                                      -- over all heads at once
    local flat = y:reshape { y:size(0), y:size(1), y:size(2) * y:size(3) }
    return nn.rmsnorm(flat, { name = name }):reshape { y:size(0), y:size(1), y:size(2), y:size(3) }
  end,
}

-- q and k [B, T, heads, D] after qk_norm, with parameters q_norm.… and k_norm.…
local function normed(o, q, k)
  local f = o.qk_norm
  if not f then return q, k end
  if type(f) == "string" then
    f = norms[f]
    if not f then
      fail("nn.attention: there is no qk_norm '%s'%s", o.qk_norm, core.advice(o.qk_norm, options.sorted(norms)))
    end
  end
  local function apply(y, name)
    local z = f(y, name)
    local same = nn.is_tensor(z) and z.rank == y.rank
    for axis = 0, same and y.rank - 1 or -1 do same = same and z:size(axis) == y:size(axis) end
    if not same then
      fail("nn.attention: qk_norm(y, name) must return a tensor shaped like y, %s, found %s", core.shape_text(y), core.text(z))
    end
    return z
  end
  return apply(q, "q_norm"), apply(k, "k_norm")
end

-- A fused projection [B, T, …] of which each group has its queries, its key and its value side by side.
local function parted_by_group(qkv, heads, groups, dim)
  local B, T, each = qkv:size(0), qkv:size(1), heads // groups
  local all = qkv:reshape { B, T, groups, each + 2, dim }
  return all:slice(-2, 0, each):reshape { B, T, heads, dim }, all:select(-2, each), all:select(-2, each + 1)
end

-- Queries from x, keys and values from memory (or x), with one weight for all three or one each.
local function project(o, names, x, memory, dim, groups)
  local bias = o.qkv_bias
  if bias == nil then bias = o.bias end
  local function linear(y, name, out)
    return nn.linear(y, { name = name, out = out, bias = bias, layout = o.layout, init = o.init })
  end
  local q, k, v
  if #names == 4 then
    q = linear(x, names[1], o.heads * dim)
    k, v = linear(memory or x, names[2], groups * dim), linear(memory or x, names[3], groups * dim)
  else
    local qkv, mine = linear(x, names[1], (o.heads + 2 * groups) * dim), o.heads * dim
    if o.by_group then return parted_by_group(qkv, o.heads, groups, dim) end
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
  window = { "integer", 0, "number of positions that it sees, back from its own; 0: all" },
  windowed = { "tensor", none, "bool []: whether the window holds, such as in some layers of nn.stack; default: it does" },
  lengths = { "tensor", none, "i32 [batch]: number of keys" },
  segments = { "tensor", none, "i32 [batch, time]: a position sees those of its own segment (packed documents)" },
  score_bias = { "scores", none, "added to the scores: nn.alibi(heads), nn.relative_bias, or as in nn.attend" },
  soft_cap = { "number", none, "a score becomes soft_cap · tanh(score / soft_cap); default: it stays" },
  qk_norm = { "norm", false, "of q and k before rotary positions: \"rmsnorm\" or \"layernorm\" of each head, \"rmsnorm_wide\" of all heads at once, or a function of y [batch, time, heads, D] and a name" },
  dropout = { "number", 0, "on the probabilities" },
  rotary = { "number", 0, "base of rotary positions, such as 10000; 0: none" },
  rotary_width = { "integer", none, "channels of a head that they turn, the first ones; default: head_width" },
  rotary_stretch = { "function", none, "of their rates f32 [rotary_width / 2], radians per position: gives other rates and, if it likes, what cosines and sines are multiplied by" },
  scale = { "number", none, "of q · k; default: 1 / sqrt(head_width)" },
  context = { "integer", none, "positions that decode remembers; default: seq" },
  fused = { "boolean", true, "one weight for q, k, v (self-attention), in this order" },
  by_group = { "boolean", false, "of that weight: each group of heads has its q, its k and its v side by side; default: q of all, k of all, v of all" },
  bias = { "boolean", true, "whether the projections have a bias" },
  qkv_bias = { "boolean", none, "whether those of q, k, v have; default: bias" },
  out_bias = { "boolean", none, "whether the last one has; default: bias" },
  layout = { "string", "out_in", "of the weights, see nn.linear" },
  names = { "list", none, "of the projections; default: { \"qkv\", \"out\" }, or { \"q\", \"k\", \"v\", \"out\" } where not fused" },
  probabilities = { "boolean", false, "whether they are returned as well, [batch, heads, time, length], after dropout" },
  init = { "init", none, "of the weights of q, k, v" },
  out_init = { "init", none, "of the last weight; default: as init" },
}, function(_, o, x, memory)
  local dim, groups = check_heads(o, x)
  local names = names_of(o, o.fused and not memory)
  if o.by_group and #names == 4 then fail("nn.attention: by_group is of one weight for q, k and v (fused), found a weight for each") end
  if memory then
    if not nn.is_tensor(memory) or memory.rank ~= 3 or memory:size(0) ~= x:size(0) then
      fail("nn.attention: the memory must be [batch, length, width] with the batch of x\n    x       %s\n    memory  %s",
        core.shape_text(x), core.text(memory))
    end
  end
  local q, k, v = project(o, names, x, memory, dim, groups)
  q, k = normed(o, q, k)
  local turns, memory_turns
  if o.rotary > 0 then
    local width = rotary_width(o, dim)
    local function turns_of(y) return nn.turns(positions(y, 1, core.over_time(is_time(y, 1))), width, o.rotary, o.rotary_stretch) end
    turns, memory_turns = turns_of(x), memory and turns_of(memory)
    if width < dim then
      q, k, turns, memory_turns = partly_turned(q, turns), partly_turned(k, memory_turns or turns), nil, nil
    end
  end
  local heads, _, _, probabilities = attend("nn.attention", q, k, v, {
    turns = turns, memory_turns = memory_turns, scale = o.scale, soft_cap = o.soft_cap, score_bias = o.score_bias,
    causal = o.causal, window = o.window, windowed = o.windowed, lengths = o.lengths, segments = o.segments, context = o.context,
    dropout = o.dropout, probabilities = o.probabilities,
  })
  local bias = o.out_bias
  if bias == nil then bias = o.bias end
  heads = heads:reshape { x:size(0), x:size(1), o.heads * dim }
  local y = nn.linear(heads, { name = names[#names], out = x:size(-1), bias = bias, layout = o.layout, init = o.out_init or o.init })
  if not o.probabilities then return y end
  return y, probabilities
end)

local function check_memory(query, memory, seen, lengths)
  local B, S = query:size(0), nn.is_tensor(memory) and memory.rank == 3 and memory:size(1)
  if not S or memory:size(0) ~= B or query.rank ~= 2 and query.rank ~= 3 then
    fail("nn.additive_attention: the query must be [batch, width] or [batch, time, width], the memory [batch, length, width]\n    query   %s\n    memory  %s",
      core.shape_text(query), core.text(memory))
  end
  local fits = seen == nil or nn.is_tensor(seen) and seen.rank == query.rank and seen:size(0) == B and seen:size(-1) == S
  if not fits or seen and query.rank == 3 and seen:size(1) ~= query:size(1) then
    fail("nn.additive_attention: seen must be shaped like the probabilities, [%d, %s%d], found %s", B,
      query.rank == 3 and query:size(1) .. ", " or "", S, core.text(seen))
  end
  if lengths and (lengths.dtype ~= "i32" or lengths.rank ~= 1 or lengths:size(0) ~= B) then
    fail("nn.additive_attention: lengths must be i32 [batch], found %s", core.text(lengths))
  end
end

layer("additive_attention", "softmax(v · tanh(W_d · query + W_h · memory)) over the memory [B, S, M] -> its weighted sum, the probabilities (Bahdanau, Cho, Bengio 2015)", {
  width = { "integer", required, "of what tanh is applied to" },
  lengths = { "tensor", none, "i32 [batch]: length of the memory" },
  bias = { "boolean", false, "whether W_d has a bias" },
}, function(_, o, query, memory, seen)
  check_memory(query, memory, seen, o.lengths)
  local bound, apart = 1 / math.sqrt(o.width), query.rank == 3
  local added = nn.linear(query, { name = "W_d", out = o.width, bias = o.bias }):unsqueeze(-2)
  local keys = nn.linear(memory, { name = "W_h", out = o.width, bias = false })         -- inside a scan: once, before it
  added = added + (apart and keys:unsqueeze(1) or keys)                                     -- [B, (T,) S, width]
  if seen then    -- coverage: attention of earlier steps (See, Liu, Manning 2017)
    added = added + seen:unsqueeze(-1) * param("W_c", { o.width }, nn.init.uniform(-1, 1))
  end
  local scores = (nn.tanh(added) * param("v", { o.width }, nn.init.uniform(-bound, bound))):sum(-1)
  if o.lengths then
    local within = nn.lt(nn.iota(memory:size(1)), o.lengths:unsqueeze(-1))              -- [B, S]
    scores = nn.where(apart and within:unsqueeze(1) or within, scores, -1e4)
  end
  local p = nn.softmax(scores)
  return nn.dot(p, memory, { batch = { 0, 0 }, contract = { -1, 1 } }), p
end)
