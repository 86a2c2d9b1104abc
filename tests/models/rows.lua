-- rows.lua: long rows: of scores, their softmax and its derivative, and of logits.
return {
  config = { features = 8, batch = 32, width = 6200, classes = 6145 },
  forward = function(c, input)
    local scores = nn.linear(input.features, { name = "scores", out = c.width, bias = false })
    local x = nn.linear(nn.softmax(scores), { name = "mix", out = 16, bias = false })
    local head = nn.linear { name = "head", out = c.classes, bias = false }
    local logits = head(x)
    return nn.linear_cross_entropy(x, input.targets, { weight = head.weight }), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
