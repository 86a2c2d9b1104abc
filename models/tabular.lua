-- tabular.lua: numbers, dates and categories of a table to a class or a number: residual blocks over all columns.
--
-- A category is an embedding; numbers are scaled by the data.  lathe train models/tabular.lua --data FILE.csv --set
-- target=COLUMN finds the sizes of the table, and whether the target is a class.  --set weight=COLUMN: weights of rows.

local function block(c, x)
  local h = nn.gelu(nn.linear(nn.layernorm(x, { name = "ln" }), { name = "up", out = 2 * c.width }))
  return x + nn.linear(nn.dropout(h, c.dropout), { name = "down", out = c.width })
end

-- Of the rows' losses, [batch].
local function mean(c, losses, input)
  if c.weight == "" then return losses:mean() end
  return nn.weighted_mean(losses, input.weight)
end

return {
  config = {
    target = "target", weight = "",
    numbers = 8, categories = 3, levels = 20, classes = 0,      -- of the table; classes 0: the target is a number,
    targets = 1,                                                -- or several
    embed = 8, width = 64, layers = 2, dropout = 0.1,
    batch = 64, lr = 2e-3, steps = 1000,
  },

  configs = {
    gpu = { embed = 32, width = 512, layers = 6, batch = 1024, steps = 5000 },
  },

  forward = function(c, input)
    local columns = {}
    if c.numbers > 0 then columns[1] = input.numbers end
    if c.categories > 0 then
      local each = nn.embedding(input.categories, { name = "levels", rows = c.levels, width = c.embed })
      columns[#columns + 1] = each:reshape { each:size(0), c.categories * c.embed }
    end
    local x = nn.linear(nn.concat(columns, -1), { name = "columns", out = c.width })
    x = nn.stack(c.layers, x, function(y) return block(c, y) end, { name = "layers" })
    x = nn.layernorm(x, { name = "ln" })
    if c.classes > 0 then
      local logits = nn.linear(x, { name = "head", out = c.classes })
      return mean(c, nn.cross_entropy(logits, input.targets, { reduction = "none" }), input), {
        logits = logits, accuracy = nn.accuracy(logits, input.targets),
      }
    end
    local prediction = nn.linear(x, { name = "head", out = c.targets })
    if c.targets == 1 then prediction = prediction:squeeze(-1) end
    local losses = nn.mse(prediction, input.targets, { reduction = "none" })
    if c.targets > 1 then losses = losses:mean(-1) end
    return mean(c, losses, input), { prediction = prediction }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = 0.01 }, schedule = optim.cosine { warmup = 50 },
      steps = c.steps, eval_every = 200, best = "loss",
    }
  end,

  data = function(c)
    return data.table { target = c.target, weight = c.weight ~= "" and c.weight or nil, val_fraction = 0.2 }
  end,
}
