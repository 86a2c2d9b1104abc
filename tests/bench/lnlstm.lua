-- lnlstm.lua: a recurrent layer that torch.nn lacks, for layer.py: an LSTM with layer normalisation of gates and cell
-- (Ba et al. 2016, Layer Normalization).

return {
  config = { batch = 32, time = 64, width = 64, hidden = 128 },

  inputs = { x = { "f32", "time", "width" } },

  forward = function(c, input)
    local H = c.hidden
    local over_x = nn.linear(input.x, { name = "ih", out = 4 * H, bias = false })
    local over_h = nn.linear { name = "hh", out = 4 * H, bias = false }
    local of_gates, of_cell = nn.layernorm { name = "ln_gates" }, nn.layernorm { name = "ln_cell" }
    local zero = nn.zeros { c.batch, H }
    local _, y = nn.scan(over_x, { h = zero, c = zero }, function(gates, s)
      local all = of_gates(gates + over_h(s.h))
      local i, f, o = nn.sigmoid(all:slice(1, 0, H)), nn.sigmoid(all:slice(1, H, 2 * H)), nn.sigmoid(all:slice(1, 2 * H, 3 * H))
      local cell = f * s.c + i * nn.tanh(all:slice(1, 3 * H))
      local h = o * nn.tanh(of_cell(cell))
      return { h = h, c = cell }, h
    end)
    return y:mean(), { y = y }
  end,

  data = data.arrays {},
}
