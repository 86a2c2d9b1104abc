-- layer.lua: a layer for layer.py: a loop over time, dropout, two real outputs and one of ids, an input that no output reads
-- straight.

return {
  config = { batch = 3, time = 4, width = 5, hidden = 6, dropout = 0.3 },

  inputs = { x = { "f32", "time", "width" }, scale = { "f32" }, kind = { "i32", below = "hidden" } },

  forward = function(c, input)
    local h = nn.dropout(nn.lstm(input.x, { name = "lstm", hidden = c.hidden }), c.dropout)
    local y = nn.layernorm(h, { name = "ln" })
    local kinds = nn.embedding(input.kind, { name = "kinds", rows = c.hidden, width = c.hidden })
    local z = nn.tanh((y:select(1, -1) * kinds):sum(-1)) * input.scale
    return z:mean(), { y = y, z = z, best = y:select(1, -1):argmax(-1) }
  end,

  data = data.arrays {},
}
