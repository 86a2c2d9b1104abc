-- data.lua: where batches come from, for a description's `data`.
local core = ...
local options = core.use("options")
local data = {}

-- The options of a function are settings in runtime/interface/recipe.def.
local function declare(name) return options.declare(name, core.settings(name, options)) end

local text_options, pairs_options = declare("data.text"), declare("data.pairs")
local csv_options, table_options, arrays_options = declare("data.csv"), declare("data.table"), declare("data.arrays")
local sentences_options = declare("data.sentences")
local images_options, audio_options, series_options = declare("data.images"), declare("data.audio"), declare("data.series")

-- A text file as token ids: input.tokens and input.targets, both i32 [batch, seq].
-- config has batch, seq and vocab (256 for bytes; for chars at least the number of different characters).
-- With pack = true also input.segments, for nn.attention, and input.positions, both i32 [batch, seq]: several documents
-- share a sequence, and losses ignore targets of -1.
function data.text(given)
  local o = text_options(given)
  o.kind = "text"
  return o
end

-- Pairs of source and target for an encoder and a decoder: input.source, i32 [batch, source_seq], input.source_lengths,
-- i32 [batch], input.tokens (bos and the target), input.targets (the target and eos, then -1), both i32 [batch, seq],
-- and input.lengths, i32 [batch], of both.  Losses ignore targets of -1.
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

-- A table of mixed columns, CSV or JSON lines: input.numbers, f32 [batch, numbers], scaled; input.categories, ids below c.levels, i32
-- [batch, categories]; input.targets: class ids i32 [batch], or with c.classes == 0 numbers, f32 [batch], scaled,
-- or [batch, targets] if there are several.  With weight also input.weight, f32 [batch].
-- config has batch, and numbers, categories, levels, classes, targets (if there are several), which `lathe train --data
-- FILE` takes from the file.
function data.table(given)
  local o = table_options(given)
  o.kind = "table"
  return o
end

-- Texts, each a row of a table, CSV or JSON lines: classes of texts, words to guess, pairs that belong together.  The
-- description declares inputs of these names, with sizes of its own:
--   tokens          { "i32", seq, below = vocab }: ids, with what the tokenizer puts around a text, then padding
--   lengths         { "i32" }: how many of them count
--   types           { "i32", seq }: 0, and 1 of the second text if both are in one row; it may be left out
--   second          { "i32", seq, below = vocab }, second_lengths { "i32" }: the second text, if it is a row of its own
--   label           { "i32", below = classes, target = true }: the class
-- or, of texts that are lists of words in JSON lines,
--   labels          { "i32", seq, below = classes, target = true }: the class of each word at its first piece, and -100 elsewhere
-- config has batch, and classes, which `lathe train --data FILE` takes from the file.
function data.sentences(given)
  local o = sentences_options(given)
  o.kind = "sentences"
  return o
end

-- Arrays: rows of the inputs that the description declares, `inputs = { image = { "f32", 28, 28, 1 }, … }`.  With
-- pictures = "image" rows of that input, uint8, vary in training as pictures in files do.
-- config has batch.
function data.arrays(given)
  local o = arrays_options(given)
  o.kind = "arrays"
  return o
end

-- Pictures, JPEG or PNG: folders with a folder for each class, tar archives, CSV files of paths and labels.  The
-- description declares both, `inputs = { image = { "f32", H, W, 3 }, label = { "i32", below = N, target = true } }`, with
-- 3 channels or 1, grey.  Pictures are resized and cropped to H x W; pixels are 0 … 255.  Of mixup and cutmix a loss
-- also reads input.label_other, i32 [batch], and input.label_share, f32 [batch].
-- config has batch.
function data.images(given)
  local o = images_options(given)
  o.kind = "images"
  return o
end

-- Recordings, WAV, FLAC, OGG or MP3, as log-mel features: CSV files of paths and texts or classes, folders with a folder for
-- each class, tar archives.  The description declares inputs of these names, with sizes of its own:
--   features      { "f32", frames, n_mels }: a frame each hop_length samples, zeros after the recording's end
--   lengths       { "i32" }: frames of each recording; it may be left out
-- and either its text, as ids of characters from 1 on, zeros after its end (0 is the blank of nn.ctc), or its class:
--   text          { "i32", letters, below = vocab, target = true }
--   text_lengths  { "i32", target = true }: characters of each
--   label         { "i32", below = classes, target = true }
-- config has batch, and vocab or classes, which `lathe train --data FILE` takes from the files.
function data.audio(given)
  local o = audio_options(given)
  o.kind = "audio"
  return o
end

-- Time series of tables, a series a file or by a column, or arrays [time, columns] or [series, time, columns]: windows of
-- rows.  The description declares inputs of these names, all f32, with sizes of its own:
--   past            [past, channels]: the rows before the forecast: the targets, then columns known of the past alone
--   future          [ahead, targets], target = true: the rows to forecast
--   known           [past + ahead, known]: columns known ahead, of both
--   past_observed, future_observed: as past and future: 1 where a value is in the data, 0 where it was filled in
-- Each column is scaled to mean 0 and deviation 1 in the training part; an output prediction is scaled back.
-- config has batch, and channels, targets, known, which `lathe train --data FILE` takes from the file, as far as it names
-- them.
function data.series(given)
  local o = series_options(given)
  o.kind = "series"
  return o
end

return data
