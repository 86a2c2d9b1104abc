-- two_products.lua: what loops carry is a sum of two products of it, in a scan, its gradient, and layers.
local function cell(c, x)
  local up = nn.linear { name = "up", out = c.width, bias = false }
  local mix = nn.linear { name = "mix", out = c.width, layout = "in_out", bias = false }
  return (nn.scan(x, nn.zeros { c.batch, c.width }, function(now, h)
    local y = nn.tanh(up(h) + now) * nn.sigmoid(mix(h))
    return y, y
  end))
end

local function steps(c, x)
  local first = nn.linear { name = "first", out = c.width, bias = false }
  local second = nn.linear { name = "second", out = c.width, bias = false }
  return (nn.scan(nn.iota(4), x, function(_, h) return first(h) + second(nn.tanh(h)) end, { axis = 0 }))
end

return {
  config = { vocab = 9, width = 6, seq = 5, batch = 2 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    local h = steps(c, cell(c, x))
    h = nn.stack(3, h, function(y) return nn.linear(nn.tanh(y), { name = "up", out = c.width, bias = false }) end, { name = "layers" })
    local logits = nn.linear(h, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets:slice(1, 0, 1):squeeze(1)), { logits = logits }
  end,
  train = function() return { optimizer = optim.sgd { lr = 1e-2 }, steps = 10 } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
