-- forecast.lua: time series: from the last `past` rows of all channels to the `ahead` rows after them, by patches and
-- attention (PatchTST: Nie et al. 2023, A time series is worth 64 words).
--
-- Each channel is forecast by itself, with the same weights: it is cut into patches, each of which is a token.  A window
-- is first scaled by its own mean and deviation, and the forecast back (RevIN: Kim et al. 2022).
-- lathe train models/forecast.lua --data FILE.csv --set time=COLUMN counts the channels: all columns of numbers.

-- x [B, past, C] -> [B * C, patches, width]; the last value is repeated, as the paper does, for one patch more.
local function patches(c, x)
  local series = x:transpose(1, 2):reshape { -1, c.past, 1 }
  local last = series:slice(1, c.past - 1):expand { series:size(0), c.patch_stride, 1 }
  return nn.conv1d(nn.concat({ series, last }, 1), { name = "patches", out = c.width, kernel = c.patch, stride = c.patch_stride })
end

local function block(c, x)
  local attended = nn.attention(x, { name = "attn", heads = c.heads, dropout = c.attention_dropout })
  x = nn.batchnorm(x + nn.dropout(attended, c.dropout), { name = "norm_1" })
  local h = nn.dropout(nn.gelu(nn.linear(x, { name = "up", out = c.hidden })), c.dropout)
  return nn.batchnorm(x + nn.dropout(nn.linear(h, { name = "down", out = c.width }), c.dropout), { name = "norm_2" })
end

return {
  config = {
    past = 96, ahead = 24, channels = 1, patch = 16, patch_stride = 8,
    width = 32, heads = 4, hidden = 64, layers = 2, dropout = 0.2, attention_dropout = 0.0,
    target = "", time = "", series = "",                         -- columns; "": all others, none, a file a series
    batch = 32, lr = 1e-3, steps = 1500,
  },

  configs = {
    gpu = { past = 336, ahead = 96, width = 128, heads = 16, hidden = 256, layers = 3, batch = 128, lr = 1e-4, steps = 20000 },
  },

  check = function(c)
    assert(c.past >= c.patch and (c.past - c.patch) % c.patch_stride == 0, "past must be patch and some patch_strides more")
  end,

  inputs = {
    past = { "f32", "past", "channels" },
    future = { "f32", "ahead", "channels", target = true },
  },

  forward = function(c, input)
    local mean = nn.stop_gradient(input.past:mean { 1, keep = true })
    local scale = nn.stop_gradient(nn.sqrt(input.past:var { 1, keep = true, correction = 0 } + 1e-5))
    local x = patches(c, (input.past - mean) / scale)
    local positions = nn.param { name = "positions", shape = { x:size(1), c.width }, init = nn.init.uniform(-0.02, 0.02), decay = false }
    x = nn.dropout(x + positions, c.dropout)
    x = nn.stack(c.layers, x, function(y) return block(c, y) end, { name = "layers" })
    x = nn.linear(x:reshape { x:size(0), -1 }, { name = "head", out = c.ahead })
    local prediction = x:reshape { -1, c.channels, c.ahead }:transpose(1, 2) * scale + mean
    return nn.mse(prediction, input.future), { prediction = prediction, mae = nn.abs(prediction - input.future):mean() }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = 0.01 }, schedule = optim.cosine { warmup = 50 }, clip = 1.0,
      steps = c.steps, eval_every = 250, best = "loss",
    }
  end,

  data = function(c)
    local function named(column) return column ~= "" and column or nil end
    return data.series { target = named(c.target), time = named(c.time), series = named(c.series), val_fraction = 0.2 }
  end,
}
