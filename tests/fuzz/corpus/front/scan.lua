return {
  config = { vocab = 7, width = 6, seq = 5, batch = 3 },
  forward = function(c, input)
    local xs = nn.embedding(input.tokens, { rows = c.vocab, width = c.width }):transpose(1, 2)
    local h, ys = nn.scan(xs, nn.zeros { c.batch, c.width }, function(x, h)
      h = nn.tanh(nn.linear(x, { out = c.width, name = "i" }) + nn.linear(h, { out = c.width, name = "h" }))
      return h, h * 2
    end)
    local y = nn.where(nn.lt(h, 0.5), h, -h) ^ 2 / (1 + nn.abs(h))
    return y:sum(-1):mean() + ys:slice(1, 1, 2):mean() + nn.map(3, function(i) return xs:mean() * i:cast("f32") end):mean()
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 3 },
  data = data.text { tokenizer = "chars" },
}
