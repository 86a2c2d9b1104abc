-- named.lua: layers without loops, for test_gradient_names.c.
local function block(c, x)
  local h = nn.attention(nn.layernorm(x, { name = "ln_1" }), { name = "attn", heads = 2, causal = true })
  local attended = x + h
  local active = nn.gelu(nn.linear(nn.layernorm(attended, { name = "ln_2" }), { name = "up", out = 2 * c.width }))
  return attended + nn.linear(active, { name = "down", out = c.width })
end

return {
  config = { vocab = 7, width = 6, seq = 5, batch = 2, layers = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    for i = 1, c.layers do
      x = nn.scope("block" .. i, block, c, x)
    end
    local gate = nn.sigmoid(nn.linear(x, { name = "gate", out = c.width }))
    local mixed = gate * nn.tanh(x) + (1 - gate) * x
    local logits = nn.linear(mixed, { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  train = { optimizer = optim.sgd { lr = 0.1 } },
  data = data.text { tokenizer = "bytes" },
}
