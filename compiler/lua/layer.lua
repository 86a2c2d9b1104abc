-- layer.lua: making layers: scopes, parameters, options; nn.lua shows their use.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none

local function fail(fmt, ...) core.fail(fmt:format(...)) end

nn.init = {}
-- Drawn from a normal distribution; mean: 0 by default.
function nn.init.normal(sd, mean) return { init = "normal", a = sd, b = mean or 0 } end
-- Drawn uniformly from low … high.
function nn.init.uniform(low, high) return { init = "uniform", a = low, b = high } end

-- A parameter in the current scope.  init: a number, nn.init.normal(sd) or nn.init.uniform(low, high); zero: a row that stays
-- zero, whatever is drawn or loaded.
local function param(name, shape, init, decay, export, zero)
  if init == 0 then return core.param(name, shape, "zeros", nil, nil, decay, export, zero) end
  if init == 1 then return core.param(name, shape, "ones", nil, nil, decay, export, zero) end
  if type(init) == "number" then return core.param(name, shape, "constant", init, nil, decay, export, zero) end
  return core.param(name, shape, init.init, init.a, init.b, decay, export, zero)
end

local param_options = options.declare("nn.param", {
  name = { "string", required, "its name in the scope" },
  shape = { "list", required, "extents" },
  init = { "init", 0, "values before training" },
  decay = { "boolean", none, "whether weight decay applies; default: from two axes on" },
  export = { "string", none, "name in checkpoints, with %d for each nn.stack around it" },
})

-- A learned tensor.
function nn.param(given)
  local o = param_options(given)
  return param(o.name, o.shape, o.init, o.decay, o.export)
end

-- Runs f inside a part of the layer path: its parameters are called name.…
function nn.scope(name, f, ...)
  core.enter(name)
  local results = table.pack(f(...))
  core.gives(results[1])
  core.leave()
  return table.unpack(results, 1, results.n)
end

local Layer = {}                -- metatable of layers that are made but not applied
local docs = core.docs          -- for `lathe stubs`

-- The scope in which a layer was made names its parameters, wherever it is applied.
local function settle(self)
  if self.trace == core.trace_number() then return end
  self.trace, self.applied = core.trace_number(), false
  self.path, self.export, self.copies = core.module(self.kind, self.options.name)
  self.export = self.options.export or self.export
end

-- "nn.linear(x, { out = 10 })": how a layer is written, with the options that it needs; n: what was given for a single one.
local function call_text(kind, n)
  local spec, needed = core.specs["nn." .. kind], {}
  for _, key in ipairs(options.sorted(spec)) do
    if spec[key][2] == required then needed[#needed + 1] = key end
  end
  if #needed == 0 and spec.out then needed[1] = "out" end
  local value = #needed == 1 and math.type(n) == "integer" and tostring(n) or "N"
  return ("nn.%s(x, { %s })"):format(kind, #needed == 0 and "…" or table.concat(needed, " = N, ") .. " = " .. value)
end

local function apply(self, x, ...)
  local most, n = core.parameters(self.body) - 2, select("#", ...) + 1        -- without self and options
  if most > 0 and n > most and select(most, ...) ~= nil then fail("nn.%s takes %d tensor%s and options, found %d arguments", self.kind, most, most == 1 and "" or "s", n) end
  if not nn.is_tensor(x) then fail("nn.%s takes a tensor, found %s; its options are a table: %s", self.kind, core.text(x), call_text(self.kind, x)) end
  settle(self)
  core.enter_module(self.path, self.export, self.copies, self.applied)
  self.applied = true
  local results = table.pack(self.body(self, self.options, x, ...))
  core.gives(results[1])
  core.leave()
  return table.unpack(results, 1, results.n)
end

Layer.__call = core.wrap(apply, "layer")
Layer.__metatable = "layer"
function Layer.__index(self, key)
  fail("this nn.%s has no '%s'%s", rawget(self, "kind"), tostring(key),
    rawget(self, "applied") and "" or " (it has parameters once it is applied)")
end

local function layer(kind, doc, spec, body)
  spec.name = { "string", none, "part of the layer path; default: " .. kind }
  spec.export = { "string", none, "beginning of its names in checkpoints, with %d for each nn.stack around it" }
  docs["nn." .. kind] = { text = doc, inputs = core.parameters(body) - 2 } -- without self and options
  local checked = options.declare("nn." .. kind, spec)
  local function make(given)
    local self = { kind = kind, options = checked(given), body = body, trace = 0, applied = false }
    if core.trace_number() > 0 then settle(self) end
    return setmetatable(self, Layer)
  end
  nn[kind] = function(...)
    local n = select("#", ...)
    local last = n > 0 and (select(n, ...)) or nil
    if n > 0 and type(last) == "table" and getmetatable(last) ~= "layer" then
      if n == 1 then return make(last) end
      local args = table.pack(...)
      return apply(make(last), table.unpack(args, 1, n - 1))
    end
    if n == 0 then return make {} end
    if n > 1 and last ~= nil and not nn.is_tensor(last) and getmetatable(last) ~= "layer" then
      local more = type((...)) == "number" and "; the width of x is known" or ""
      fail("nn.%s: its options must be a table, %s, found %s%s", kind, call_text(kind, last), core.text(last), more)
    end
    return apply(make {}, ...)
  end
end

return { layer = layer, param = param, fail = fail }
