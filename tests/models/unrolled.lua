-- unrolled.lua: recurrences and sums written as plain loops of Lua, n times over: what passes take for them must grow with n.
local kinds = {}

function kinds.chain(c, x) for _ = 1, c.n do x = nn.sin(x) * 1.5 end return x end

function kinds.fan(c, x)
  local y = 0
  for t = 1, c.n do y = y + nn.sin(x * (t / c.n)) end
  return y
end

function kinds.outputs(c, x)          -- every state is read outside of the kernel that makes it
  local a, h, ys = nn.param { name = "b", shape = { 8 }, init = 0.5 }, nn.zeros { x:size(0), 8 }, {}
  for t = 1, c.n do
    h = nn.tanh(a * h + x * (t / c.n))
    ys[t] = h:sum(-1):unsqueeze(1)
  end
  local y = nn.concat(ys, 1)
  return y * y
end

function kinds.sums(c, x)             -- a sum of a row for every state
  local a, y = nn.param { name = "b", shape = { 8 }, init = 0.5 }, 0
  for _ = 1, c.n do
    x = nn.tanh(a * x)
    local s = x:sum(-1)
    y = y + s * s
  end
  return y
end

function kinds.phases(c, x)           -- each sum needs the one before
  for _ = 1, c.n do x = nn.tanh(x - x:mean(-1):unsqueeze(1)) end
  return x
end

function kinds.cfunc(c, x)            -- every line reads the one before four times
  return nn.cfunc("float f(float x) { " .. ("x = x * x + x * x; "):rep(c.n) .. "return x; }")(x)
end

function kinds.lstm(c, x)
  local w = nn.param { name = "w", shape = { 8, 32 }, init = 0.1 }
  local u = nn.param { name = "u", shape = { 8, 32 }, init = 0.1 }
  local h, s = nn.zeros { x:size(0), 8 }, nn.zeros { x:size(0), 8 }
  for t = 1, c.n do
    local z = nn.matmul(x * (t / c.n), w) + nn.matmul(h, u)
    local i, f, o, g = z:slice(1, 0, 8), z:slice(1, 8, 16), z:slice(1, 16, 24), z:slice(1, 24, 32)
    s = nn.sigmoid(f) * s + nn.sigmoid(i) * nn.tanh(g)
    h = nn.sigmoid(o) * nn.tanh(s)
  end
  return h * h
end

function kinds.shared(c, x)           -- each of two values reads both
  local a, b = x, nn.sin(x)
  for _ = 1, c.n do a, b = a * b + a, a * 0.5 - b end
  return a + b
end

function kinds.layers(c, x)
  for i = 1, c.n do x = x + nn.gelu(nn.linear(nn.layernorm(x, { name = "n" .. i }), { name = "l" .. i, out = 8 })) end
  return x
end

function kinds.products(c, x)
  local w, y = nn.param { name = "w", shape = { 8, 8 }, init = 0.1 }, 0
  for i = 1, c.n do y = y + nn.matmul(nn.relu(x * (i / c.n)), w) end
  return y
end

function kinds.chain_of_products(c, x)
  local w = nn.param { name = "w", shape = { 8, 8 }, init = 0.1 }
  for _ = 1, c.n do x = nn.matmul(x, w) end
  return x
end

function kinds.rows(c, x)             -- each product has a row added
  local w, b = nn.param { name = "w", shape = { 8, 8 }, init = 0.1 }, nn.param { name = "b", shape = { 8 }, init = 0.1 }
  for _ = 1, c.n do x = nn.matmul(x, w) + b end
  return x
end

function kinds.averages(c, x)         -- views of what is made of all before
  local h, ys = x, {}
  for i = 1, c.n do
    h = h * 0.9 + x * (i / c.n)
    ys[i] = h:unsqueeze(1)
  end
  return nn.concat(ys, 1)
end

function kinds.data_ids(c, x)         -- ids made of data, step by step
  local rows, i = nn.param { name = "rows", shape = { 8, 8 }, init = 0.1 }, nn.cast(x:slice(1, 0, 1):reshape { 4 }, "i32")
  for _ = 1, c.n do
    x = x + nn.gather(rows, i, 0)
    i = i * 3 + 1
  end
  return x
end

function kinds.views(c, x) for _ = 1, c.n do x = nn.sin(x:transpose(0, 1)):reshape { 4, 8 } end return x end

function kinds.parts(c, x)            -- made whole, read in parts
  for _ = 1, c.n do
    local y = nn.tanh(x * 1.5)
    x = nn.concat({ y:slice(1, 4, 8) * 0.5, y:slice(1, 0, 4) }, 1)
  end
  return x
end

function kinds.pads(c, x) for _ = 1, c.n do x = nn.tanh(x:pad(1, 1, 0):slice(1, 0, 8)) end return x end

function kinds.masks(c, x)
  local holds = nn.lt(x, 0)
  for i = 1, c.n do
    holds = nn.ne(holds, nn.lt(x, i / c.n))
    x = nn.where(holds, x * 0.5, x + 0.1)
  end
  return x
end

function kinds.ids(c, x)              -- ids known while compiling, made step by step
  local rows, i = nn.param { name = "rows", shape = { 8, 8 }, init = 0.1 }, nn.positions(x, 0)
  for _ = 1, c.n do
    x = x + nn.gather(rows, i, 0)
    i = (i * 3 + 1) % 8
  end
  return x * nn.cast(i, "f32"):unsqueeze(1)
end

function kinds.choices(c, x)          -- ids that nobody knows
  local rows, i = nn.param { name = "rows", shape = { 8, 8 }, init = 0.1 }, nn.argmax(x, 1)
  for _ = 1, c.n do i = nn.argmax(nn.gather(rows, i, 0) + x, 1) end
  return nn.gather(rows, i, 0)
end

function kinds.running_sums(c, x) for _ = 1, c.n do x = nn.cumsum(x, 1) * 0.5 end return x end

function kinds.softmax(c, x) for _ = 1, c.n do x = nn.softmax(x) + x end return x end

function kinds.checkpoints(c, x)
  for _ = 1, c.n do x = nn.checkpoint(function(y) return nn.sin(y) * y end, x) end
  return x
end

function kinds.checkpoint(c, x) return nn.checkpoint(function(y) return kinds.chain(c, y) end, x) end

function kinds.loops(c, x)
  for _ = 1, c.n do
    local _, ys = nn.scan(x, nn.zeros { 4 }, function(v, h) h = nn.tanh(v + h * 0.5) return h, h end)
    x = ys
  end
  return x
end

function kinds.body(c, x)             -- of one loop
  local _, ys = nn.scan(x, nn.zeros { 4 }, function(v, h)
    for _ = 1, c.n do h = nn.tanh(h) * 0.9 + v end
    return h, h
  end)
  return ys
end

function kinds.stack(c, x)
  return nn.stack(3, x, function(y) return kinds.layers(c, y) end, { name = "s" })
end

function kinds.attention(c, x)
  x = x:reshape { 1, 4, 8 }
  for i = 1, c.n do x = x + nn.attention(x, { name = "a" .. i, heads = 2, causal = false }) end
  return x:reshape { 4, 8 }
end

return {
  config = { batch = 4, features = 8, n = 30, kind = "chain" },
  forward = function(c, input)
    return kinds[c.kind](c, input.features * nn.param { name = "a", shape = { 8 }, init = 0.5 }):mean()
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 20 },
  data = data.csv { target = "label" },
}
