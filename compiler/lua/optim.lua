-- optim.lua: optimizers and schedules for a description's `train` table.
local core = ...
local options = core.use("options")
local optim = {}

-- The options of a function are settings in runtime/interface/recipe.def.
local function declare(name) return options.declare(name, core.settings(name, options)) end

local function positive(name, o)
  for _, key in ipairs(options.sorted(o)) do
    if type(o[key]) == "number" and o[key] < 0 and key ~= "beta2_decay" then
      core.fail(("%s: %s must not be negative, found %s"):format(name, key, o[key]))
    end
  end
  return o
end

local adamw_options, adam_options = declare("optim.adamw"), declare("optim.adam")
local lion_options, sgd_options, rmsprop_options = declare("optim.lion"), declare("optim.sgd"), declare("optim.rmsprop")
local schedule_free_options = declare("optim.schedule_free")

-- AdamW: decoupled weight decay (lr · decay · w), applied to the parameters whose decay flag is set.
function optim.adamw(given)
  local o = adamw_options(given)
  o.kind = "adamw"
  return positive("optim.adamw", o)
end

-- Adam with coupled decay, L2: decay · w is added to the gradient.
function optim.adam(given)
  local o = adam_options(given)
  o.kind = "adam"
  return positive("optim.adam", o)
end

-- Lion: the sign of a mean of gradients (Chen et al. 2023), half the memory of AdamW.
function optim.lion(given)
  local o = lion_options(given)
  o.kind = "lion"
  return positive("optim.lion", o)
end

-- SGD with optional momentum and decoupled weight decay.
function optim.sgd(given)
  local o = sgd_options(given)
  if o.nesterov and o.momentum == 0 then core.fail("optim.sgd: nesterov needs a momentum above 0") end
  o.kind = "sgd"
  return positive("optim.sgd", o)
end

-- RMSprop (Hinton 2012), as torch.optim has it, with coupled decay: a gradient is divided by the root of a mean of squares.
function optim.rmsprop(given)
  local o = rmsprop_options(given)
  o.kind = "rmsprop"
  return positive("optim.rmsprop", o)
end

-- Schedule-free AdamW (Defazio et al. 2024; as the package schedulefree): a mean of all weights so far replaces the schedule.
-- It is what is evaluated and saved as model.  Give it a warm-up, optim.constant { warmup = 100 }.
function optim.schedule_free(given)
  local o = schedule_free_options(given)
  o.kind = "schedule_free"
  return positive("optim.schedule_free", o)
end

-- ---------------------------------------------------------------- written in Lua

local own_spec = {
  lr = { "number", options.required, "learning rate of what it updates" },
  decay = { "number", 0, "its weight decay, decoupled" },
  match = { "list", options.none, "patterns of parameter names that it updates; default: the matrices in nn.stack" },
  others = { "table", options.none, "the optimizer of all other parameters; default: optim.adamw {}" },
}

local function spec_with(more)
  for key, row in pairs(own_spec) do more[key] = more[key] or row end
  return more
end

local plain = { adamw = true, adam = true, lion = true, sgd = true, rmsprop = true }

-- The optimizer of the others, with what updates the parameters that match.
local function directed(name, o, update)
  local others = o.others or optim.adamw {}
  if not (o.lr > 0) then core.fail(("%s: lr must be above 0, found %s"):format(name, o.lr)) end
  if others.own or not plain[others.kind] then core.fail(name .. ": others must be one of optim.adamw, optim.adam, optim.lion, optim.sgd, optim.rmsprop") end
  for _, key in ipairs { "momentum", "beta1", "beta2" } do
    if o[key] and not (o[key] >= 0 and o[key] < 1) then core.fail(("%s: %s must be from 0 to below 1, found %s"):format(name, key, o[key])) end
  end
  positive(name, o)
  if o.match and #o.match == 0 then core.fail(name .. ": match must name some parameters, and is an empty list") end
  for i, pattern in ipairs(o.match or {}) do
    if type(pattern) ~= "string" then core.fail(("%s: match must be a list of patterns, but number %d is %s"):format(name, i, core.text(pattern))) end
  end
  local made = {}
  for key, value in pairs(others) do made[key] = value end
  made.lr = o.lr
  made.own = { name = name, update = update, match = o.match, decay = o.decay, others = others.lr / o.lr }
  return made
end

local own_options = options.declare("optim.own", spec_with {
  update = { "function", options.required, "function(g, w, s): the direction that a gradient g gives; lr times that is subtracted from w" },
})

-- An optimizer of your own.  update(g, w, s) is traced once for each parameter, of one layer where they are stacked; g is
-- clipped.  s.state(name, g or { shape }) gives what s.keep(name, x) left in the step before, at first zeros; s.lr and
-- s.update [] are the learning rate and the number of the update, from 1; s.out the axis of a matrix's outputs.
function optim.own(given)
  local o = own_options(given)
  return directed("optim.own", o, o.update)
end

local muon_options = options.declare("optim.muon", spec_with {
  lr = { "number", 0.02, "learning rate of the matrices" },
  momentum = { "number", 0.95, "decay of the mean of gradients" },
  nesterov = { "boolean", true, "Nesterov's momentum" },
  steps = { "integer", 5, "iterations of Newton and Schulz" },
  eps = { "number", 1e-7, "least norm that a gradient is divided by" },
  scale = { "string", "original", "\"original\": times sqrt(outputs / inputs) where that is above 1; \"adamw\": times 0.2 · sqrt(the larger), "
    .. "so that AdamW's lr and decay fit" },
})

-- The nearest matrix whose singular values are all about 1 (Jordan 2024): quintic iterations x = a x + (b A + c A²) x, of
-- A = x xᵀ, over the shorter side; all are products in the plan.
local function orthogonal(x, steps, eps)
  local a, b, c = 3.4445, -4.7750, 2.0315
  local short = x:size(0) <= x:size(1) and 0 or 1
  x = x / core.nn.max(core.nn.sqrt((x * x):sum(0, 1)), eps)
  local l = core.loop("iteration", steps)
  x = core.carry(l, x)
  local gram = core.nn.dot(x, x, { contract = { 1 - short, 1 - short } })
  local polynomial = b * gram + c * core.nn.dot(gram, gram, { contract = { 1, 0 } })
  local product = short == 0 and core.nn.dot(polynomial, x, { contract = { 1, 0 } }) or core.nn.dot(x, polynomial, { contract = { 1, 0 } })
  local next = a * x + product
  core.next(l, 0, next, "optim.muon")
  core.close(l)
  return core.result(l, 0, next)
end

local function muon_scale(o, g, s)
  local outputs, inputs = g:size(s.out), g:size(1 - s.out)
  if o.scale == "adamw" then return 0.2 * math.sqrt(math.max(outputs, inputs)) end
  return math.sqrt(math.max(1, outputs / inputs))
end

-- Muon (Jordan 2024; as torch.optim.Muon, with all digits of the type): the momentum of a matrix, made orthogonal.  Other
-- parameters, such as embeddings, heads and biases, have the optimizer `others`.
function optim.muon(given)
  local o = muon_options(given)
  if o.scale ~= "original" and o.scale ~= "adamw" then core.fail("optim.muon: scale must be \"original\" or \"adamw\", found " .. core.text(o.scale)) end
  if o.steps < 1 or o.steps > 20 then core.fail(("optim.muon: steps must be 1 to 20, found %d"):format(o.steps)) end
  return directed("optim.muon", o, function(g, w, s)
    if g.rank ~= 2 then core.fail(("optim.muon updates matrices, but %s is %s; name others: match = { … }"):format(s.name, core.shape_text(g))) end
    local m = o.momentum * s.state("momentum", g) + (1 - o.momentum) * g
    s.keep("momentum", m)
    if o.nesterov then m = o.momentum * m + (1 - o.momentum) * g end
    return muon_scale(o, g, s) * orthogonal(m, o.steps, o.eps)
  end)
end

local function mean_square(x) return (x * x):mean() end

-- The state `name` moved towards x by the share `by`, which is kept.
local function moved(s, name, x, by)
  local old = s.state(name, x)
  local new = old + by * (x - old)
  s.keep(name, new)
  return new
end

local adafactor_options = options.declare("optim.adafactor", spec_with {
  lr = { "number", 1e-2, "largest learning rate, in units of a parameter's root mean square" },
  beta2_decay = { "number", -0.8, "the means of squares forget by update ^ beta2_decay" },
  eps = { "number", 1.1920929e-7, "least root of a mean of squares" },
  least_scale = { "number", 1e-3, "least root mean square of a parameter" },
  clip = { "number", 1, "largest root mean square of an update" },
  match = { "list", { "*" }, "patterns of parameter names that it updates; default: all" },
})

-- What the means of squares of rows and columns say of each element's square: rows · columnsᵀ / mean of rows.
local function factored(s, g, by, eps)
  local squares = g * g
  local rows, columns = moved(s, "row_var", squares:mean(-1), by), moved(s, "col_var", squares:mean(-2), by)
  return rows:unsqueeze(-1) * columns:unsqueeze(-2) / core.nn.max(rows:mean(-1), eps):unsqueeze(-1):unsqueeze(-1)
end

-- Adafactor (Shazeer, Stern 2018; as torch.optim.Adafactor): means of squares of a matrix's rows and columns alone.
function optim.adafactor(given)
  local o = adafactor_options(given)
  return directed("optim.adafactor", o, function(g, w, s)
    local by = s.update ^ o.beta2_decay
    local squares = g.rank >= 2 and factored(s, g, by, o.eps) or moved(s, "variance", g * g, by)
    local update = g / core.nn.sqrt(core.nn.max(squares, o.eps * o.eps))
    local scale = core.nn.max(core.nn.sqrt(mean_square(w)), o.least_scale) * core.nn.min(1 / (s.lr * core.nn.sqrt(s.update)), 1)
    return scale * update / core.nn.max(core.nn.sqrt(mean_square(update)) / o.clip, 1)
  end)
end

local lamb_options = options.declare("optim.lamb", spec_with {
  lr = { "number", 1e-3, "learning rate, in units of a parameter's norm" },
  beta1 = { "number", 0.9, "decay of the mean of gradients" },
  beta2 = { "number", 0.999, "decay of the mean of their squares" },
  eps = { "number", 1e-6, "added to the root" },
  match = { "list", { "*" }, "patterns of parameter names that it updates; default: all" },
})

-- LAMB (You et al. 2020, algorithm 2): Adam's step and weight decay, as long as the parameter times lr.
function optim.lamb(given)
  local o = lamb_options(given)
  local made = directed("optim.lamb", o, function(g, w, s)
    local nn = core.nn
    local mean, square = moved(s, "exp_avg", g, 1 - o.beta1), moved(s, "exp_avg_sq", g * g, 1 - o.beta2)
    local step = mean / (1 - nn.pow(o.beta1, s.update)) / (nn.sqrt(square / (1 - nn.pow(o.beta2, s.update))) + o.eps)
    if s.decays then step = step + o.decay * w end
    local own, norm = nn.sqrt((w * w):sum()), nn.sqrt((step * step):sum())
    return nn.where(nn.lt(0, own * norm), own / norm, 1) * step
  end)
  made.own.decay, made.own.decays = 0, true
  return made
end

local constant_options, linear_options, cosine_options = declare("optim.constant"), declare("optim.linear"), declare("optim.cosine")
local one_cycle_options, step_options = declare("optim.one_cycle"), declare("optim.step")
local inverse_sqrt_options = declare("optim.inverse_sqrt")

-- lr, between warm-up and cool-down.
function optim.constant(given)
  local o = constant_options(given)
  o.kind = "constant"
  return o
end

-- From lr straight down to final_lr at the last step.
function optim.linear(given)
  local o = linear_options(given)
  o.kind = "linear"
  return o
end

-- From lr down to final_lr along half a cosine.
function optim.cosine(given)
  local o = cosine_options(given)
  o.kind = "cosine"
  return o
end

-- Up to lr and down again along half cosines, momentum the other way (Smith, Topin 2018; torch's OneCycleLR).
function optim.one_cycle(given)
  local o = one_cycle_options(given)
  o.kind = "one_cycle"
  return o
end

-- lr · factor^k: k grows by one after every N steps, or at given steps.
function optim.step(given)
  local o = step_options(given)
  if (o.every > 0) == (o.at ~= nil) then core.fail("optim.step takes either every = N or at = { N, … }") end
  local last = 0
  for i, n in ipairs(o.at or {}) do
    if math.type(n) ~= "integer" or n <= last then
      core.fail(("optim.step: at must be a list of steps in ascending order, but number %d is %s"):format(i, core.text(n)))
    end
    last = n
  end
  if o.at and last == 0 then core.fail("optim.step: at must be a list of steps, { 1000, 1500 }") end
  o.kind, o.milestones, o.at = "step", o.at and table.concat(o.at, ","), nil
  return o
end

-- lr after the warm-up, then falling as 1 / √step (Vaswani et al. 2017).
function optim.inverse_sqrt(given)
  local o = inverse_sqrt_options(given)
  o.kind = "inverse_sqrt"
  return o
end

return optim
