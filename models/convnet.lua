-- convnet.lua: a residual network for small images: convolutions, batch norms, a class.
--
-- Three stages of blocks of two 3 x 3 convolutions; the second and third stage halve the sides and double the channels in
-- their first block.  A shortcut without parameters goes around each block; where the shape changes, it takes every
-- second pixel and fills up the channels with zeros.  (He et al. 2016, Deep residual learning for image recognition,
-- section 4.2, option A.)  The blocks of a stage that are alike are a loop.

-- A convolution's weight begins with the variance that keeps that of its results behind a relu (He et al. 2015).
local function convolved(x, name, out, stride)
  local init = nn.init.normal(math.sqrt(2 / (3 * 3 * x:size(-1))))
  return nn.conv2d(x, { name = name, out = out, kernel = 3, stride = stride, padding = 1, bias = false, init = init })
end

local function shortcut(x, out, stride)
  if stride == 1 then return x end
  return x:slice(1, 0, x:size(1), stride):slice(2, 0, x:size(2), stride):pad(-1, 0, out - x:size(-1))
end

-- x [B, H, W, C] -> [B, H / stride, W / stride, out]
local function block(x, out, stride)
  local h = nn.relu(nn.batchnorm(convolved(x, "conv1", out, stride), { name = "bn1" }))
  h = nn.batchnorm(convolved(h, "conv2", out, 1), { name = "bn2" })
  return nn.relu(h + shortcut(x, out, stride))
end

-- name: what is left of the image's sides
local function stage(c, x, name, out, stride)
  local alike = c.blocks
  if stride > 1 then
    x = nn.scope("to_" .. name, block, x, out, stride)
    alike = alike - 1
  end
  if alike == 0 then return x end
  return nn.stack(alike, x, function(y) return block(y, out, 1) end, { name = name })
end

return {
  config = {
    side = 8, channels = 1, classes = 10, scale = 16.0,      -- scale: the largest value of a pixel
    width = 16, blocks = 3,                                  -- of the first stage; in each: 3 make ResNet-20
    batch = 64, lr = 0.1, steps = 700,
    files = false,                                           -- pictures in files, not rows of arrays
    varied = false, mixup = 0.0,                             -- pictures vary in training, and are mixed
  },

  configs = {
    pictures = { files = true, varied = true, side = 32, channels = 3, scale = 255.0, steps = 7000 },
    cifar = { varied = true, side = 32, channels = 3, scale = 255.0, batch = 128, steps = 64000 },
  },

  inputs = {
    image = { "f32", "side", "side", "channels" },
    label = { "i32", below = "classes", target = true },
  },

  forward = function(c, input)
    local x = nn.relu(nn.batchnorm(convolved(input.image / c.scale, "conv", c.width, 1), { name = "bn" }))
    x = stage(c, x, "whole", c.width, 1)
    x = stage(c, x, "half", 2 * c.width, 2)
    x = stage(c, x, "quarter", 4 * c.width, 2)
    local embedding = x:mean { 1, 2 }
    local logits = nn.linear(embedding, { name = "head", out = c.classes })
    local mixed = c.mixup > 0 and { other = input.label_other, share = input.label_share } or nil
    return nn.cross_entropy(logits, input.label, mixed), {
      logits = logits, embedding = embedding, accuracy = nn.accuracy(logits, input.label),
    }
  end,

  -- The paper adds 1e-4 of a weight to its gradient; momentum makes that ten times as much in the end.
  train = function(c)
    return {
      optimizer = optim.sgd { lr = c.lr, momentum = 0.9, decay = 1e-3 },
      schedule = optim.step { at = { c.steps // 2, c.steps * 3 // 4 }, factor = 0.1 },
      steps = c.steps, eval_every = c.steps // 7,
    }
  end,

  -- The paper varies pictures: mirrored or not, moved by up to 4 pixels of 32.
  data = function(c)
    local from = { val_fraction = 0.2, mixup = c.mixup }
    if c.varied then from.crop, from.pad, from.flip = "random", c.side // 8, true end
    if c.files then return data.images(from) end
    from.pictures = "image"
    return data.arrays(from)
  end,
}
