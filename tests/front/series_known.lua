-- What is known ahead has all rows of the window.
return {
  config = { batch = 4, past = 6, ahead = 2 },
  inputs = { past = { "f32", "past", 3 }, future = { "f32", "ahead", 1, target = true }, known = { "f32", "ahead", 2 } },
  forward = function(c, input)
    local prediction = nn.linear(input.past:reshape { c.batch, -1 }, { out = 2 }):unsqueeze(-1)
    return nn.mse(prediction, input.future), { prediction = prediction }
  end,
  data = data.series {},
}
