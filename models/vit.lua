-- vit.lua: a vision transformer: patches of an image, attention, a class.
--
-- An image is cut into squares of patch x patch pixels, each of which is a token; a learned token is put before them,
-- and its last state gives the class.  (Dosovitskiy et al. 2021, An image is worth 16x16 words, section 3.1.)
-- Blocks normalise before attention and before the MLP, and gelu is erf's, as in the paper.

-- image [B, H, W, C] -> [B, H / p * W / p, p * p * C]
local function patches(c, image)
  local n, p = c.side // c.patch, c.patch
  local cut = image:reshape { c.batch, n, p, n, p, c.channels }
  return cut:permute { 0, 1, 3, 2, 4, 5 }:reshape { c.batch, n * n, p * p * c.channels }
end

local function block(c, x)
  local attended = nn.attention(nn.layernorm(x, { name = "ln_1" }), { name = "attn", heads = c.heads, dropout = c.dropout })
  x = x + nn.dropout(attended, c.dropout)
  local h = nn.mlp(nn.layernorm(x, { name = "ln_2" }), { name = "mlp", hidden = 4 * c.width })
  return x + nn.dropout(h, c.dropout)
end

return {
  config = {
    side = 8, channels = 1, patch = 2, classes = 10, scale = 16.0,      -- scale: the largest value of a pixel
    width = 48, heads = 4, layers = 3, dropout = 0.1,
    batch = 64, lr = 2e-3, steps = 1200,
    files = false,                                                      -- pictures in files, not rows of arrays
    varied = false, mixup = 0.0,                                        -- pictures vary in training, and are mixed
  },

  configs = {
    pictures = { files = true, varied = true, side = 32, channels = 3, patch = 4, scale = 255.0, width = 96, lr = 1e-3 },
    cifar = { varied = true, side = 32, channels = 3, patch = 4, scale = 255.0, width = 192, heads = 3, layers = 9, batch = 128, lr = 1e-3, steps = 20000 },
  },

  check = function(c) assert(c.side % c.patch == 0, "side must be a multiple of patch") end,

  inputs = {
    image = { "f32", "side", "side", "channels" },
    label = { "i32", below = "classes", target = true },
  },

  forward = function(c, input)
    local tokens = nn.linear(patches(c, input.image / c.scale), { name = "patches", out = c.width })
    local first = nn.param { name = "class_token", shape = { 1, 1, c.width }, init = nn.init.normal(0.02), decay = false }
    local x = nn.concat({ first:expand { c.batch, 1, c.width }, tokens }, 1)
    x = x + nn.param { name = "positions", shape = { x:size(1), c.width }, init = nn.init.normal(0.02), decay = false }
    x = nn.stack(c.layers, nn.dropout(x, c.dropout), function(y) return block(c, y) end, { name = "layers" })
    local embedding = nn.layernorm(x:select(1, 0), { name = "ln_f" })
    local logits = nn.linear(embedding, { name = "head", out = c.classes })
    local mixed = c.mixup > 0 and { other = input.label_other, share = input.label_share } or nil
    return nn.cross_entropy(logits, input.label, mixed), {
      logits = logits, embedding = embedding, accuracy = nn.accuracy(logits, input.label),
    }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = 0.05 }, schedule = optim.cosine { warmup = 100 }, clip = 1.0,
      steps = c.steps, eval_every = 200,
    }
  end,

  data = function(c)
    local from = { val_fraction = 0.2, mixup = c.mixup }
    if c.varied then from.crop, from.pad, from.flip = "random", c.side // 8, true end
    if c.files then return data.images(from) end
    from.pictures = "image"
    return data.arrays(from)
  end,
}
