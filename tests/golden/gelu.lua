-- gelu.lua: on a GPU a product ends in gelu's tanh form and in its derivative, however they are written; not in the form with
-- erf, not where a constant is another one, and not where something else is in gelu's kernel.
-- args: --check-stages --target cuda --brief
local function mine(x) return x * (nn.tanh((x * x * 0.044715 + 1) * x * 0.7978845608028654) / 2 + 0.5) end
local function other(x) return 0.5 * x * (1 + nn.tanh(0.7978845608028654 * (x + 0.044 * x * x * x))) end

return {
  config = { layers = 2, width = 16, batch = 24, features = 16 },
  forward = function(c, input)
    local function mlp(x, name, f)
      return nn.linear(f(nn.linear(x, { name = name .. "_up", out = 32 })), { name = name .. "_down", out = c.width })
    end
    local function tanh(x) return nn.gelu(x, "tanh") end
    local x = nn.stack(c.layers, input.features, function(x)
      return x + mlp(mlp(x, "library", tanh), "mine", mine)
    end)
    x = mlp(mlp(mlp(x, "erf", nn.gelu), "other", other), "more", function(x) return tanh(x) * x end)
    local logits = nn.linear(x, { name = "head", out = 3 })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
