-- operations.lua: every operation as an output of its own, some over several axes or in both directions.
local outputs

-- Reals are x [batch, 6] and y, which has ties; integers are a, and b above 0; whole is x with three axes.  A text's outputs
-- need no row for each row of the batch.
local function elements(x, y, a, b)
  local p = nn.abs(x) + 0.1
  for _, f in ipairs { "neg", "abs", "sign", "exp", "expm1", "sin", "cos", "tanh", "erf", "softplus", "floor" } do outputs[f] = nn[f](x * 3) end
  for _, f in ipairs { "log", "log1p", "sqrt", "rsqrt" } do outputs[f] = nn[f](p) end
  for _, f in ipairs { "add", "sub", "mul", "div", "max", "min" } do outputs[f] = nn[f](x, y + 0.3) end
  outputs.pow = nn.pow(p, y)
  outputs.tiny = nn.concat({ nn.expm1(x * 1e-5), nn.log1p(x * 1e-5), nn.expm1(x * 50) }, 1)
  local few = nn.where(nn.lt(1, a), a, -a)
  for _, f in ipairs { "idiv", "mod", "bitand", "bitxor", "max", "min", "add" } do outputs["i_" .. f] = nn[f](few, b) end
  for _, f in ipairs { "lt", "le", "eq", "ne" } do outputs[f], outputs["i_" .. f] = nn[f](x, y), nn[f](few, b) end
  outputs.ult = nn.ult(few, b)
  local s, t = nn.lt(x, y), nn.lt(a, b)
  outputs.lnot, outputs.land, outputs.lor, outputs.bools = nn.lnot(s), nn.land(s, t), nn.lor(s, t), nn.where(s, t, nn.lnot(t))
  outputs.casts = nn.concat({ (x * 9):cast("i32"), s:cast("i32"), x:cast("bool"):cast("i32") }, 1)
  outputs.noise, outputs.bits = nn.uniform(x), nn.random_bits(x)
end

local function moves(x, a, whole)
  outputs.permute, outputs.expand = whole:permute { 2, 0, 1 }, x:sum { 1, keep = true }:expand { x:size(0), 4 }
  outputs.slice, outputs.flip = whole:slice(1, 0, 3, 2):slice(2, 1), whole:flip(1):flip(2)
  outputs.pad, outputs.i_pad, outputs.b_pad = x:pad(1, 2, 1), a:pad(0, 0, 1), nn.lt(a, 2):pad(1, 1, 0)
  outputs.sum, outputs.rmax, outputs.rmin = whole:sum(0, 2), whole:max(1), whole:min(0, 2)
  outputs.i_sum, outputs.i_max = a:sum(1), a:max(0)
  outputs.square = nn.dot(whole, whole, { batch = { { 0 }, { 0 } }, contract = { { 2 }, { 2 } } })
  outputs.outer = nn.dot(x, x, { contract = { { 0, 1 }, { 0, 1 } } })
end

local function ids(x, a, whole)
  local two = a:slice(1, 0, 2):mod(3)
  outputs.gather, outputs.gather_shared, outputs.gather_last = whole:gather(two, 1), whole:gather(two, 1, 1), whole:gather(two, 2, 1)
  outputs.scatter = nn.scatter_add(x, a:mod(5), 5, 1, 1):slice(1, 0, 5)
  outputs.scatter_rows = nn.scatter_add(x, a:select(1, 0), 7, 0)
  outputs.overwrite = whole:overwrite(nn.iota(2), whole:slice(2, 0, 2) * 2, 2)
end

local function lines(x, y, whole)
  outputs.argmax, outputs.argmin = y:argmax(1), whole:argmin(1)
  for _, f in ipairs { "cumsum", "cumprod", "cumargmax" } do outputs[f], outputs[f .. "_back"] = y[f](y, 1), whole[f](whole, 1, true) end
  outputs.argsort, outputs.falling = y:argsort(1), whole:argsort(2, true)
  outputs.largest, outputs.places = y:topk(3, 1)
end

local function layers(x, whole)
  local image = x:reshape { x:size(0), 3, 2, 1 } * nn.iota { 1, 1, 1, 4 }:cast("f32")
  outputs.convolution = nn.conv2d(image, { out = 6, kernel = { 3, 2 }, padding = { 2, 1 }, stride = { 2, 1 }, groups = 2 })
  outputs.line = nn.conv1d(whole, { out = 4, kernel = 2, dilation = 2 })
  outputs.transposed = nn.conv_transpose2d(image, { out = 2, kernel = 3, stride = 2 })
  outputs.scan = nn.stack(3, x, function(h) return nn.layernorm(nn.tanh(nn.linear(h, { out = 6 })) + h) end, { name = "block" })
  outputs.normed = nn.batchnorm(x)
end

return {
  config = { batch = 4, seq = 6, vocab = 7 },
  decode = false,
  forward = function(c, input)
    local table = nn.embedding(input.tokens, { rows = c.vocab, width = 6 })
    local x, y = table:select(1, 0) * 4, nn.floor(table:select(1, 1) * 8)
    local whole = x:reshape { c.batch, 3, 2 }
    outputs = {}
    elements(x, y, input.tokens, input.tokens + 1)
    moves(x, input.tokens, whole)
    ids(x, input.tokens, whole)
    lines(x, y, whole)
    layers(x, whole)
    return nn.cross_entropy(nn.linear(table, { out = c.vocab }), input.targets), outputs
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 10 },
  data = data.text { tokenizer = "bytes" },
}
