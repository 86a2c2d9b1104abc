-- a pattern of --frozen that names no matrix
-- args: --lora rank=2 --frozen q4_0,*bias=q8_0
-- exit: 2
return {
  config = { vocab = 256, width = 32, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets)
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
