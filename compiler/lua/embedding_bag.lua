-- embedding_bag.lua: nn.embedding_bag, rows of a table taken together; nn.embedding is in nn.lua.
local core = ...
local nn = core.nn
local options = core.use("options")
local required, none = options.required, options.none
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- Over the second axis from the end of rows [..., n, width]; counts: bool [..., n, 1], or nil: all count
local modes = {
  sum = function(rows, counts) return (counts and nn.where(counts, rows, 0) or rows):sum(-2) end,
  mean = function(rows, counts)
    if not counts then return rows:mean(-2) end
    return nn.where(counts, rows, 0):sum(-2) / nn.max(counts:cast("f32"):sum(-2), 1.0)
  end,
  max = function(rows, counts)
    if not counts then return rows:max(-2) end
    return nn.where(counts:any(-2), nn.where(counts, rows, -math.huge):max(-2), 0)
  end,
}

layer("embedding_bag", "the rows of a table by ids [..., n], added up, averaged or their maximum: [..., width]", {
  rows = { "integer", required, "number of different ids" },
  width = { "integer", required, "extent of a row" },
  mode = { "string", "mean", "mean, sum or max" },
  init = { "init", nn.init.normal(0.02), "of the table" },
  decay = { "boolean", none, "whether weight decay applies; default: yes" },
  padding = { "integer", none, "an id that does not count; nothing but it gives 0" },
}, function(self, o, ids)
  local zero, together = o.padding, modes[o.mode]
  if not together then
    fail("nn.embedding_bag: there is no mode '%s'%s", o.mode, core.advice(o.mode, options.sorted(modes)))
  end
  if ids.dtype ~= "i32" or ids.rank == 0 then
    fail("nn.embedding_bag: ids must be i32 [..., n], found %s %s", ids.dtype, core.shape_text(ids))
  end
  if zero and (zero < 0 or zero >= o.rows) then
    fail("nn.embedding_bag: padding must be an id below rows = %d, found %d", o.rows, zero)
  end
  local rows = param("weight", { o.rows, o.width }, o.init, o.decay, nil, zero)
  rawset(self, "weight", rows)
  return together(rows:gather(ids, 0), zero and nn.ne(ids, zero):unsqueeze(-1))
end)
