-- covariates.lua: two columns forecast from them, one more known of the past, one known ahead, and what was observed.
return {
  config = { past = 12, ahead = 4, channels = 3, targets = 2, known = 1, batch = 8, width = 16, lr = 1e-2, steps = 60, masked = true },
  inputs = function(c)
    return {
      past = { "f32", "past", "channels" }, past_observed = { "f32", "past", "channels" },
      known = { "f32", c.past + c.ahead, "known" },
      future = { "f32", "ahead", "targets", target = true }, future_observed = { "f32", "ahead", "targets", target = true },
    }
  end,
  forward = function(c, input)
    local all = {}
    for i, x in ipairs { input.past, input.past_observed, input.known } do all[i] = x:reshape { c.batch, -1 } end
    local h = nn.dropout(nn.gelu(nn.linear(nn.concat(all, -1), { name = "up", out = c.width })), 0.1)
    local prediction = nn.linear(h, { name = "down", out = c.ahead * c.targets }):reshape { c.batch, c.ahead, c.targets }
    local last = input.past:select(1, c.past - 1):slice(1, 0, c.targets):unsqueeze(1)
    prediction = prediction + last:expand { c.batch, c.ahead, c.targets }
    local losses = nn.mse(prediction, input.future, { reduction = "none" })
    local loss = c.masked and nn.weighted_mean(losses, input.future_observed) or losses:mean()
    return loss, { prediction = prediction, hidden = h }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = c.lr }, steps = c.steps, eval_every = 20 } end,
  data = data.series { time = "when", series = "id", target = "a,b", past = "wind", known = "holiday", missing = "fill", val_fraction = 0.25 },
}
