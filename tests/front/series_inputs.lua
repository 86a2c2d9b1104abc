-- Series declare what their windows have.
return {
  config = { batch = 4, past = 6, ahead = 2 },

  forward = function(c, input)
    local prediction = nn.linear(input.past:reshape { c.batch, -1 }, { out = 2 }):unsqueeze(-1)
    return nn.mse(prediction, input.future), { prediction = prediction }
  end,
  data = data.series {},
}
