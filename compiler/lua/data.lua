-- data.lua: where batches come from, for a description's `data`.
local core = ...
local options = core.use("options")
local data = {}

local text_options = options.declare("data.text", {
  tokenizer = { "string", "bytes", "\"bytes\" or \"chars\"" },
  val_fraction = { "number", 0.1, "last part of the text, kept for evaluation" },
})

local csv_options = options.declare("data.csv", {
  target = { "string", options.required, "the column with the class; every other column is a feature" },
  val_fraction = { "number", 0.1, "last part of the rows, kept for evaluation" },
})

-- A text file as token ids: input.tokens and input.targets, both i32 [batch, seq].
-- config has batch, seq and vocab (256 for bytes; for chars at least the number of different characters).
function data.text(given)
  local o = text_options(given)
  o.kind = "text"
  return o
end

-- A CSV file with a header: input.features, f32 [batch, features], and input.targets, class ids i32 [batch].
-- config has batch and features.
function data.csv(given)
  local o = csv_options(given)
  o.kind = "csv"
  return o
end

return data
