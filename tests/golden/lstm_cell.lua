-- lstm_cell.lua: a step of an LSTM from its gates: one kernel each way.
-- args: --check-stages --brief
return {
  config = { batch = 24, features = 40 },
  forward = function(c, input)
    local x = nn.linear(input.features, { name = "before", out = 48, bias = false })
    local h, c1 = nn.lstm_cell(x, nn.linear(input.features, { name = "state", out = 12, bias = false }))
    local y = h + c1
    local logits = nn.linear(y, { name = "after", out = 3, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
