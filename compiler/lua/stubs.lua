-- stubs.lua: LuaCATS annotations of the language, from the op table, the bindings and the sources of this library.
--
-- core.ops: the op table's rows; core.bindings.nn and .methods: functions written in C with their signatures;
-- core.specs: options by function; core.docs: of each layer a line, and how many inputs it takes; core.source(name): the text of a library.
local core = ...
local options = core.use("options")
local out = {}

local function line(fmt, ...) out[#out + 1] = select("#", ...) > 0 and fmt:format(...) or fmt end

local types = { integer = "lathe.Integer", number = "number", boolean = "boolean", string = "string", word = "string|false", tensor = "lathe.Tensor",
  init = "number|lathe.Init", ["function"] = "function", table = "table", list = "any[]", value = "lathe.Tensor|number",
  integers = "lathe.Integer|lathe.Integer[]", numbers = "number|number[]", padding = "lathe.Integer|lathe.Integer[]|\"same\"",
  tensors = "lathe.Tensor|table", scores = "lathe.Tensor|fun(queries: lathe.Tensor, keys: lathe.Tensor): lathe.Tensor",
  norm = "string|false|fun(y: lathe.Tensor, name: string): lathe.Tensor" }

local function option_class(name, spec)
  line("---@class %s.options", name)
  for _, key in ipairs(options.sorted(spec)) do
    local row = spec[key]
    local optional = row[2] ~= options.required
    local default = optional and row[2] ~= options.none and type(row[2]) ~= "table" and (" (default: %s)"):format(tostring(row[2])) or ""
    line("---@field %s%s %s %s%s", key, optional and "?" or "", types[row[1]], row[3], default)
  end
  line("")
end

-- "axis: integer, step?: integer): lathe.Tensor" becomes annotations and a heading.
local function annotated(name, first, signature, doc)
  local params, returns = signature:match("^(.-)%):%s*(.*)$")
  local names = {}
  line("--- %s", doc)
  if first then params = first .. (params == "" and "" or ", ") .. params end
  params = params:gsub("%f[%w_.]integer%f[^%w_]", "lathe.Integer")
  local depth, part, parts = 0, "", {}
  for char in (params .. ","):gmatch(".") do
    if char:match("[{(%[]") then depth = depth + 1 elseif char:match("[})%]]") then depth = depth - 1 end
    if char == "," and depth == 0 then
      parts[#parts + 1] = part
      part = ""
    else
      part = part .. char
    end
  end
  for _, p in ipairs(parts) do
    local n, mark, t = p:match("^%s*([%w_.]+)(%??):%s*(.*)$")
    if n then
      line("---@param %s%s %s", n, mark, t)
      names[#names + 1] = n
    end
  end
  line("---@return %s", returns)
  line("function %s(%s) end", name, table.concat(names, ", "))
  line("")
end

local function map_signature(op)
  return op.arity == 1 and "" or "b: lathe.Tensor|number"
end

local function write_tensor()
  line("---A tensor of a description: known shape, no values yet.")
  line("---@class lathe.Tensor")
  line("---@field shape integer[]")
  line("---@field rank integer")
  line("---@field dtype \"f32\"|\"i32\"|\"bool\"")
  for _, operator in ipairs { "add", "sub", "mul", "div", "pow", "idiv", "mod" } do
    line("---@operator %s(lathe.Tensor|number): lathe.Tensor", operator)
  end
  line("---@operator unm: lathe.Tensor")
  line("local Tensor = {}")
  line("")
  local reduced = { min = true }                            -- x:max(axis) reduces; nn.max(a, b) is element by element
  for _, op in ipairs(core.ops) do
    if op.kind == "reduce" then reduced[op.method] = true end
  end
  for _, op in ipairs(core.ops) do
    if op.kind == "map" and not reduced[op.name] then annotated("Tensor:" .. op.name, nil, map_signature(op) .. "): lathe.Tensor", op.doc) end
  end
  for _, op in ipairs(core.ops) do
    if op.kind == "reduce" then
      annotated("Tensor:" .. op.method, nil, "axis?: integer|table, ...: integer): lathe.Tensor", op.doc)
    end
  end
  annotated("Tensor:min", nil, "axis?: integer|table, ...: integer): lathe.Tensor", "smallest over axes")
  for _, r in ipairs(core.reductions) do annotated("Tensor:" .. r.name, nil, "axis?: integer|table, ...: integer): lathe.Tensor", r.doc) end
  for _, b in ipairs(core.bindings.methods) do annotated("Tensor:" .. b.name, nil, b.signature, b.doc) end
  for _, name in ipairs(core.lua_methods) do annotated("Tensor:" .. name, nil, "...: any): lathe.Tensor", "nn." .. name .. " of it") end
end

local returns = { ["nn.scope"] = "any", ["nn.checkpoint"] = "any", ["nn.training"] = "boolean", ["nn.scan"] = "any, lathe.Tensor",
  ["nn.cummax"] = "lathe.Tensor, lathe.Tensor", ["nn.cummin"] = "lathe.Tensor, lathe.Tensor", ["nn.sort"] = "lathe.Tensor, lathe.Tensor",
  ["nn.stack"] = "any, ...", ["nn.map"] = "any, ..." }

-- Functions written in Lua: documentation and parameter names come from the source.
local function write_library(name, file)
  local doc = {}
  for text in core.source(file or name):gmatch("[^\n]*") do
    local f, params = text:match("^function (" .. name .. "%.[%w_.]+)%((.-)%)")
    if not f then f, params = text:match("^(" .. name .. "%.[%w_]+) = core%."), "f, ..." end
    if f then
      for _, d in ipairs(doc) do line("--- %s", d) end
      if core.specs[f] then line("---@param given? %s.options", f) end
      line("---@return %s", returns[f] or (f:match("^nn%.init") and "lathe.Init") or (name == "nn" and "lathe.Tensor") or "table")
      line("function %s(%s) end", f, params)
      line("")
    end
    local comment = text:match("^%-%-%s?(.*)")
    if not comment then doc = {} elseif not comment:match("^%-%-%-") then doc[#doc + 1] = comment end
  end
end

local function write_layers()
  for _, name in ipairs(options.sorted(core.docs)) do
    local layer = core.docs[name]
    line("--- %s", layer.text)
    line("---@param x lathe.Tensor")
    line("---@param given? %s.options", name)
    line("---@return lathe.Tensor")
    line("---@return any")
    line("---@overload fun(given: %s.options): lathe.Layer", name)
    for n = 2, layer.inputs do
      local more = {}
      for k = 2, n do more[#more + 1] = ("x%d: lathe.Tensor?"):format(k) end
      line("---@overload fun(x: lathe.Tensor, %s, given?: %s.options): lathe.Tensor, any", table.concat(more, ", "), name)
    end
    line("function %s(x, given) end", name)
    line("")
  end
end

line("---@meta")
line("-- Made by `lathe stubs`: what a description may name, for editors that know LuaCATS.")
line("")
line("---A whole number; what is computed from sizes is a number for an editor.")
line("---@alias lathe.Integer integer|number")
line("")
line("---@class lathe.Init")
line("")
line("---A layer that is made and not applied yet; its parameters are its fields.")
line("---@class lathe.Layer")
line("---@field [string] lathe.Tensor")
line("---@overload fun(x: lathe.Tensor, ...: any): lathe.Tensor, any")
line("")
write_tensor()
for _, name in ipairs(options.sorted(core.specs)) do option_class(name, core.specs[name]) end
for _, name in ipairs { "nn", "optim", "data" } do
  line("---@class %s", name)
  line("%s = {}", name)
end
line("nn.init = {}")
line("")
for _, op in ipairs(core.ops) do
  if op.kind == "map" then annotated("nn." .. op.name, op.arity == 1 and "a: lathe.Tensor" or "a: lathe.Tensor|number", map_signature(op) .. "): lathe.Tensor", op.doc) end
  if op.kind == "reduce" then
    annotated("nn." .. op.name, "a: lathe.Tensor", "axis?: integer|table, ...: integer): lathe.Tensor", op.doc)
  end
end
for _, r in ipairs(core.reductions) do
  annotated("nn." .. r.name, "x: lathe.Tensor", "axis?: integer|table, ...: integer): lathe.Tensor", r.doc)
end
for _, b in ipairs(core.bindings.nn) do annotated("nn." .. b.name, b.first, b.signature, b.doc) end
write_layers()
for _, file in ipairs { "layer", "nn", "order", "activation", "losses", "similarity", "ctc", "einsum", "attention", "score_bias", "loop", "recurrent", "experts", "convolution" } do write_library("nn", file) end
write_library("optim")
write_library("data")
return table.concat(out, "\n")
