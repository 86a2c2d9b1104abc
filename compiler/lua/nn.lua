-- nn.lua: layers, written over the primitives of the op table.
--
-- A layer is used in one of two ways:
--
--   y = nn.linear(x, { out = 128 })          made and applied at once
--   local up = nn.linear { out = 128 }       made; up(x) applies it, and applying it again shares its parameters
--
-- Axes count from 0; negative ones count from the end.  [B, T, C] is batch, time, width.
local core = ...
local nn = core.nn              -- bindings of the op table: nn.exp, nn.where, nn.dot, … (front_tensor.c, front_move.c)
local options = core.use("options")
local required, none = options.required, options.none

local function fail(fmt, ...) core.fail(fmt:format(...)) end

-- ------------------------------------------------------------------ parameters and layers

nn.init = {}
-- Drawn from a normal distribution of mean 0.
function nn.init.normal(sd) return { init = "normal", a = sd } end
-- Drawn evenly from low … high.
function nn.init.uniform(low, high) return { init = "uniform", a = low, b = high } end

-- A parameter named inside the current scope.  init: a number, nn.init.normal(sd) or nn.init.uniform(low, high).
local function param(name, shape, init, decay, export)
  if init == 0 then return core.param(name, shape, "zeros", nil, nil, decay, export) end
  if init == 1 then return core.param(name, shape, "ones", nil, nil, decay, export) end
  if type(init) == "number" then return core.param(name, shape, "constant", init, nil, decay, export) end
  return core.param(name, shape, init.init, init.a, init.b, decay, export)
end

local param_options = options.declare("nn.param", {
  name = { "string", required, "its name in the scope" },
  shape = { "table", required, "extents" },
  init = { "init", 0, "values before training" },
  decay = { "boolean", none, "whether weight decay applies; default: from two axes on" },
  export = { "string", none, "name in checkpoints, with %d for each nn.stack around it" },
})

-- A learned tensor.
function nn.param(given)
  local o = param_options(given)
  return param(o.name, o.shape, o.init, o.decay, o.export)
end

-- Runs f inside a part of the layer path: parameters made there are called name.…
function nn.scope(name, f, ...)
  core.enter(name)
  local results = table.pack(f(...))
  core.leave()
  return table.unpack(results, 1, results.n)
end

local Layer = {}                -- metatable of layers that are made but not applied
local docs = core.docs          -- for `lathe stubs`

-- The scope in which a layer was made names its parameters, wherever it is applied.
local function settle(self)
  if self.trace == core.trace_number() then return end
  self.trace, self.applied = core.trace_number(), false
  self.path, self.export, self.copies = core.module(self.kind, self.options.name)
  self.export = self.options.export or self.export
end

local function apply(self, x, ...)
  if not nn.is_tensor(x) then fail("nn.%s is applied to a tensor, and this is %s", self.kind, core.text(x)) end
  settle(self)
  core.enter_module(self.path, self.export, self.copies, self.applied)
  self.applied = true
  local results = table.pack(self.body(self, self.options, x, ...))
  core.leave()
  return table.unpack(results, 1, results.n)
end

Layer.__call = core.wrap(apply, "layer")
Layer.__metatable = "layer"
function Layer.__index(self, key)
  fail("this nn.%s has no '%s'%s", rawget(self, "kind"), tostring(key),
    rawget(self, "applied") and "" or " (it has parameters once it is applied)")
end

local function layer(kind, doc, spec, body)
  spec.name = { "string", none, "part of the layer path; default: " .. kind }
  spec.export = { "string", none, "beginning of its names in checkpoints, with %d for each nn.stack around it" }
  docs["nn." .. kind] = doc
  local checked = options.declare("nn." .. kind, spec)
  local function make(given)
    local self = { kind = kind, options = checked(given), body = body, trace = 0, applied = false }
    if core.trace_number() > 0 then settle(self) end
    return setmetatable(self, Layer)
  end
  nn[kind] = function(...)
    local n = select("#", ...)
    local last = n > 0 and (select(n, ...)) or nil
    if n > 0 and type(last) == "table" and getmetatable(last) ~= "layer" then
      if n == 1 then return make(last) end
      local args = table.pack(...)
      return apply(make(last), table.unpack(args, 1, n - 1))
    end
    if n == 0 then return make {} end
    return apply(make {}, ...)
  end
end

-- ------------------------------------------------------------------ activations

-- 1 / (1 + exp(-x)); tanh keeps value and derivative finite for every x.
function nn.sigmoid(x) return 0.5 + 0.5 * nn.tanh(0.5 * x) end

-- max(x, 0)
function nn.relu(x) return nn.max(x, 0) end

-- x · sigmoid(x)
function nn.silu(x) return x * nn.sigmoid(x) end

-- kind: "erf" (exact, the default) or "tanh" (the approximation of GPT-2).
function nn.gelu(x, kind)
  if kind == "tanh" then
    return 0.5 * x * (1 + nn.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
  elseif kind == nil or kind == "erf" then
    return 0.5 * x * (1 + nn.erf(x * 0.7071067811865476))
  end
  fail("nn.gelu(x, kind): the kind is \"erf\" or \"tanh\", and this is %s", core.text(kind))
end

local activations = { relu = nn.relu, silu = nn.silu, sigmoid = nn.sigmoid, tanh = nn.tanh, gelu = nn.gelu,
  gelu_tanh = function(x) return nn.gelu(x, "tanh") end }

local function activate(x, name)
  local f = activations[name]
  if not f then fail("there is no activation '%s'%s", name, core.advice(name, options.sorted(activations))) end
  return f(x)
end

-- Any shift near the largest keeps exp in range; floor has no derivative, so none flows through the shift.
local function shift(x, axis) return nn.floor(x:max { axis, keep = true }) end

-- exp(x) / Σ exp(x) along an axis, the last by default.
function nn.softmax(x, axis)
  axis = axis or -1
  local e = nn.exp(x - shift(x, axis))
  return e / e:sum { axis, keep = true }
end

-- log Σ exp(x) along an axis, which stays with extent 1
local function log_sum_exp(x, axis)
  local m = shift(x, axis)
  return nn.log(nn.exp(x - m):sum { axis, keep = true }) + m
end

-- log(softmax(x))
function nn.log_softmax(x, axis) return x - log_sum_exp(x, axis or -1) end

-- In training each element is dropped with probability p, the others grow by 1 / (1 - p).
function nn.dropout(x, p)
  if type(p) ~= "number" or p < 0 or p >= 1 then
    fail("nn.dropout(x, p): p is a probability below 1, and this is %s", core.text(p))
  end
  if p == 0 then return x end
  if not core.training() then
    core.skip_site()
    return x
  end
  local threshold = math.floor(p * 2 ^ 32)      -- of unsigned 32-bit integers; the constant is a signed one
  if threshold >= 2 ^ 31 then threshold = threshold - 2 ^ 32 end
  local dropped = nn.ult(core.random_bits(x), threshold)
  return nn.where(dropped, 0, x * (1 / (1 - p)))
end

-- Whether the entry that is traced trains.
function nn.training() return core.training() end

-- i32 bits shaped like x: other ones for each element, sample, step and call.  nn.u01 makes uniform numbers of them.
function nn.random_bits(x) return core.random_bits(x) end

-- ------------------------------------------------------------------ linear, embedding, norms

layer("linear", "y = x · weightᵀ + bias, over the last axis", {
  out = { "integer", none, "extent of the result's last axis" },
  bias = { "boolean", true, "whether a bias is added" },
  weight = { "tensor", none, "a weight [out, in] that exists already, such as an embedding's" },
  layout = { "string", "out_in", "\"out_in\": weight [out, in] as in PyTorch; \"in_out\": [in, out] as in GPT-2" },
  init = { "init", none, "of the weight; default: uniform within 1 / sqrt(in)" },
  bias_init = { "init", 0, "of the bias" },
  decay = { "boolean", none, "whether weight decay applies to the weight; default: yes" },
}, function(self, o, x)
  if x.rank == 0 then fail("nn.linear works along the last axis, and a scalar has none") end
  if o.layout ~= "out_in" and o.layout ~= "in_out" then
    fail("nn.linear: layout is \"out_in\" or \"in_out\", and this is '%s'", o.layout)
  end
  local width, across = x:size(-1), o.layout == "out_in" and 1 or 0      -- axis of the weight along x
  local w = o.weight
  if w then
    if w.rank ~= 2 or w:size(across) ~= width then
      fail("nn.linear: the weight does not fit x\n    x       %s\n    weight  %s\n  the last axis of x, %d, must be axis %d of the weight",
        core.shape_text(x), core.shape_text(w), width, across)
    end
    if o.out and o.out ~= w:size(1 - across) then fail("nn.linear: out is %d, and the weight given has %d", o.out, w:size(1 - across)) end
  else
    if not o.out then fail("nn.linear needs out: an integer, extent of the result's last axis") end
    local bound = 1 / math.sqrt(width)
    w = param("weight", across == 1 and { o.out, width } or { width, o.out }, o.init or nn.init.uniform(-bound, bound), o.decay)
  end
  rawset(self, "weight", w)
  local y = nn.dot(x, w, { contract = { -1, across } })
  if o.bias then y = y + param("bias", { w:size(1 - across) }, o.bias_init) end
  return y
end)

layer("embedding", "rows of a table, by ids", {
  rows = { "integer", required, "number of different ids" },
  width = { "integer", required, "extent of a row" },
  init = { "init", nn.init.normal(0.02), "of the table" },
  decay = { "boolean", none, "whether weight decay applies; default: yes" },
}, function(self, o, ids)
  if ids.dtype ~= "i32" then fail("nn.embedding: ids are i32, and these are %s", ids.dtype) end
  local table = param("weight", { o.rows, o.width }, o.init, o.decay)
  rawset(self, "weight", table)
  return table:gather(ids, 0)
end)

layer("layernorm", "(x - mean) / sqrt(variance + eps) · weight + bias, over the last axis", {
  bias = { "boolean", true, "whether a bias is added" },
  eps = { "number", 1e-5, "added to the variance" },
}, function(_, o, x)
  local centred = x - x:mean { -1, keep = true }
  local variance = (centred * centred):mean { -1, keep = true }
  local y = centred * nn.rsqrt(variance + o.eps) * param("weight", { x:size(-1) }, 1)
  if o.bias then y = y + param("bias", { x:size(-1) }, 0) end
  return y
end)

layer("rmsnorm", "x / sqrt(mean of squares + eps) · weight, over the last axis", {
  eps = { "number", 1e-6, "added to the mean" },
}, function(_, o, x)
  local square = (x * x):mean { -1, keep = true }
  return x * nn.rsqrt(square + o.eps) * param("weight", { x:size(-1) }, 1)
end)

-- ------------------------------------------------------------------ feed-forward blocks

layer("mlp", "linear, activation, linear", {
  hidden = { "integer", required, "width between the two" },
  out = { "integer", none, "default: as x" },
  activation = { "string", "gelu", "gelu, gelu_tanh, relu, silu, tanh, sigmoid" },
  bias = { "boolean", true, "whether both have a bias" },
  layout = { "string", "out_in", "of both weights, see nn.linear" },
  names = { "table", { "up", "down" }, "of the two linear layers" },
  init = { "init", none, "of the first weight" },
  out_init = { "init", none, "of the second weight; default: as init" },
}, function(_, o, x)
  local h = nn.linear(x, { name = o.names[1], out = o.hidden, bias = o.bias, layout = o.layout, init = o.init })
  return nn.linear(activate(h, o.activation),
    { name = o.names[2], out = o.out or x:size(-1), bias = o.bias, layout = o.layout, init = o.out_init or o.init })
end)

layer("swiglu", "down(silu(gate(x)) · up(x))", {
  hidden = { "integer", required, "width between" },
  out = { "integer", none, "default: as x" },
  bias = { "boolean", false, "whether the three have a bias" },
  init = { "init", none, "of gate and up" },
  out_init = { "init", none, "of down; default: as init" },
}, function(_, o, x)
  local gate = nn.linear(x, { name = "gate", out = o.hidden, bias = o.bias, init = o.init })
  local up = nn.linear(x, { name = "up", out = o.hidden, bias = o.bias, init = o.init })
  return nn.linear(nn.silu(gate) * up, { name = "down", out = o.out or x:size(-1), bias = o.bias, init = o.out_init or o.init })
end)

-- ------------------------------------------------------------------ time: positions and attention

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

layer("position_embedding", "the first T rows of a learned table [context, width], for x [B, T, …]", {
  context = { "integer", required, "rows of the table" },
  width = { "integer", required, "extent of a row" },
  init = { "init", nn.init.normal(0.02), "of the table" },
  decay = { "boolean", none, "whether weight decay applies; default: yes" },
}, function(self, o, x)
  local T = x:size(1)
  if T > o.context then fail("nn.position_embedding: %d positions do not fit its context of %d", T, o.context) end
  local table, over_time = param("weight", { o.context, o.width }, o.init, o.decay), core.over_time(is_time(x, 1))
  rawset(self, "weight", table)
  if over_time and core.decoding() then return table:gather(positions(T, true), 0) end
  return core.with_time(table:slice(0, 0, T), over_time and 0 or nil)
end)

-- Rotary positions: the two halves of each head [B, T, H, D] are turned by an angle that grows with the position.
function nn.rotary(x, at, base)
  local half = x:size(-1) // 2
  if x:size(-1) % 2 ~= 0 then fail("nn.rotary: the width of a head must be even, and it is %d", x:size(-1)) end
  local rate = nn.exp(nn.iota(half):cast("f32") * (-math.log(base) / half))
  local angle = at:cast("f32"):reshape { at:size(0), 1, 1 } * rate
  local a, b = x:chunk(2, -1)
  local cos, sin = nn.cos(angle), nn.sin(angle)
  return nn.concat({ a * cos - b * sin, b * cos + a * sin }, -1)
end

-- Decode keeps earlier keys and values: [1, context, heads, D], one row written a step.
local function remembered(name, new, context)
  local state, old = core.state(name, { new:size(0), context, new:size(2), new:size(3) }, new)
  local now = old:overwrite(positions(1, true), new, 1)
  core.state_next(state, now)
  return now
end

-- Probabilities [B, G, Tq, R, Tk] of R queries for each of G keys; softmax over Tk.
local function weigh(q, k, seen, scale, dropout)
  local s = nn.dot(q, k, { batch = { { 0, 2 }, { 0, 2 } }, contract = { -1, 3 } }) * scale
  if seen then s = nn.where(seen, s, -1e30) end
  return nn.dropout(nn.softmax(s), dropout)
end

-- q [B, Tq, H, D], k and v [B, Tk, G, D]  ->  [B, Tq, H, D]; seen: bool [Tq, Tk] or nil.  H / G queries share a key.
local function attend(q, k, v, seen, scale, dropout)
  local B, T, H, D, G = q:size(0), q:size(1), q:size(2), q:size(3), k:size(2)
  if G == H then
    local p = weigh(q, k, seen, scale, dropout)                                           -- [B, H, Tq, Tk]
    return nn.dot(p, v, { batch = { { 0, 1 }, { 0, 2 } }, contract = { 3, 1 } }):permute(0, 2, 1, 3)
  end
  local p = weigh(q:reshape { B, T, G, H // G, D }, k, seen and seen:unsqueeze(1), scale, dropout)
  local y = nn.dot(p, v, { batch = { { 0, 1 }, { 0, 2 } }, contract = { 4, 1 } })         -- [B, G, Tq, R, D]
  return y:permute(0, 2, 1, 3, 4):reshape { B, T, H, D }
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

-- Queries from x, keys and values from memory (or x): one weight for all three, or one each.
local function project(o, x, memory, dim, groups)
  local function linear(y, name, out)
    return nn.linear(y, { name = name, out = out, bias = o.bias, layout = o.layout, init = o.init })
  end
  local q, k, v
  if memory or not o.fused then
    q, k, v = linear(x, "q", o.heads * dim), linear(memory or x, "k", groups * dim), linear(memory or x, "v", groups * dim)
  else
    local qkv, mine = linear(x, o.names[1], (o.heads + 2 * groups) * dim), o.heads * dim
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
  dropout = { "number", 0, "on the probabilities" },
  rotary = { "number", 0, "base of rotary positions, such as 10000; 0: none" },
  scale = { "number", none, "of q · k; default: 1 / sqrt(head_width)" },
  context = { "integer", none, "positions that decode remembers; default: seq" },
  fused = { "boolean", true, "one weight for q, k, v (self-attention)" },
  bias = { "boolean", true, "whether the projections have a bias" },
  layout = { "string", "out_in", "of the weights, see nn.linear" },
  names = { "table", { "qkv", "out" }, "of the fused projection and the last one" },
  init = { "init", none, "of the weights of q, k, v" },
  out_init = { "init", none, "of the last weight; default: as init" },
}, function(_, o, x, memory)
  local dim, groups = check_heads(o, x)
  if memory then
    if not nn.is_tensor(memory) or memory.rank ~= 3 or memory:size(0) ~= x:size(0) then
      fail("nn.attention: the memory must be [batch, length, width] with the batch of x\n    x       %s\n    memory  %s",
        core.shape_text(x), core.text(memory))
    end
  end
  local over_time = core.over_time(is_time(x, 1) and is_time(memory or x, 1))
  core.time_aware(true)
  local q, k, v = project(o, x, memory, dim, groups)
  local at_q, at_k = positions(q:size(1), over_time), positions(k:size(1), over_time)
  if o.rotary > 0 then q, k = nn.rotary(q, at_q, o.rotary), nn.rotary(k, at_k, o.rotary) end
  if over_time and core.decoding() then
    local context = o.context or core.sequence()
    k, v, at_k = remembered("keys", k, context), remembered("values", v, context), nn.iota(context)
  end
  local seen = o.causal and nn.le(at_k, at_q:unsqueeze(1)) or nil                         -- [Tq, Tk]
  local y = attend(q, k, v, seen, o.scale or 1 / math.sqrt(dim), o.dropout)
  y = y:reshape { x:size(0), x:size(1), o.heads * dim }
  core.time_aware(false)
  if over_time and not o.causal then y = core.mixing(y, "nn.attention without causal = true looks at later tokens") end
  if not over_time and memory and is_time(memory, 1) then y = core.mixing(y, "nn.attention attends to a whole sequence") end
  y = core.with_time(y, core.time_axis(x))
  return nn.linear(y, { name = o.names[2], out = x:size(-1), bias = o.bias, layout = o.layout, init = o.out_init or o.init })
end)

-- ------------------------------------------------------------------ losses and metrics

local function check_ids(name, x, ids)
  local ok = nn.is_tensor(x) and nn.is_tensor(ids) and x.dtype == "f32" and ids.dtype == "i32" and x.rank == ids.rank + 1
  for axis = 0, ok and ids.rank - 1 or -1 do ok = ok and x:size(axis) == ids:size(axis) end
  if not ok then
    fail("%s(logits, ids): logits are real [..., classes], ids i32 of the same shape without the last axis\n    logits  %s\n    ids     %s",
      name, core.text(x), core.text(ids))
  end
end

-- -log of the probability given to the right class: [...] for logits [..., classes].
local function surprise(logits, ids)
  local classes = nn.iota(logits:size(-1))
  local right = nn.where(nn.eq(classes, ids:unsqueeze(-1)), logits, 0):sum(-1)
  return log_sum_exp(logits, -1):squeeze(-1) - right
end

local cross_entropy_options = options.declare("nn.cross_entropy", { ignore = { "integer", none, "an id that does not count" } })

-- Mean over all ids of -log softmax(logits)[id].
function nn.cross_entropy(logits, ids, given)
  check_ids("nn.cross_entropy", logits, ids)
  local o = cross_entropy_options(given)
  if not o.ignore then return surprise(logits, ids):mean() end
  local counts = nn.ne(ids, o.ignore):cast("f32")
  return (surprise(logits, ids) * counts):sum() / nn.max(counts:sum(), 1)
end

-- The part of ids whose logit is the largest.
function nn.accuracy(logits, ids)
  check_ids("nn.accuracy", logits, ids)
  return nn.eq(logits:argmax(-1), ids):cast("f32"):mean()
end

-- ------------------------------------------------------------------ loops

-- Carried values are a tensor or a table of tensors (of tables …).
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
    fail("%s is a tensor or a table of tensors, and this is %s", what, core.text(value))
  end
  return list
end

-- The same structure as `like` over other tensors, taken from list in the order of flatten.
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
  if type(f) ~= "function" then fail("%s needs a function here, and this is %s", name, core.text(f)) end
end

-- Sets the next values of the carries from what the body returned.
local function set_next(l, name, begun, returned)
  if returned == nil then fail("%s: the function returns nothing; it must return the carried value", name) end
  local next = flatten(returned, {}, name .. ": what the function returns")
  if #next ~= #begun then
    fail("%s: %d tensors are carried, and the function returns %d", name, #begun, #next)
  end
  for i, v in ipairs(next) do core.next(l, i - 1, v, name) end
  return next
end

-- Closes the loop; what the body returned from the value `first` on comes back stacked, finish(ys) applied to each.
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
local stack_options, map_options = options.declare("nn.stack", scope_name), options.declare("nn.map", scope_name)

-- The same block n times, each with its own parameters: x = f(x, i).  Further results of f come back as [n, …].
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

-- n independent copies, each with its own parameters: f(i) is computed for every i, results stacked [n, …].
function nn.map(n, f, given)
  check_function("nn.map(n, f)", f)
  local o = map_options(given)
  local l = core.loop("copy", n, false, true)
  core.enter_copies("copy", o.name)
  local results = table.pack(f(core.index(l)))
  core.leave()
  return table.unpack(close(l, results, 1), 1, results.n)
end

local scan_options = options.declare("nn.scan", {
  axis = { "integer", 1, "the axis of xs that is walked" },
  reverse = { "boolean", false, "whether from the last to the first" },
  lengths = { "tensor", none, "i32 [batch]: from there on a sample keeps its state and gives zeros" },
})

local function move_axis(x, from, to)
  local order = {}
  for axis = 0, x.rank - 1 do
    if axis ~= from then order[#order + 1] = axis end
  end
  table.insert(order, to + 1, from)
  return x:permute(order)
end

-- keep [batch] against values of any rank with the batch first
local function choose(keep, new, old)
  for _ = 2, new.rank do keep = keep:unsqueeze(-1) end
  return nn.where(keep, new, old)
end

-- One step of f, samples beyond their length left as they are.
local function scan_step(f, x, h, t, lengths)
  local results = table.pack(f(x, h, t))
  if not lengths then return results end
  local keep, old = nn.lt(t, lengths), flatten(h, {}, "the state")
  local new = flatten(results[1], {}, "nn.scan: what the function returns")
  results[1] = rebuild(results[1], mapped(new, function(v, i) return choose(keep, v, old[i]) end))
  for i = 2, results.n do
    local list = flatten(results[i], {}, "nn.scan: what the function returns")
    results[i] = rebuild(results[i], mapped(list, function(v) return choose(keep, v, 0) end))
  end
  return results
end

-- decode: one step, the state kept between calls; it begins as h0 at position 0.
local function scan_decode(xs, h0, f, o)
  local at = core.position()
  local x = rebuild(xs, mapped(flatten(xs, {}, "nn.scan: xs"), function(v) return core.with_time(v, nil):squeeze(o.axis) end))
  local names, begun = {}, flatten(h0, { names = {} }, "nn.scan: the state")
  local old = mapped(begun, function(v, i)
    local name, state = core.state(begun.names[i], v.shape, v)
    names[i] = name
    return core.is_zero(v) and state or nn.where(nn.eq(at, 0), v, state)
  end)
  local results = scan_step(f, x, rebuild(h0, old), at, o.lengths)
  local next = flatten(results[1], {}, "nn.scan: what the function returns")
  if #next ~= #begun then fail("nn.scan: %d tensors are carried, and the function returns %d", #begun, #next) end
  for i, v in ipairs(next) do core.state_next(names[i], v) end
  local ys = {}
  for k = 2, results.n do
    local list = flatten(results[k], {}, "nn.scan: what the function returns")
    ys[k - 1] = rebuild(results[k], mapped(list, function(v) return core.with_time(v:unsqueeze(o.axis), o.axis) end))
  end
  return results[1], table.unpack(ys, 1, results.n - 1)
end

-- Over time: h, y = f(x, h, t) for each slice x of xs; gives the last h and the ys, stacked along the same axis.
function nn.scan(xs, h0, f, given)
  check_function("nn.scan(xs, h0, f)", f)
  local o = scan_options(given)
  local list = flatten(xs, {}, "nn.scan: xs")
  if #list == 0 then fail("nn.scan: xs holds no tensor") end
  local n, timed = nil, true
  for _, v in ipairs(list) do
    if n and v:size(o.axis) ~= n then fail("nn.scan: the xs differ along axis %d: %d and %d", o.axis, n, v:size(o.axis)) end
    n, timed = v:size(o.axis), timed and is_time(v, o.axis)
  end
  local over_time = core.over_time(timed)
  if over_time and core.decoding() then return scan_decode(xs, h0, f, o) end
  local l = core.loop("time", n, o.reverse, false)
  local begun = flatten(h0, {}, "nn.scan: the state")
  local h = mapped(begun, function(v) return core.carry(l, v) end)
  local x = mapped(list, function(v) return core.loop_x(l, move_axis(v, o.axis, 0)) end)
  local results = scan_step(f, rebuild(xs, x), rebuild(h0, h), core.index(l), o.lengths)
  local next = set_next(l, "nn.scan", begun, results[1])
  local ys = close(l, results, 2, function(v)
    v = core.with_time(move_axis(v, 0, o.axis), over_time and o.axis or nil)
    return over_time and o.reverse and core.mixing(v, "nn.scan with reverse = true looks at later tokens") or v
  end)
  local last = mapped(next, function(v, i)
    return core.mixing(core.result(l, i - 1, v), "the last state of nn.scan depends on the whole sequence")
  end)
  return rebuild(h0, last), table.unpack(ys, 1, results.n - 1)
end

-- Calls f(...); what it computes is not kept for the backward pass but computed again.
nn.checkpoint = core.checkpoint

-- ------------------------------------------------------------------ recurrent layers

-- One step: gates [B, 4H] in the order i, f, g, o; c [B, H]  ->  h, c.
function nn.lstm_cell(gates, c)
  local i, f, g, o = gates:chunk(4, -1)
  c = nn.sigmoid(f) * c + nn.sigmoid(i) * nn.tanh(g)
  return nn.sigmoid(o) * nn.tanh(c), c
end

layer("lstm", "LSTM over time, [B, T, I] -> [B, T, H]; names and layout of torch.nn.LSTM", {
  hidden = { "integer", required, "H" },
  suffix = { "string", "_l0", "of the parameters' names" },
}, function(_, o, x)
  local H, B = o.hidden, x:size(0)
  local init = nn.init.uniform(-1 / math.sqrt(H), 1 / math.sqrt(H))
  local w_ih = param("weight_ih" .. o.suffix, { 4 * H, x:size(-1) }, init)
  local w_hh = param("weight_hh" .. o.suffix, { 4 * H, H }, init)
  local b_ih, b_hh = param("bias_ih" .. o.suffix, { 4 * H }, init), param("bias_hh" .. o.suffix, { 4 * H }, init)
  local start = { h = nn.zeros { B, H }, c = nn.zeros { B, H } }
  local last, ys = nn.scan(x, start, function(xt, s)
    local gates = nn.dot(xt, w_ih, { contract = { 1, 1 } }) + b_ih + nn.dot(s.h, w_hh, { contract = { 1, 1 } }) + b_hh
    local h, c = nn.lstm_cell(gates, s.c)
    return { h = h, c = c }, h
  end)
  return ys, last
end)

-- ------------------------------------------------------------------ methods

core.lua_methods = { "softmax", "log_softmax", "relu", "gelu", "silu", "sigmoid" }
for _, name in ipairs(core.lua_methods) do
  core.methods[name] = core.wrap(nn[name], "x:" .. name)
end

return nn
