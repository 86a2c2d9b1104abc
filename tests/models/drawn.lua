-- drawn.lua: a table of numbers as independent normal ones; `sample` draws rows like it: mean and deviation are the
-- head's weights, so that the distribution of what is drawn is known.
return {
  config = { features = 3, batch = 16, walk = 5 },
  forward = function(c, input)
    local one = nn.zeros { c.batch, 1 } + 1
    local both = nn.linear(one, { name = "both", out = 2 * c.features, bias = false })
    local mean, log = both:chunk(2, -1)
    local z = (input.features - mean) * nn.exp(-log)
    return (z * z / 2 + log):mean() + 0 * input.targets:cast("f32"):mean()
  end,
  -- x: a normal vector; walk: the sum of `walk` normal numbers, drawn in a loop; sign: of x
  sample = function(c)
    local one = nn.zeros { c.batch, 1 } + 1
    local both = nn.linear(one, { name = "both", out = 2 * c.features, bias = false })
    local mean, log = both:chunk(2, -1)
    local x = mean + nn.exp(log) * nn.normal(mean)
    local walk = nn.scan(nn.iota(c.walk), nn.zeros { c.batch }, function(_, w) return w + nn.normal(w) end, { axis = 0 })
    return { x = x, walk = walk, sign = nn.where(nn.lt(x, 0), 0, 1):cast("i32") }
  end,
  train = { optimizer = optim.adamw { lr = 0.05 }, steps = 50, samples = 2, eval_every = 25 },
  data = data.csv { target = "class", val_fraction = 0.2 },
}
