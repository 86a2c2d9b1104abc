-- exact_conv.lua: convolutions of each kind, by squares, by pairs, with strides and each channel alone, with dropout.
return {
  config = { side = 8, channels = 3, classes = 5, width = 20, batch = 6, steps = 200 },
  inputs = {
    image = { "f32", "side", "side", "channels" },
    label = { "i32", below = "classes", target = true },
  },
  forward = function(c, input)
    local x = nn.conv2d(input.image, { name = "first", out = c.width, kernel = 3, padding = 1 })
    x = nn.relu(nn.batchnorm(x, { name = "bn" }))
    x = nn.gelu(nn.conv2d(x, { name = "squares", out = c.width, kernel = 3, padding = 1, bias = false }))
    x = nn.dropout(x, 0.2)
    x = nn.silu(nn.conv2d(x, { name = "alone", out = c.width, kernel = 3, padding = 1, groups = c.width }))
    x = nn.conv2d(x, { name = "strided", out = 2 * c.width, kernel = 2, stride = 2 })
    local h = nn.dropout(nn.tanh(x:mean { 1, 2 }), 0.1)
    local logits = nn.linear(h, { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.label), { logits = logits }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 3e-3 }, schedule = optim.cosine { warmup = 5 }, steps = c.steps } end,
  data = data.arrays {},
}
