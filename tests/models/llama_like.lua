-- llama_like.lua: rmsnorm, rotary positions, grouped heads, swiglu, untied head: what the models named after llamas are made of.

local function block(c, x)
  local h = nn.rmsnorm(x, { name = "input_norm" })
  x = x + nn.attention(h, {
    name = "attn", heads = c.heads, kv_heads = c.kv_heads, causal = true, rotary = 10000, fused = c.fused, bias = false,
  })
  h = nn.rmsnorm(x, { name = "post_norm" })
  return x + nn.swiglu(h, { name = "mlp", hidden = c.hidden })
end

return {
  config = { layers = 2, heads = 4, kv_heads = 2, width = 24, hidden = 34, vocab = 13, seq = 7, batch = 3, fused = false },

  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width, init = nn.init.normal(1) })
    x = nn.stack(c.layers, x, function(x) return block(c, x) end)
    x = nn.rmsnorm(x, { name = "norm" })
    local logits = nn.linear(x, { name = "lm_head", out = c.vocab, bias = false })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,

  train = function() return { optimizer = optim.adamw { lr = 1e-3 }, steps = 10 } end,
  data = function() return data.text { tokenizer = "bytes" } end,
}
