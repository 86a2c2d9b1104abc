-- copies.lua: independent copies inside of layers, each with its own parameters: of all of x, or each of its own slice.

return {
  config = { vocab = 9, layers = 2, copies = 3, width = 4, seq = 5, batch = 2, accumulate = 1, over = true, dense = true },
  decode = false,

  forward = function(c, input)
    local function copy(v)
      local gain = nn.param { name = "gain", shape = { c.width }, init = nn.init.normal(0.5, 1) }
      if c.dense then v = nn.linear(v, { out = c.width, bias_init = nn.init.normal(1) }) end
      return v * gain
    end
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.copies * c.width, init = nn.init.normal(1) })
    x = nn.stack(c.layers, x, function(x)
      local B, T = x:size(0), x:size(1)
      local slices = x:reshape { B, T, c.copies, c.width }:permute { 2, 0, 1, 3 }
      local ys = nn.map(c.copies, function(i, slice)
        return copy(slice or x:slice(-1, 0, c.width) + i:cast("f32"))
      end, { over = c.over and slices or nil })
      return x + nn.tanh(ys:permute { 1, 2, 0, 3 }:reshape { B, T, c.copies * c.width })
    end)
    local logits = nn.linear(x, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function(c) return { optimizer = optim.sgd { lr = 1e-2 }, steps = 10, accumulate = c.accumulate } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
