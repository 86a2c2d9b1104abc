-- speech.lua: speech to text, or to a class: convolutions over log-mel features, recurrent layers both ways, CTC.
--
-- Two convolutions over time make a state of every `2 * stride` frames, GRUs read these states in both directions, and each state
-- gives the probabilities of all characters and of a blank: CTC sums over all ways to spell the text with them (Graves et
-- al. 2006, Connectionist temporal classification; Amodei et al. 2016, Deep Speech 2, has layers of these kinds).
-- With keywords = true the mean of the states gives the class of a recording: keywords, speakers, noises.

-- f32 [B, T, 1]: 1 within each row's length
local function within(lengths, T) return nn.lt(nn.iota(T), lengths:unsqueeze(-1)):cast("f32"):unsqueeze(-1) end

-- x [B, T, C] -> [B, ceil(T / stride), width], zero behind the new lengths
local function subsampled(c, x, lengths, name, stride)
  x = nn.conv1d(x, { name = name, out = c.width, kernel = 5, stride = stride, padding = 2 })
  lengths = nn.idiv(lengths + (stride - 1), stride)
  x = nn.gelu(nn.layernorm(x, { name = name .. "_ln" }))
  return nn.dropout(x, c.dropout) * within(lengths, x:size(1)), lengths
end

-- features [B, T, n_mels] -> states [B, T', width], zero behind their lengths
local function encode(c, features, lengths)
  local x
  x, lengths = subsampled(c, features, lengths, "conv_half", 2)
  x, lengths = subsampled(c, x, lengths, "conv", c.stride)
  x = nn.gru(x, { name = "gru", hidden = c.width // 2, layers = c.layers, bidirectional = true, dropout = c.dropout, lengths = lengths })
  return nn.dropout(nn.layernorm(x, { name = "ln_f" }), c.dropout), lengths
end

-- The share of texts that have more characters than there are states, a blank between two equal ones counted: their probability
-- is 0, and nothing is learnt of them.
local function too_fast(c, input, lengths)
  local here, before = input.text:slice(1, 1, c.letters), input.text:slice(1, 0, c.letters - 1)
  local doubled = nn.where(nn.land(nn.eq(here, before), nn.ne(here, 0)), 1.0, 0.0):sum(-1)
  return nn.where(nn.lt(lengths:cast("f32"), input.text_lengths:cast("f32") + doubled), 1.0, 0.0):mean()
end

local function spelled(c, input, states, lengths)
  local logits = nn.linear(states, { name = "head", out = c.vocab })
  local log_probs = nn.log_softmax(logits)
  local loss = nn.ctc(log_probs, input.text, lengths, input.text_lengths, { zero_infinity = true })
  return loss, { logits = logits, lengths = lengths, too_fast = too_fast(c, input, lengths) }
end

local function named(c, input, states, lengths)
  local inside = within(lengths, states:size(1))
  local embedding = (states * inside):sum(1) / nn.max(inside:sum(1), 1.0)
  local logits = nn.linear(embedding, { name = "head", out = c.classes })
  return nn.cross_entropy(logits, input.label), {
    logits = logits, embedding = embedding, accuracy = nn.accuracy(logits, input.label),
  }
end

return {
  config = {
    sample_rate = 8000, n_mels = 40, frames = 500, letters = 100,  -- a recording: 100 frames a second; characters of a text
    vocab = 28, classes = 2, keywords = false,                     -- of the data: characters and a blank; or classes
    stride = 2, width = 192, layers = 2, dropout = 0.2,
    freq_mask = 6, time_mask = 15, shift = 0.0,
    batch = 16, lr = 2e-3, steps = 1500, too_long = "drop",
  },

  configs = {
    classes = { keywords = true, sample_rate = 16000, frames = 101, width = 128, shift = 0.1, batch = 64, steps = 2000, too_long = "refuse" },
    large = {
      sample_rate = 16000, n_mels = 80, frames = 1700, letters = 400, width = 1024, layers = 5,
      freq_mask = 27, time_mask = 70, batch = 32, lr = 3e-4, steps = 100000,
    },
  },

  inputs = function(c)
    local all = { features = { "f32", "frames", "n_mels" }, lengths = { "i32" } }
    if c.keywords then
      all.label = { "i32", below = "classes", target = true }
    else
      all.text = { "i32", "letters", below = "vocab", target = true }
      all.text_lengths = { "i32", target = true }
    end
    return all
  end,

  forward = function(c, input)
    local states, lengths = encode(c, input.features, input.lengths)
    return (c.keywords and named or spelled)(c, input, states, lengths)
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = 0.01 }, schedule = optim.cosine { warmup = 100 }, clip = 1.0,
      steps = c.steps, eval_every = c.steps // 5,
    }
  end,

  -- Spectra of 25 ms, every 10 ms.  A sound that does not change would be nothing but zeros if each recording were normalised
  -- by itself, so keywords are all scaled alike.
  data = function(c)
    return data.audio {
      sample_rate = c.sample_rate, n_fft = c.sample_rate // 40, hop_length = c.sample_rate // 100,
      freq_masks = 2, freq_mask = c.freq_mask, time_masks = 2, time_mask = c.time_mask, shift = c.shift,
      normalize = c.keywords and "fixed" or "utterance", mean = -7.0, std = 4.0, too_long = c.too_long, val_fraction = 0.1,
    }
  end,
}
