-- ids.lua: a table's first column, as ids of an embedding, and ids that the model computes of a parameter.  With rows as
-- many as the column has values and top = 4 all are in range.
return {
  config = { features = 2, batch = 8, rows = 10, top = 4, back = false },
  forward = function(c, input)
    local column = input.features:slice(1, 0, 1):squeeze(1)
    local ids = column:cast("i32")
    local x = nn.embedding(ids, { rows = c.rows, width = 4 })
    local chosen = (nn.param { name = "choice", shape = { 3 }, init = 0.9 } * c.top):cast("i32")
    local kept = nn.param { name = "kept", shape = { 4, 5 }, init = 0.5 }
    x = x + kept:gather(chosen, 0):mean()
    if c.back then x = x + nn.scatter_add(input.features * x:slice(1, 0, 2), ids, c.rows):mean() end
    local logits = nn.linear(x, { out = 3 })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.adamw { lr = 0.01 }, steps = 5, eval_every = 5 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
