-- optim.lua: optimizers and schedules for a description's `train` table.
local core = ...
local options = core.use("options")
local optim = {}

-- The options of a function are settings in runtime/interface/recipe.def.
local function declare(name) return options.declare(name, core.settings(name, options)) end

local function positive(name, o)
  for _, key in ipairs(options.sorted(o)) do
    if type(o[key]) == "number" and o[key] < 0 then
      core.fail(("%s: %s must not be negative, found %s"):format(name, key, o[key]))
    end
  end
  return o
end

local adamw_options, adam_options = declare("optim.adamw"), declare("optim.adam")
local lion_options, sgd_options, rmsprop_options = declare("optim.lion"), declare("optim.sgd"), declare("optim.rmsprop")

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
