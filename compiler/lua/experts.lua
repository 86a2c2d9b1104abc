-- experts.lua: mixtures of experts: each token goes through a few of many gated MLPs, chosen by a router.
--
-- nn.dot_by_ids multiplies each token's rows with the weights of its experts: no token is dropped, and every size is constant.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- A weight [experts, out, in], of which checkpoints have one [out, in] for each expert
local function of_each(o, name, out, width, init)
  local bound = 1 / math.sqrt(width)
  return nn.map(o.experts, function()
    return nn.scope(name, param, "weight", { out, width }, init or nn.init.uniform(-bound, bound))
  end, { name = o.names[2] })
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
  local logits = nn.linear(x, { name = names[1], out = o.experts, bias = false, init = o.init })
  local weights, ids = nn.softmax(logits):topk(o.active)
  if o.normalised then weights = weights / weights:sum { -1, keep = true } end
  local gate, up = of_each(o, names[3], o.hidden, width, o.init), of_each(o, names[4], o.hidden, width, o.init)
  local down = of_each(o, names[5], width, o.hidden, o.out_init or o.init)
  local extents = weights.shape
  extents[#extents + 1] = width
  local rows = x:unsqueeze(-2):expand(extents)                                  -- one for each of a token's experts
  local gates, ups = nn.dot_by_ids(rows, gate, ids), nn.dot_by_ids(rows, up, ids)
  local hidden = core.activate(gates, o.activation) * ups
  local results = nn.dot_by_ids(hidden, down, ids)
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
