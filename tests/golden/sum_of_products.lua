-- sum_of_products.lua: three products add to one place, and what leads to them runs panel by panel as one group.
-- args: --all-panels --check-stages
return {
  config = { width = 16, batch = 24 },
  inputs = { one = { "f32", "width" }, two = { "f32", "width" }, three = { "f32", "width" }, want = { "f32", "width", target = true } },
  forward = function(c, input)
    local function branch(x, name)
      local low = nn.tanh(nn.linear(x, { name = name .. "_in", out = 12, bias = false }))
      return nn.linear(low, { name = name .. "_out", out = c.width, bias = false })
    end
    local y = nn.tanh(branch(input.one, "a") + branch(input.two, "b") + branch(input.three, "c"))
    return nn.mse(y, input.want)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 1 },
  data = data.arrays(),
}
