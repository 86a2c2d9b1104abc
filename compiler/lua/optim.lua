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

local adamw_options = options.declare("optim.adamw", {
  lr = { "number", 1e-3, "learning rate" },
  beta1 = { "number", 0.9, "decay of the mean of gradients" },
  beta2 = { "number", 0.999, "decay of the mean of their squares" },
  eps = { "number", 1e-8, "added to the root" },
  decay = { "number", 0, "weight decay" },
})

-- AdamW: decoupled weight decay (lr · decay · w), applied to the parameters whose decay flag is set.
function optim.adamw(given)
  local o = adamw_options(given)
  o.kind = "adamw"
  return positive("optim.adamw", o, { "lr", "beta1", "beta2", "eps", "decay" })
end

local sgd_options = options.declare("optim.sgd", {
  lr = { "number", 1e-2, "learning rate" },
  momentum = { "number", 0, "of the velocity" },
  decay = { "number", 0, "weight decay" },
})

-- SGD with optional momentum and decoupled weight decay.
function optim.sgd(given)
  local o = sgd_options(given)
  o.kind = "sgd"
  return positive("optim.sgd", o, { "lr", "momentum", "decay" })
end

local warmup = { "integer", 0, "steps over which the rate rises from 0 to lr" }
local final_lr = { "number", 0, "rate at the last step" }

local constant_options = options.declare("optim.constant", { warmup = warmup })
local linear_options = options.declare("optim.linear", { warmup = warmup, final_lr = final_lr })
local cosine_options = options.declare("optim.cosine", { warmup = warmup, final_lr = final_lr })

-- lr, after the warm-up.
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

return optim
