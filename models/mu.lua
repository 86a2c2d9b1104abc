-- mu.lua: a transformer whose tokens are 8 x 8 matrices of sixteen 2 x 2 blocks.  In a layer each block attends over time
-- by itself, then all of them together, and a learned sensitivity of each block says how far it follows.

local blocks, width = 16, 64            -- 4 x 4 blocks of 2 x 2 numbers

local function xavier(inputs, outputs)
  local bound = math.sqrt(6 / (inputs + outputs))
  return nn.init.uniform(-bound, bound)
end

-- [B, T, 64], the matrix row by row  ->  [16, B, T, 4], a slice for each block
local function to_blocks(x)
  local B, T = x:size(0), x:size(1)
  return x:reshape { B, T, 4, 2, 4, 2 }:permute { 2, 4, 0, 1, 3, 5 }:reshape { blocks, B, T, 4 }
end

-- How far each of the blocks follows [B, T, 16]: of the token, and of how widely it looks around; seen [B, T, S].
local function sensitivity(c, tokens, seen)
  local affinity = nn.embedding(tokens, { name = "affinity", rows = c.vocab, width = blocks, init = nn.init.normal(0.1) })
  local h = nn.linear(nn.concat({ affinity, nn.entropy(seen):unsqueeze(-1) }, -1), { name = "up", out = 32, init = xavier(17, 32) })
  h = nn.linear(nn.dropout(nn.gelu(h), c.dropout), { name = "down", out = blocks, init = xavier(32, blocks) })
  return nn.sigmoid(h) * nn.param { name = "base", shape = { blocks }, init = nn.init.normal(0.1, 0.5) }
end

-- x [B, T, 64]; tokens [B, T]
local function layer(c, x, tokens)
  local B, T = x:size(0), x:size(1)
  local z = nn.map(blocks, function(_, x)
    return nn.attention(x, { name = "attn", heads = 2, causal = c.causal, dropout = c.dropout,
      init = xavier(4, 12), out_init = xavier(4, 4) })
  end, { name = "block", over = to_blocks(x) })
  z = z:permute { 1, 2, 0, 3 }:reshape { B, T, width }                  -- block after block
  local y, seen = nn.attention(z, { name = "attn", heads = 8, causal = c.causal, dropout = c.dropout, probabilities = true,
    init = xavier(width, 3 * width), out_init = xavier(width, width) })
  z = nn.layernorm(z + y, { name = "ln_1" })
  local h = nn.linear(z, { name = "up", out = 4 * width, init = xavier(width, 4 * width) })
  h = nn.linear(nn.dropout(nn.gelu(h), c.dropout), { name = "down", out = width, init = xavier(4 * width, width) })
  z = nn.layernorm(z + h, { name = "ln_2" })
  local s = nn.scope("sensitivity", function() return sensitivity(c, tokens, seen:mean(1)) end)
  nn.param { name = "interaction", shape = { blocks, blocks }, init = nn.init.normal(0.1) }     -- nobody reads it
  -- where the matrix lies row by row, four of its numbers are half a row, not a block
  local before = c.raster and x:reshape { B, T, blocks, 4 } or to_blocks(x):permute { 1, 2, 0, 3 }
  local after = before + s:unsqueeze(-1) * (z:reshape { B, T, blocks, 4 } - before)
  if c.raster then return after:reshape { B, T, width } end
  return after:reshape { B, T, 4, 4, 2, 2 }:permute { 0, 1, 2, 4, 3, 5 }:reshape { B, T, width }
end

return {
  config = {
    layers = 6, seq = 128, batch = 8, vocab = 50000, dropout = 0.1,
    causal = true,                      -- false: every position sees all others, its own target too
    raster = false,                     -- true: mixes the matrix's order with that of the blocks, as the first program did

    tokenizer = "bytes",
    lr = 3e-4, final_lr = 3e-8, warmup = 500, steps = 4000, decay = 0.01, clip = 1.0, accumulate = 4, eval_every = 500,
  },

  configs = {
    -- of the first program: before and after it was made smaller
    large = { layers = 24, seq = 256, batch = 4, causal = false, raster = true },
    medium = { layers = 12, causal = false, raster = true },
    small = { causal = false, raster = true },
    tiny = { layers = 2, seq = 16, batch = 2, vocab = 256 },
  },

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = width })
    x = x + nn.position_embedding(input.tokens, { name = "positions", context = c.seq, width = width })
    x = nn.stack(c.layers, x, function(x) return layer(c, x, input.tokens) end, { name = "layers" })
    x = nn.layernorm(x, { name = "ln" })
    local head = nn.linear { name = "head", out = c.vocab, init = xavier(width, c.vocab) }
    local logits = head(x)
    local loss, _, predicted = nn.linear_cross_entropy(x, input.targets, { weight = head.weight, bias = head.bias })
    return loss, { logits = c.causal and logits or nil, accuracy = nn.accuracy(predicted, input.targets) }
  end,

  train = function(c)
    return {
      optimizer = optim.adamw { lr = c.lr, decay = c.decay },
      schedule = optim.cosine { warmup = c.warmup, final_lr = c.final_lr },
      steps = c.steps, clip = c.clip, accumulate = c.accumulate, eval_every = c.eval_every,
    }
  end,

  data = function(c) return data.text { tokenizer = c.tokenizer, val_fraction = 0.1 } end,
}
