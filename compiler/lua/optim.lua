-- optim.lua: optimizers and schedules for a description's `train` table.
local core = ...
local options = core.use("options")
local optim = {}

local function positive(name, o, keys)
  for _, key in ipairs(keys) do
    if o[key] < 0 then core.fail(("%s: %s must not be negative, and it is %s"):format(name, key, o[key])) end
  end
  return o
end

local adam = {
  lr = { "number", 1e-3, "learning rate" },
  beta1 = { "number", 0.9, "decay of the mean of gradients" },
  beta2 = { "number", 0.999, "decay of the mean of their squares" },
  eps = { "number", 1e-8, "added to the root" },
  decay = { "number", 0, "weight decay" },
}
local adamw_options, adam_options = options.declare("optim.adamw", adam), options.declare("optim.adam", adam)

-- AdamW: decoupled weight decay (lr · decay · w), applied to the parameters whose decay flag is set.
function optim.adamw(given)
  local o = adamw_options(given)
  o.kind = "adamw"
  return positive("optim.adamw", o, { "lr", "beta1", "beta2", "eps", "decay" })
end

-- Adam with coupled decay, L2: decay · w is added to the gradient.
function optim.adam(given)
  local o = adam_options(given)
  o.kind = "adam"
  return positive("optim.adam", o, { "lr", "beta1", "beta2", "eps", "decay" })
end

local lion_options = options.declare("optim.lion", {
  lr = { "number", 1e-4, "learning rate: a third to a tenth of AdamW's" },
  beta1 = { "number", 0.9, "of the mean, in the step" },
  beta2 = { "number", 0.99, "of the mean that is kept" },
  decay = { "number", 0, "weight decay, decoupled: three to ten times AdamW's" },
})

-- Lion: the sign of a mean of gradients (Chen et al. 2023), half the memory of AdamW.
function optim.lion(given)
  local o = lion_options(given)
  o.kind = "lion"
  return positive("optim.lion", o, { "lr", "beta1", "beta2", "decay" })
end

local sgd_options = options.declare("optim.sgd", {
  lr = { "number", 1e-2, "learning rate" },
  momentum = { "number", 0, "of the velocity" },
  nesterov = { "boolean", false, "Nesterov's momentum" },
  decay = { "number", 0, "weight decay" },
})

-- SGD with optional momentum and decoupled weight decay.
function optim.sgd(given)
  local o = sgd_options(given)
  if o.nesterov and o.momentum == 0 then core.fail("optim.sgd: nesterov needs a momentum above 0") end
  o.kind, o.nesterov = "sgd", o.nesterov and 1 or 0
  return positive("optim.sgd", o, { "lr", "momentum", "decay" })
end

local warmup = { "integer", 0, "steps over which the rate rises from 0 to lr" }
local final_lr = { "number", 0, "rate at the end" }
local steps = { "integer", 0, "where the schedule ends; 0: with the training" }

local constant_options = options.declare("optim.constant", { warmup = warmup, steps = steps, final_lr = final_lr,
  cooldown = { "integer", 0, "last steps, in which the rate falls to final_lr in a straight line" } })
local linear_options = options.declare("optim.linear", { warmup = warmup, steps = steps, final_lr = final_lr })
local cosine_options = options.declare("optim.cosine", { warmup = warmup, steps = steps, final_lr = final_lr })

-- lr, after the warm-up and before the cool-down.
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

local one_cycle_options = options.declare("optim.one_cycle", {
  warmup = { "integer", 0, "steps up to lr; 0: by warm_fraction" },
  warm_fraction = { "number", 0.3, "share of the steps that lead up to lr" },
  steps = steps,
  start_div = { "number", 25, "it starts from lr / start_div" },
  final_div = { "number", 1e4, "it ends at lr / start_div / final_div" },
  cycle_momentum = { "boolean", true, "momentum, or beta1, goes from high to low while the rate rises, and back" },
  low_momentum = { "number", 0.85, "momentum where the rate is highest" },
  high_momentum = { "number", 0.95, "momentum at both ends" },
})

-- Up to lr and down again along half cosines, momentum the other way (Smith, Topin 2018; torch's OneCycleLR).
function optim.one_cycle(given)
  local o = one_cycle_options(given)
  o.kind, o.cycle_momentum = "one_cycle", o.cycle_momentum and 1 or 0
  return o
end

local step_options = options.declare("optim.step", {
  warmup = warmup,
  every = { "integer", 0, "steps after which the rate is multiplied, each time" },
  at = { "list", options.none, "a list of steps at which it is, instead of every" },
  factor = { "number", 0.1, "what it is multiplied by" },
})

-- lr · factor^k: k grows by one every so many steps, or at given ones.
function optim.step(given)
  local o = step_options(given)
  if (o.every > 0) == (o.at ~= nil) then core.fail("optim.step takes either every = N or at = { N, … }") end
  local last = 0
  for i, n in ipairs(o.at or {}) do
    if math.type(n) ~= "integer" or n <= last then
      core.fail(("optim.step: at is a list of steps in ascending order, and number %d is %s"):format(i, core.text(n)))
    end
    last = n
  end
  if o.at and last == 0 then core.fail("optim.step: at is a list of steps, { 1000, 1500 }") end
  o.kind, o.milestones, o.at = "step", o.at and table.concat(o.at, ","), nil
  return o
end

local inverse_sqrt_options = options.declare("optim.inverse_sqrt", { warmup = warmup })

-- lr after the warm-up, then falling as 1 / √step (Vaswani et al. 2017).
function optim.inverse_sqrt(given)
  local o = inverse_sqrt_options(given)
  o.kind = "inverse_sqrt"
  return o
end

return optim
