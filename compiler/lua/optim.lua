-- optim.lua: optimizers and schedules for a description's `train` table.
local core = ...
local options = core.use("options")
local required = options.required
local optim = {}

local function positive(name, o, keys)
  for _, key in ipairs(keys) do
    if o[key] < 0 then core.fail(("%s: %s must not be negative, and it is %s"):format(name, key, o[key])) end
  end
  return o
end

-- AdamW: decoupled weight decay (lr · decay · w), applied to the parameters whose decay flag is set.
function optim.adamw(given)
  local o = options.check("optim.adamw", given, {
    lr = { "number", 1e-3, "learning rate" },
    beta1 = { "number", 0.9, "decay of the mean of gradients" },
    beta2 = { "number", 0.999, "decay of the mean of their squares" },
    eps = { "number", 1e-8, "added to the root" },
    decay = { "number", 0, "weight decay" },
  })
  o.kind = "adamw"
  return positive("optim.adamw", o, { "lr", "beta1", "beta2", "eps", "decay" })
end

-- SGD with optional momentum and decoupled weight decay.
function optim.sgd(given)
  local o = options.check("optim.sgd", given, {
    lr = { "number", 1e-2, "learning rate" },
    momentum = { "number", 0, "of the velocity" },
    decay = { "number", 0, "weight decay" },
  })
  o.kind = "sgd"
  return positive("optim.sgd", o, { "lr", "momentum", "decay" })
end

local warmup = { "integer", 0, "steps over which the rate rises from 0 to lr" }

-- lr, after the warm-up.
function optim.constant(given)
  local o = options.check("optim.constant", given, { warmup = warmup })
  o.kind = "constant"
  return o
end

-- From lr straight down to final_lr at the last step.
function optim.linear(given)
  local o = options.check("optim.linear", given, { warmup = warmup, final_lr = { "number", 0, "rate at the last step" } })
  o.kind = "linear"
  return o
end

-- From lr down to final_lr along half a cosine.
function optim.cosine(given)
  local o = options.check("optim.cosine", given, { warmup = warmup, final_lr = { "number", 0, "rate at the last step" } })
  o.kind = "cosine"
  return o
end

return optim
