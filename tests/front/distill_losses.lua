-- A student that makes something of each id's loss, which has the teacher's part in it
-- args: --distill tests/front/distill_losses.lua,taught=true
return {
  config = { vocab = 16, width = 8, seq = 4, batch = 2, taught = false },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
    local head = nn.linear { name = "head", out = c.vocab }
    head(x)
    local loss, losses = nn.linear_cross_entropy(x, input.targets, { weight = head.weight, bias = head.bias })
    if c.taught then return loss end
    return loss + nn.exp(-losses):mean()
  end,
  train = { optimizer = optim.sgd { lr = 0.1 }, steps = 5 },
  data = data.text {},
}
