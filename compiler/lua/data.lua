-- data.lua: where batches come from, for a description's `data`.
local core = ...
local options = core.use("options")
local none = options.none
local data = {}

local text_options = options.declare("data.text", {
  tokenizer = { "string", "bytes", "\"bytes\", \"chars\", or a file or folder of one, from the description's folder on" },
  val_fraction = { "number", 0.1, "part of the text kept for evaluation: the last; with order \"epochs\" documents, by their hashes" },
  order = { "string", none, "\"windows\" drawn anywhere (default for plain files) or \"epochs\": documents, shuffled" },
  documents = { "string", "file", "what a document of plain text is: \"file\", \"blank\" (between blank lines), \"line\", or \"whole\" (sequences run on)" },
  shuffle_tokens = { "integer", none, "epochs: tokens shuffled with each other; default: 4194304" },
  eval_tokens = { "integer", none, "epochs: the most that an evaluation reads; default: 1048576" },
  bad_records = { "integer", none, "epochs: malformed records that are skipped; default: 0" },
  raw_id_size = { "integer", none, "epochs: bytes of an id in .bin files without a header: 2 or 4; default: such are refused" },
  stride = { "integer", none, "epochs: from one sequence of a document to the next; default: seq" },
  pack = { "boolean", false, "epochs: documents stay apart: input.segments, input.positions, and targets of -1 that do not count" },
  mix = { "table", none, "epochs: weights of the sources, one for each path of --data: { 7, 3 }" },
  bos = { "string", none, "epochs: special token before each document; default: none" },
  eos = { "string", none, "epochs: special token after each document; default: <|endoftext|> if the tokenizer has it" },
})

local csv_options = options.declare("data.csv", {
  target = { "string", options.required, "the column with the class; every other column is a feature" },
  val_fraction = { "number", 0.1, "last part of the rows, kept for evaluation" },
})

-- A text file as token ids: input.tokens and input.targets, both i32 [batch, seq].
-- config has batch, seq and vocab (256 for bytes; for chars at least the number of different characters).
-- With pack = true also input.segments, for nn.attention, and input.positions, both i32 [batch, seq]: several documents
-- share a sequence, and losses leave out targets of -1 by themselves.
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
