-- everywhere.lua: what has arithmetic of its own: convolutions by squares, by pairs, with strides and each channel alone;
-- attention; products; dropout.
return {
  config = { side = 8, channels = 3, classes = 5, width = 20, batch = 6, steps = 200 },
  configs = { small = { side = 4, batch = 2, steps = 10 } },
  inputs = {
    image = { "f32", "side", "side", "channels" },
    label = { "i32", below = "classes", target = true },
  },
  forward = function(c, input)
    local x = nn.conv2d(input.image, { name = "first", out = c.width, kernel = { 1, 3 }, padding = { 0, 1 } })
    x = nn.relu(nn.batchnorm(x, { name = "bn" }))
    x = nn.gelu(nn.conv2d(x, { name = "squares", out = c.width, kernel = 3, padding = 1, bias = false }))
    x = nn.dropout(x, 0.2)
    x = nn.silu(nn.conv2d(x, { name = "alone", out = c.width, kernel = 3, padding = 1, groups = c.width }))
    x = nn.conv2d(x, { name = "strided", out = c.width, kernel = 2, stride = 2 })
    x = x:reshape { c.batch, c.side * c.side // 4, c.width }
    x = x + nn.attention(nn.layernorm(x, { name = "ln" }), { name = "attn", heads = 2, causal = true, dropout = 0.1 })
    local logits = nn.linear(nn.tanh(x:mean(1)), { name = "head", out = c.classes })
    return nn.cross_entropy(logits, input.label), { logits = logits }
  end,
  train = function(c)
    return { optimizer = optim.adamw { lr = 3e-3 }, schedule = optim.cosine { warmup = 5 }, steps = c.steps }
  end,
  data = data.arrays {},
}
