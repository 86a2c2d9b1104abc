-- options.lua: checks tables of named arguments of layers and recipes.
--
-- A specification has { type, default, meaning } for each key; the default may be `required` or `none`.
local core = ...
local M = { required = {}, none = {} }

-- Whether a table has only keys 1 … #t and those given.
local function only(t, keys)
  for key in pairs(t) do
    if not (math.type(key) == "integer" and key >= 1 and key <= #t) and not (keys and keys[key]) then return false end
  end
  return true
end

local function is_init(v)
  return type(v) == "table" and only(v, { init = true, a = true, b = true }) and type(v.a) == "number" and type(v.b) == "number"
    and (v.init == "normal" or v.init == "uniform")
end

local function list_of(v, kind)
  if type(v) ~= "table" or #v == 0 or not only(v) then return false end
  for _, element in ipairs(v) do
    if not kind(element) then return false end
  end
  return true
end

local function integer(v) return math.type(v) == "integer" end
local function number(v) return type(v) == "number" end

local checks = {
  integer = integer,
  number = number,
  integers = function(v) return integer(v) or list_of(v, integer) end,
  numbers = function(v) return number(v) or list_of(v, number) end,
  padding = function(v) return v == "same" or integer(v) or list_of(v, integer) end,
  boolean = function(v) return type(v) == "boolean" end,
  string = function(v) return type(v) == "string" end,
  word = function(v) return v == false or type(v) == "string" end,
  tensor = core.nn.is_tensor,
  value = function(v) return type(v) == "number" or core.nn.is_tensor(v) end,
  init = function(v) return type(v) == "number" or is_init(v) end,
  ["function"] = function(v) return type(v) == "function" end,
  table = function(v) return type(v) == "table" end,
  list = function(v) return type(v) == "table" and only(v) end,
  tensors = function(v) return core.nn.is_tensor(v) or type(v) == "table" end,
  scores = function(v) return core.nn.is_tensor(v) or type(v) == "function" or getmetatable(v) == "layer" end,
  norm = function(v) return v == false or type(v) == "string" or type(v) == "function" end,
}

local what = {
  integer = "an integer", number = "a number", boolean = "true or false", string = "a string", word = "a string or false", tensor = "a tensor",
  value = "a number or a tensor",
  integers = "an integer or a list of integers", numbers = "a number or a list of numbers",
  padding = "an integer, a list of integers or \"same\"",
  init = "a number or nn.init.normal(sd), nn.init.uniform(low, high)", ["function"] = "a function", table = "a table", list = "a list { …, … }",
  tensors = "a tensor or a table of tensors", scores = "a tensor, or a function of positions", norm = "a string, a function or false",
}

local function sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end
M.sorted = sorted

-- The options given for `name`, with defaults; refuses unknown, missing and ill-typed ones.
function M.check(name, given, spec)
  if given == nil then given = {} end
  if type(given) ~= "table" then
    local such = number(given) and spec.lr and "{ lr = " .. core.text(given) .. " }" or "{ key = value, … }"
    core.fail(name .. ": its options must be a table " .. such .. ", found " .. core.text(given))
  end
  local o = {}
  for _, key in ipairs(sorted(given)) do
    local row = spec[key]
    if not row then core.fail(("%s has no option '%s'%s"):format(name, key, core.advice(key, sorted(spec)))) end
    if not checks[row[1]](given[key]) then
      core.fail(("%s: option '%s' must be %s, found %s"):format(name, key, what[row[1]], core.text(given[key])))
    end
    o[key] = given[key]
  end
  for _, key in ipairs(sorted(spec)) do
    local row = spec[key]
    if o[key] == nil and row[2] == M.required then
      core.fail(("%s needs %s: %s, %s"):format(name, key, what[row[1]], row[3]))
    elseif o[key] == nil and row[2] ~= M.none then
      o[key] = row[2]
    end
  end
  return o
end

-- A function that checks options for `name`; `lathe stubs` lists them.
function M.declare(name, spec)
  core.specs[name] = spec
  return function(given) return M.check(name, given, spec) end
end

return M
