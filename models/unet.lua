-- unet.lua: from an image to a map of its size: which class each pixel has, or another image, such as one without noise.
--
-- Convolutions go down a U to ever smaller and wider maps and up again; at each level the map on the way down goes
-- across to the way up.  (Ronneberger, Fischer and Brox 2015, U-Net, figure 1; here convolutions keep the sides, and
-- have batch norms.)

local function convolved(x, name, out)
  local init = nn.init.normal(math.sqrt(2 / (3 * 3 * x:size(-1))))          -- He et al. 2015
  return nn.conv2d(x, { name = name, out = out, kernel = 3, padding = "same", bias = false, init = init })
end

-- x [B, H, W, C] -> [B, H, W, out]
local function convolved_twice(x, out)
  x = nn.relu(nn.batchnorm(convolved(x, "conv1", out), { name = "bn1" }))
  return nn.relu(nn.batchnorm(convolved(x, "conv2", out), { name = "bn2" }))
end

local sides = { [0] = "whole", "half", "quarter", "eighth", "sixteenth", "thirty_second" }      -- what a level has of them

-- A level of the U and all below it: x [B, H, W, C] -> [B, H, W, width]
local function level(c, x, number, width)
  local name = sides[number]
  x = nn.scope("down_" .. name, convolved_twice, x, width)
  if number == c.depth then return nn.dropout(x, c.dropout) end
  local pooled = nn.max_pool2d(x, { name = "pool_" .. name, kernel = 2 })
  local below = level(c, pooled, number + 1, 2 * width)
  local up = nn.conv_transpose2d(below, { name = "up_" .. name, out = width, kernel = 2, stride = 2 })
  return nn.scope("join_" .. name, convolved_twice, nn.concat({ x, up }, -1), width)
end

-- Of all pixels that are or were said to be of a class the share that both are; the mean over classes.
local function overlap(said, map, classes)
  said, map = nn.one_hot(said, classes), nn.one_hot(map, classes)
  local both, all = (said * map):sum(0, 1, 2), (said + map):sum(0, 1, 2)
  return (both / nn.max(all - both, 1.0)):mean()
end

return {
  config = {
    side = 64, channels = 1, scale = 255.0,               -- scale: the largest value of a pixel
    classes = 3,                                          -- of a pixel; 0: the map is an image like the first
    width = 16, depth = 3, dropout = 0.1,                 -- width: channels of the top; depth: levels below it
    batch = 8, lr = 2e-3, steps = 400,
  },

  configs = {
    denoise = { side = 32, channels = 3, classes = 0, depth = 2, dropout = 0.0, steps = 2000 },
    gpu = { side = 256, width = 64, depth = 4, batch = 16, lr = 1e-3, steps = 20000 },
  },

  check = function(c)
    assert(c.depth >= 0 and c.depth <= #sides, "depth must be 0 to " .. #sides)
    assert(c.side % 2 ^ c.depth == 0, "side must be a multiple of 2^depth")
  end,

  inputs = function(c)
    local classes = { "i32", "side", "side", below = "classes", target = true }
    return {
      image = { "f32", "side", "side", "channels" },
      map = c.classes > 0 and classes or { "f32", "side", "side", "channels", target = true },
    }
  end,

  forward = function(c, input)
    local x = level(c, input.image / c.scale, 0, c.width)
    if c.classes == 0 then
      local missing = nn.conv2d(x, { name = "head", out = c.channels, kernel = 1 })
      return nn.mse(input.image / c.scale + missing, input.map / c.scale), { image = input.image + c.scale * missing }
    end
    local logits = nn.conv2d(x, { name = "head", out = c.classes, kernel = 1 })
    local map = logits:argmax(-1)
    return nn.cross_entropy(logits, input.map), {
      logits = logits, map = map, accuracy = nn.accuracy(logits, input.map), overlap = overlap(map, input.map, c.classes),
    }
  end,

  train = function(c)
    return { optimizer = optim.adamw { lr = c.lr, decay = 0.01 }, schedule = optim.cosine {}, steps = c.steps, eval_every = c.steps // 6 }
  end,

  data = data.arrays { val_fraction = 0.2 },
}
