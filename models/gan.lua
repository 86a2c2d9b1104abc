-- gan.lua: pictures out of noise: a generator and a discriminator, trained in turns, each with an optimizer of its own.
--
-- The discriminator learns to tell pictures of the data from those that the generator makes, the generator to make
-- pictures that it takes for the data's (Goodfellow et al. 2014, whose second loss does not fade when the discriminator
-- is sure).  Both are convolutions that halve or double the sides (Radford et al. 2016, DCGAN).

local init = nn.init.normal(0.02)

local left = { "half", "quarter", "eighth", "sixteenth", "thirty_second" }      -- of the sides, halved so often

-- Channels where the sides are side / 2^k: more where they are smaller.
local function channels(c, k) return c.width << (k - 1) end

-- noise [B, noise] -> pictures [B, side, side, channels] in -1 … 1
local function generator(c, noise)
  local least, widest = c.side >> c.halvings, channels(c, c.halvings)
  local x = nn.linear(noise, { name = "first", out = least * least * widest, bias = false, init = init })
  x = nn.relu(nn.batchnorm(x:reshape { c.batch, least, least, widest }, { name = "norm" }))
  for k = c.halvings - 1, 1, -1 do
    local name = "to_" .. left[k]
    x = nn.conv_transpose2d(x, { name = name, out = channels(c, k), kernel = 4, stride = 2, padding = 1, bias = false, init = init })
    x = nn.relu(nn.batchnorm(x, { name = name .. "_norm" }))
  end
  return nn.tanh(nn.conv_transpose2d(x, { name = "last", out = c.channels, kernel = 4, stride = 2, padding = 1, init = init }))
end

-- Its layers, made once: the function applies them to pictures [B, side, side, channels], for a number each, [B], above 0
-- where it takes the picture for one of the data's.
local function discriminator(c)
  local down = {}
  for k = 1, c.halvings do
    down[k] = nn.conv2d { name = "to_" .. left[k], out = channels(c, k), kernel = 4, stride = 2, padding = 1, init = init }
  end
  local last = nn.linear { name = "last", out = 1, init = init }
  return function(x)
    for k = 1, c.halvings do x = nn.leaky_relu(down[k](x), 0.2) end
    return last(x:reshape { c.batch, -1 }):select(-1, 0)
  end
end

-- [B, noise], drawn anew in each turn of each step; like: has the batch's rows, which draw their own
local function noise(c, like) return nn.normal(like:reshape { c.batch, -1 }:slice(1, 0, 1):expand { c.batch, c.noise }) end

local function share(x) return x:cast("f32"):mean() end

return {
  config = {
    side = 8, channels = 1, classes = 10, scale = 16.0,                    -- scale: the largest value of a pixel
    halvings = 2, width = 32, noise = 32,                    -- the sides are halved twice, width: channels after the first
    batch = 64, steps = 4000,
    lr_generator = 1e-3, lr_discriminator = 5e-4, beta1 = 0.5,
    files = false,                                           -- pictures in files, not rows of arrays
  },

  configs = {
    pictures = { files = true, side = 64, channels = 3, scale = 255.0, halvings = 4, width = 64, noise = 100, batch = 128,
      lr_generator = 2e-4, lr_discriminator = 2e-4, steps = 50000 },
  },

  check = function(c)
    assert(c.halvings >= 1 and c.halvings <= #left, "halvings must be 1 to " .. #left)
    assert(c.side % (1 << c.halvings) == 0, "side must be a multiple of 2 to the power of halvings")
  end,

  inputs = {
    image = { "f32", "side", "side", "channels" },
    label = { "i32", below = "classes", target = true },     -- not read
  },

  -- A loss for each turn.  What a turn does not train it passes through, without gradients for its parameters.
  forward = function(c, input)
    local judge = nn.scope("discriminator", discriminator, c)
    local made = nn.scope("generator", generator, c, noise(c, input.image))
    local on_data, on_made = judge(2 * input.image / c.scale - 1), judge(made)
    local losses = {
      discriminator = (nn.softplus(-on_data) + nn.softplus(on_made)):mean(),
      generator = nn.softplus(-on_made):mean(),
    }
    return losses, { data_known = share(nn.lt(0, on_data)), made_known = share(nn.lt(on_made, 0)) }
  end,

  -- For `trainer generate`: whole numbers in the data's scale, a line of the picture on each line.
  sample = function(c)
    local made = nn.scope("generator", generator, c, nn.normal(nn.zeros { c.batch, c.noise }))
    return { image = ((made + 1) / 2 * c.scale + 0.5):cast("i32"):reshape { c.batch, c.side, -1 } }
  end,

  train = function(c)
    return {
      steps = c.steps, eval_every = 500,
      turns = {
        { loss = "discriminator", of = "discriminator", optimizer = optim.adam { lr = c.lr_discriminator, beta1 = c.beta1 } },
        { loss = "generator", of = "generator", optimizer = optim.adam { lr = c.lr_generator, beta1 = c.beta1 } },
      },
    }
  end,

  data = function(c) return c.files and data.images { val_fraction = 0.1 } or data.arrays { val_fraction = 0.1 } end,
}
