-- data.lua: where batches come from, for a description's `data`.
local core = ...
local options = core.use("options")
local none = options.none
local data = {}

local text_options = options.declare("data.text", {
  tokenizer = { "string", "bytes", "\"bytes\", \"chars\", or a file or folder of one, from the description's folder on" },
  val_fraction = { "number", 0.1, "part of the text kept for evaluation: the last; with order \"epochs\" documents, by their hashes" },
  order = { "string", none, "\"windows\" drawn anywhere (default for plain files), \"epochs\": documents, shuffled, or \"contiguous\": each row of the batch a stretch, read to its end" },
  documents = { "string", "file", "what a document of plain text is: \"file\", \"blank\" (between blank lines), \"line\", or \"whole\" (sequences run on)" },
  shuffle_tokens = { "integer", none, "epochs: tokens shuffled with each other; default: 4194304" },
  eval_tokens = { "integer", none, "epochs: the most that an evaluation reads; default: 1048576" },
  bad_records = { "integer", none, "epochs: malformed records that are skipped; default: 0" },
  raw_id_size = { "integer", none, "epochs: bytes of an id in .bin files without a header: 2 or 4; default: such are refused" },
  stride = { "integer", none, "epochs: from one sequence of a document to the next; default: seq" },
  pack = { "boolean", false, "epochs: documents stay apart: input.segments, input.positions, and targets of -1 that do not count" },
  mix = { "list", none, "epochs: weights of the sources, one for each path of --data: { 7, 3 }" },
  bos = { "string", none, "epochs: special token before each document; default: none" },
  eos = { "string", none, "epochs: special token after each document; default: <|endoftext|> if the tokenizer has it" },
  sep = { "string", none, "pairs: token between source and target, or \"none\"; default: a newline" },
  loss_on = { "string", none, "pairs and chats: \"target\" (and what the assistant says) or \"all\"; default: target with pack, else they are refused" },
  targets = { "string", none, "pairs whose target is a list: \"join\" it, take the \"first\", or \"each\" as a pair; default: join" },
})

local pairs_options = options.declare("data.pairs", {
  tokenizer = { "string", "bytes", "\"bytes\", \"chars\", or a file or folder of one, from the description's folder on" },
  source = { "string", none, "field or column of the source; default: \"source\", or \"prompt\"" },
  target = { "string", none, "field or column of the target; default: \"target\", or \"completion\"" },
  targets = { "string", "join", "a list of strings as target: \"join\" it, take the \"first\", or \"each\" as a pair" },
  on_long = { "string", "cut", "what does not fit into source_seq and seq: \"cut\" or \"skip\"" },
  buckets = { "integer", none, "batches among which rows are sorted by length; 0: they are not; default: 100" },
  val_fraction = { "number", 0.1, "part of the pairs kept for evaluation, by hashes of their sources" },
  shuffle_tokens = { "integer", none, "tokens shuffled with each other; default: 4194304" },
  eval_tokens = { "integer", none, "the most that an evaluation reads; default: 1048576" },
  bad_records = { "integer", none, "malformed records that are skipped; default: 0" },
  bos = { "string", none, "token that the decoder begins with, by its text or id; default: the tokenizer's, or an id beyond" },
  eos = { "string", none, "token behind each target; default: the tokenizer's, or an id beyond" },
  pad = { "string", none, "token behind what is short; default: the tokenizer's, or an id beyond" },
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

-- Pairs of source and target for an encoder and a decoder: input.source, i32 [batch, source_seq], input.source_lengths,
-- i32 [batch], input.tokens (bos and the target), input.targets (the target and eos; -1 behind it), both i32 [batch, seq],
-- and input.lengths, i32 [batch], of both.  Losses leave out targets of -1 by themselves.
-- config has batch, source_seq, seq and vocab.
function data.pairs(given)
  local o = pairs_options(given)
  o.kind = "pairs"
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
