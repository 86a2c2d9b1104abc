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

return {
  config = { batch = 4, features = 8, n = 30, kind = "chain" },
  forward = function(c, input)
    return kinds[c.kind](c, input.features * nn.param { name = "a", shape = { 8 }, init = 0.5 }):mean()
  end,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 20 },
  data = data.csv { target = "label" },
}
