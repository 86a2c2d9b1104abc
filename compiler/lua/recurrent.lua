-- recurrent.lua: nn.rnn, nn.gru, nn.lstm: names, layouts and equations of torch.nn.RNN, GRU and LSTM (batch_first).
--
-- All three scan over time, with different cells.  Layers are unrolled, since the first has another width; each is one loop
-- over time, or two if it is bidirectional.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- One step: gates [..., 4H] in the order i, f, g, o; c [..., H]  ->  h, c.
function nn.lstm_cell(gates, c)
  local to_i, to_f, to_g, to_o = gates:chunk(4, -1)
  local f = nn.sigmoid(to_f)
  local i, g = nn.sigmoid(to_i), nn.tanh(to_g)
  local cell = f * c + i * g
  local o = nn.sigmoid(to_o)
  local hidden = o * nn.tanh(cell)
  return hidden, cell
end

-- A cell: number of gates, names of its states, a step.  x, h [..., gates · H]: contributions of input and state to the
-- gates, with biases; s: the state's tensors [..., H] by name.
local lstm = { gates = 4, state = { "h", "c" } }
function lstm.step(_, x, h, s)
  local gates = x + h
  local hidden, cell = nn.lstm_cell(gates, s.c)
  return { h = hidden, c = cell }
end

local gru = { gates = 3, state = { "h" } }      -- r, z, n; Cho et al. 2014, with the reset after the product
function gru.step(_, x, h, s)
  local xr, xz, xn = x:chunk(3, -1)
  local hr, hz, hn = h:chunk(3, -1)
  local r, z = nn.sigmoid(xr + hr), nn.sigmoid(xz + hz)
  local n = nn.tanh(xn + r * hn)
  return { h = n + z * (s.h - n) }
end

local rnn = { gates = 1, state = { "h" } }
function rnn.step(o, x, h)
  return { h = o.activation == "relu" and nn.relu(x + h) or nn.tanh(x + h) }
end

-- The contribution to the gates of tensors side by side, of total width `width`: products with weight_KIND (H rows per gate,
-- drawn from ± 1 / sqrt(H)), and bias_KIND or none, not added yet.  Each tensor has its own product, so a product that does
-- not depend on the step can be computed for all steps outside the loop.
local function gates_of(cell, o, kind, suffix, width, with_bias)
  local rows, bound = cell.gates * o.hidden, 1 / math.sqrt(o.hidden)
  local init = nn.init.uniform(-bound, bound)
  local w = param("weight_" .. kind .. suffix, { rows, width }, init)
  local b = with_bias and param("bias_" .. kind .. suffix, { rows }, init)
  return function(...)
    local y, first = nil, 0
    for _, _v in ipairs { ... } do       -- a local that begins with _ gives no title
      local beyond = first + _v:size(-1)
      local columns = beyond - first == width and w or w:slice(1, first, beyond)
      local options = { contract = { -1, 1 } }
      y, first = y and y + nn.dot(_v, columns, options) or nn.dot(_v, columns, options), beyond
    end
    return y, b
  end
end

local function biased(y, b) return b and y + b or y end

-- One direction of a layer: x [B, T, I], start [B, H] by name  ->  [B, T, H], the last state.
local function walk(cell, o, x, start, suffix, reverse)
  local over_x = gates_of(cell, o, "ih", suffix, x:size(-1), o.bias)
  local over_h = gates_of(cell, o, "hh", suffix, o.hidden, o.bias == "two")
  local last, ys = nn.scan(x, start, function(xt, s)
    local hidden = s.h
    local from_x, bias_x = over_x(xt)
    local from_hidden, bias_h = over_h(hidden)
    local new = cell.step(o, biased(from_x, bias_x), biased(from_hidden, bias_h), s)
    return new, new.h
  end, { reverse = reverse, lengths = o.lengths, carry = o.carry })
  return ys, last
end

-- The start of scan number k (layer by layer, forward before reverse).
local function begins(cell, o, x, k)
  local start = {}
  for _, name in ipairs(cell.state) do
    start[name] = o.start and o.start[name]:select(0, k) or nn.zeros { x:size(0), o.hidden }
  end
  return start
end

-- The states of all scans, [scans, B, H] by name.
local function gathered(cell, states)
  local out = {}
  for _, name in ipairs(cell.state) do
    local parts = {}
    for k, s in ipairs(states) do parts[k] = s[name]:unsqueeze(0) end
    out[name] = #parts == 1 and parts[1] or nn.concat(parts, 0)
  end
  return out
end

local function check(kind, o)
  local name = "nn." .. kind
  if o.hidden < 1 or o.layers < 1 then fail("%s: hidden and layers must be 1 or more", name) end
  if o.bias and o.bias ~= "two" and o.bias ~= "one" then
    fail("%s: bias must be \"two\", \"one\" or false, found '%s'", name, o.bias)
  end
  if o.activation and o.activation ~= "tanh" and o.activation ~= "relu" then
    fail("%s: activation must be \"tanh\" or \"relu\", found '%s'", name, o.activation)
  end
end

local function check_start(kind, cell, o, x)
  local name = "nn." .. kind
  if x.rank ~= 3 then fail("%s needs x [batch, time, width], found %s", name, core.shape_text(x)) end
  local walks = o.layers * (o.bidirectional and 2 or 1)
  local known = {}
  for _, key in ipairs(cell.state) do known[key] = true end
  for key in pairs(o.start or {}) do
    if not known[key] then fail("%s: start has no '%s'; known are %s", name, tostring(key), table.concat(cell.state, ", ")) end
  end
  for _, key in ipairs(o.start and cell.state or {}) do
    local s = o.start[key]
    if not nn.is_tensor(s) or s.rank ~= 3 or s:size(0) ~= walks or s:size(1) ~= x:size(0) or s:size(2) ~= o.hidden then
      fail("%s: start%s must be [layers%s, batch, hidden], here [%d, %d, %d], found %s", name,
        #cell.state > 1 and "." .. key or "", o.bidirectional and " * 2" or "", walks, x:size(0), o.hidden, core.text(s))
    end
  end
end

local function spec_of(more)
  local spec = {
    hidden = { "integer", required, "H" },
    layers = { "integer", 1, "number of layers" },
    dropout = { "number", 0, "between layers" },
    bias = { "word", "two", "\"two\" vectors as in PyTorch, \"one\" (bias_ih) or false" },
  }
  for key, row in pairs(more) do spec[key] = row end
  return spec
end

-- Makes nn.KIND.  For the user a state of one tensor is that tensor, a state of several a table.
local function recurrent(kind, doc, cell, more)
  local several = #cell.state > 1
  local spec = {
    bidirectional = { "boolean", false, "whether each layer also runs from the end; results side by side, [B, T, 2H]" },
    start = { several and "table" or "tensor", none, "the first state, shaped like the last; default: zeros" },
    lengths = { "tensor", none, "i32 [batch]: where samples end (reverse: begin); results past it are zero" },
    carry = { "boolean", false, "whether a batch begins with the last state of the batch before, if its text continues (else with start)" },
  }
  for key, row in pairs(more or {}) do spec[key] = row end
  layer(kind, doc .. " over time, [B, T, I] -> [B, T, H], last state [layers (* 2), B, H]; names and layout of PyTorch's",
    spec_of(spec), function(_, given, x)
      local o = setmetatable({}, { __index = given })
      o.start = given.start and (several and given.start or { [cell.state[1]] = given.start })
      check(kind, o)
      if o.carry and o.bidirectional then
        fail("nn.%s: carry = true continues where the text stopped, but bidirectional = true also begins at its end", kind)
      end
      check_start(kind, cell, o, x)
      local states = {}
      for k = 0, o.layers - 1 do
        if k > 0 then x = nn.dropout(x, o.dropout) end
        local halves = {}
        for half = 1, o.bidirectional and 2 or 1 do
          local suffix = "_l" .. k .. (half == 2 and "_reverse" or "")
          halves[half], states[#states + 1] = walk(cell, o, x, begins(cell, o, x, #states), suffix, half == 2)
        end
        x = #halves == 2 and nn.concat(halves, -1) or halves[1]
      end
      local last = gathered(cell, states)
      return x, several and last or last[cell.state[1]]
    end)
end

-- Makes nn.KIND_step: one step of all layers, with the parameters of nn.KIND, for scans whose input depends on their state.
local function recurrent_step(kind, doc, cell, more)
  local name, several = kind .. "_step", #cell.state > 1
  layer(name, doc .. " of one step: x [..., I] (and further tensors beside it) and the layers' states -> h [..., H], states",
    spec_of(more or {}), function(_, o, x, states, ...)
      check(name, o)
      local of = several and states or { [cell.state[1]] = states }
      local new, input = {}, { x, ... }
      for _, key in ipairs(cell.state) do
        if type(of) ~= "table" or type(of[key]) ~= "table" or #of[key] ~= o.layers then
          fail("nn.%s(x, states): states must be %s, a tensor [..., hidden] per layer", name,
            several and "{ h = { … }, c = { … } }" or "{ … }")
        end
        new[key] = {}
      end
      for k = 1, o.layers do
        if k > 1 then input = { nn.dropout(input[1], o.dropout) } end
        local width, s = 0, {}
        for _, v in ipairs(input) do width = width + v:size(-1) end
        for _, key in ipairs(cell.state) do s[key] = of[key][k] end
        local suffix = "_l" .. k - 1
        local hidden = s.h
        local from_x, bias_x = gates_of(cell, o, "ih", suffix, width, o.bias)(table.unpack(input))
        from_x = biased(from_x, bias_x)
        local from_hidden, bias_h = gates_of(cell, o, "hh", suffix, o.hidden, o.bias == "two")(hidden)
        s = cell.step(o, from_x, biased(from_hidden, bias_h), s)
        for _, key in ipairs(cell.state) do new[key][k] = s[key] end
        input = { s.h }
      end
      return input[1], several and new or new[cell.state[1]]
    end)
end

local activation = { activation = { "string", "tanh", "tanh or relu" } }
for _, make in ipairs { recurrent, recurrent_step } do
  make("lstm", "LSTM", lstm)
  make("gru", "GRU", gru)
  make("rnn", "Elman's network", rnn, activation)
end
