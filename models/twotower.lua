-- twotower.lua: two encoders into one space, where what belongs together is near: to find texts by texts.
--
-- A text's groups of three letters are embedded and averaged; three layers follow, and a vector of length 1.  Of a batch
-- of pairs each query has to choose its item among all items by similarity, and each item its query.  (Huang et al. 2013,
-- Learning deep structured semantic models, figure 1; the loss is that of Radford et al. 2021, CLIP, figure 3.)
-- `trainer predict --only query --data query.npy` makes vectors of one side alone.

-- bytes [B, length], 0 behind a text -> an id for each group of three, [B, length - 2].  Five bits of a byte tell the
-- letters of a language apart, small and capital ones alike; three zeros are 0.
local function letters_of_three(text)
  local last, letter = text:size(1), nn.mod(text, 32)
  local function from(place) return letter:slice(1, place, last - 2 + place) end
  return (from(0) * 32 + from(1)) * 32 + from(2)
end

-- bytes [B, length] -> vectors [B, width]
local function tower(c, text)
  local x = nn.embedding_bag(letters_of_three(text), { name = "letters", rows = 32 * 32 * 32, width = c.embed, padding = 0 })
  x = nn.tanh(nn.linear(nn.dropout(x, c.dropout), { name = "first", out = c.hidden }))
  x = nn.tanh(nn.linear(x, { name = "second", out = c.hidden }))
  return nn.normalize(nn.linear(x, { name = "out", out = c.width }))
end

return {
  config = {
    length = 48,                                          -- bytes of a text
    embed = 128, hidden = 256, width = 128, dropout = 0.5, temperature = 0.1,
    batch = 128, lr = 2e-3, steps = 300,
  },

  configs = {
    gpu = { length = 256, embed = 256, hidden = 1024, width = 256, batch = 4096, lr = 1e-3, steps = 20000 },
  },

  inputs = {
    query = { "i32", "length", below = 256 },
    item = { "i32", "length", below = 256 },
  },

  forward = function(c, input)
    local query, item = nn.scope("query", tower, c, input.query), nn.scope("item", tower, c, input.item)
    local cold = nn.param { name = "log_temperature", shape = {}, init = math.log(c.temperature) }
    local temperature = nn.max(nn.exp(cold), 0.01)
    local similarity = nn.dot(query, item, { contract = { -1, -1 } })
    return nn.info_nce(query, item, { temperature = temperature, normalize = false }), {
      query = query, item = item, accuracy = nn.accuracy(similarity, nn.iota(c.batch)),
    }
  end,

  train = function(c)
    return { optimizer = optim.adam { lr = c.lr }, schedule = optim.cosine { warmup = 50 }, steps = c.steps, eval_every = c.steps // 5 }
  end,

  data = data.arrays { val_fraction = 0.2 },
}
