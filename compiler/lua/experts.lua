-- experts.lua: mixtures of experts: each token goes through a few of many gated MLPs, chosen by a router.
--
-- nn.dot_by_ids multiplies each token's rows with the weights of its experts: no token is dropped, and every size is constant.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- A weight [out, in] of each expert, and its adapter (--lora): A [rank, in], B [out, rank]
local function weights_of_one(out, width, init)
  local bound = 1 / math.sqrt(width)
  local w, o = param("weight", { out, width }, init or nn.init.uniform(-bound, bound)), core.lora("weight")
  if not o then return w end
  if o.magnitude then fail("nn.experts: adapters of experts are not decomposed; leave dora out, or choose other weights with match=…") end
  local a = param("lora_A", { o.rank, width }, nn.init.uniform(-bound, bound), nil, o.a)
  local b = param("lora_B", { out, o.rank }, 0, nil, o.b)
  core.adapted("weight", 1)
  return w, a, b, o
end

-- Rows of x times the weights that ids choose of [experts, out, in], and times their adapters: x · Wᵀ + scale · (x · Aᵀ) · Bᵀ
local function product_of_each(o, name, x, ids, out, init)
  local lora
  local w, a, b = nn.map(o.experts, function()
    local w, a, b, adapter = nn.scope(name, weights_of_one, out, x:size(-1), init)
    lora = adapter
    if lora then return w, a, b end
    return w
  end, { name = o.names[2] })
  local y = nn.dot_by_ids(x, w, ids)
  if not lora then return y end
  local low = nn.dot_by_ids(nn.dropout(x, lora.dropout), a, ids)
  return y + nn.dot_by_ids(low * lora.scale, b, ids)
end

-- Logits of the experts.  Unless match= names it, a router has no adapter: it says who learns, and PEFT's users leave it alone.
local function route(o, x)
  local bound = 1 / math.sqrt(x:size(-1))
  local w = param("weight", { o.experts, x:size(-1) }, o.init or nn.init.uniform(-bound, bound))
  return core.adapted_dot(x, nn.dot(x, w, { contract = { -1, 1 } }), w, 1, true)
end

layer("experts", "y = Σ over the chosen experts of weight · down(silu(gate(x)) · up(x)), and the router's logits [..., experts] (Shazeer et al. 2017)", {
  experts = { "integer", required, "number of experts" },
  active = { "integer", required, "how many each token goes through: those with the largest router probabilities" },
  hidden = { "integer", required, "width between, of each expert" },
  normalised = { "boolean", true, "whether the weights of a token's experts add up to 1; else they are the router's probabilities" },
  activation = { "string", "silu", "of the gate, as nn.mlp's" },
  names = { "list", { "router", "experts", "gate", "up", "down" }, "of the router, of the experts, and of what each has" },
  init = { "init", none, "of the router, gate and up" },
  out_init = { "init", none, "of down; default: as init" },
}, function(_, o, x)
  if o.experts < 1 or o.active < 1 or o.active > o.experts then
    fail("nn.experts: active must be 1 to experts = %d, found %d", o.experts, o.active)
  end
  if #o.names ~= 5 then fail("nn.experts: names must be five, of router, experts, gate, up and down, found %d", #o.names) end
  if x.rank < 2 then fail("nn.experts works on rows [..., width], found %s", core.shape_text(x)) end
  local width, names = x:size(-1), o.names
  local logits = nn.scope(names[1], route, o, x)
  local weights, ids = nn.softmax(logits):topk(o.active)
  if o.normalised then weights = weights / weights:sum { -1, keep = true } end
  local extents = weights.shape
  extents[#extents + 1] = width
  local rows = x:unsqueeze(-2):expand(extents)                                  -- one for each of a token's experts
  local gates, ups = product_of_each(o, names[3], rows, ids, o.hidden, o.init), product_of_each(o, names[4], rows, ids, o.hidden, o.init)
  local hidden = core.activate(gates, o.activation) * ups
  local results = product_of_each(o, names[5], hidden, ids, width, o.out_init or o.init)
  return (results * weights:unsqueeze(-1)):sum(-2), logits
end)

-- experts · Σ over experts of the share of tokens that choose it, counted once for each of `active` · its mean probability: `active`
-- where all are equal (Fedus, Zoph, Shazeer 2021, equations 4 to 6).  logits: of routers [..., experts], as nn.experts returns them.
function nn.balance_loss(logits, active)
  if not (nn.is_tensor(logits) and logits.dtype == "f32" and logits.rank > 1) then
    fail("nn.balance_loss(logits, active): logits must be real [..., experts], found %s", core.text(logits))
  end
  local experts = logits:size(-1)
  if math.type(active) ~= "integer" or active < 1 or active > experts then
    fail("nn.balance_loss(logits, active): active must be 1 to %d, the number of experts, found %s", experts, core.text(active))
  end
  local before = {}
  for axis = 0, logits.rank - 2 do before[#before + 1] = axis end
  local p = nn.softmax(logits)
  local _, ids = p:topk(active)
  local chosen = nn.eq(ids:unsqueeze(-1), nn.iota(experts)):cast("f32"):sum(-2)
  return (chosen:mean(table.unpack(before)) * p:mean(table.unpack(before))):sum() * experts
end
