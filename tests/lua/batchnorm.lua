-- batchnorm.lua: nn.batchnorm over two to five axes, in a stack, recomputed, applied twice, for test_batchnorm.c.
--
-- Gradients of scale and offset are sums over rows of those of what is normalised.  tests/reference/batchnorm.py has the
-- same in torch.

return {
  config = { batch = 4, high = 5, wide = 7, channels = 3, accumulate = 1 },
  inputs = {
    image = { "f32", "high", "wide", "channels" },
    by = { "f32", "high", "wide", "channels", target = true },
  },

  forward = function(c, input)
    local shape = { c.high, c.wide, c.channels }
    local image = input.image * nn.param { name = "scale", shape = shape } + nn.param { name = "offset", shape = shape }
    local y, loss = {}, 0
    y.two = nn.batchnorm(image:reshape { -1, c.high * c.wide * c.channels }, { name = "two", eps = 0.05 })
    y.three = nn.batchnorm(image:reshape { -1, c.high * c.wide, c.channels }, { name = "three", affine = false })
    y.four = nn.batchnorm(image, { name = "four", momentum = 0.25 })
    y.five = nn.batchnorm(image:reshape { -1, c.high, 1, c.wide, c.channels }, { name = "five", eps = 0.1, momentum = 1 })
    y.layers = nn.stack(2, image, function(x)
      return x + nn.tanh(nn.batchnorm(nn.linear(x, { name = "linear", out = c.channels }), { name = "norm" }))
    end, { name = "layers" })
    y.again = nn.checkpoint(function(x)
      local shared = nn.batchnorm { name = "shared" }
      return shared(nn.sin(shared(x * x)))
    end, image)
    for _, name in ipairs { "two", "three", "four", "five", "layers", "again" } do
      local part = (y[name] * input.by:reshape(y[name].shape)):mean()
      loss = loss + part + (y[name] * y[name] * nn.sin(y[name])):mean()
    end
    return loss, y
  end,

  train = function(c) return { optimizer = optim.sgd { lr = 0.1 }, steps = 3, accumulate = c.accumulate } end,
  data = data.arrays {},
}
