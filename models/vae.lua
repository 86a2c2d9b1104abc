-- vae.lua: a variational autoencoder: images to a few numbers that are nearly normal, and numbers to images.
--
-- The encoder says by which normal numbers z an image may have been made, the decoder what z makes.  Both have one
-- hidden layer of tanh.  The loss is the negative of the evidence lower bound, in nats an image.  (Kingma and Welling
-- 2014, Auto-encoding variational Bayes, sections 2.3 and 3, appendices B and C.)

-- Makes a network: x [B, …] -> for each name [B, out]
local function perceptron(c, out, ...)
  local hidden, heads = nn.linear { name = "hidden", out = c.hidden }, {}
  for i, name in ipairs { ... } do heads[i] = nn.linear { name = name, out = out } end
  return function(x)
    local h, results = nn.tanh(hidden(x)), {}
    for i, head in ipairs(heads) do results[i] = head(h) end
    return table.unpack(results)
  end
end

local function bernoulli(c) return c.pixels == "bernoulli" end

-- z [B, latent] -> logits of pixels [B, pixels], or their mean and log variance
local function decoder(c)
  local pixels = c.side * c.side * c.channels
  if bernoulli(c) then return nn.scope("decoder", perceptron, c, pixels, "logits") end
  return nn.scope("decoder", perceptron, c, pixels, "mean", "log_var")
end

-- What the decoder expects of pixels, as an image.
local function expected(c, value)
  if bernoulli(c) then value = nn.sigmoid(value) end
  return value:reshape { c.batch, c.side, c.side, c.channels }
end

-- -log p(x | z) of each image, [B].  Where all images agree, as in a black corner, a variance could fall without end.
local function distortion(c, x, value, log_var)
  local of_pixels = bernoulli(c) and nn.bce_with_logits(value, x, { reduction = "none" })
    or nn.gaussian_nll(value, x, nn.exp(log_var), { full = true, eps = c.least_var, reduction = "none" })
  return of_pixels:sum(-1)
end

-- The divergence of N(mean, var) from N(0, 1), [B]
local function divergence(mean, log_var)
  return 0.5 * (mean * mean + nn.exp(log_var) - log_var - 1):sum(-1)
end

return {
  config = {
    side = 8, channels = 1, scale = 16.0,                 -- scale: the largest value of a pixel
    pixels = "bernoulli", least_var = 1e-3,               -- or "gaussian", with at least this variance
    latent = 8, hidden = 256,
    batch = 100, lr = 1e-3, steps = 6000,
  },

  configs = {
    mnist = { side = 28, scale = 255.0, latent = 20, hidden = 500, steps = 100000 },
    gpu = {
      side = 32, channels = 3, scale = 255.0, pixels = "gaussian", latent = 128, hidden = 2048,
      batch = 512, lr = 3e-4, steps = 50000,
    },
  },

  check = function(c) assert(bernoulli(c) or c.pixels == "gaussian", 'pixels must be "bernoulli" or "gaussian"') end,

  inputs = { image = { "f32", "side", "side", "channels" } },

  forward = function(c, input)
    local encode, decode = nn.scope("encoder", perceptron, c, c.latent, "mean", "log_var"), decoder(c)
    local x = input.image:reshape { c.batch, -1 } / c.scale
    local mean, log_var = encode(x)
    local z = mean + nn.exp(0.5 * log_var) * nn.normal(mean)          -- gradients reach mean and log_var
    local rate, missed = divergence(mean, log_var), distortion(c, x, decode(z))
    return (rate + missed):mean(), {
      rate = rate:mean(), distortion = missed:mean(), embedding = mean, reconstruction = expected(c, (decode(mean))),
    }
  end,

  -- `trainer generate --samples N --json`
  sample = function(c)
    local image = decoder(c)(nn.normal(nn.zeros { c.batch, c.latent }))
    return { image = expected(c, image) }
  end,

  train = function(c)
    return { optimizer = optim.adam { lr = c.lr }, steps = c.steps, eval_every = c.steps // 6 }
  end,

  data = data.arrays { val_fraction = 0.2 },
}
