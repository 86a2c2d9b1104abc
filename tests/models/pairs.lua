-- pairs.lua: an encoder and a decoder over pairs, with every input that data.pairs has.
return {
  config = {
    layers = 1, heads = 2, width = 12, vocab = 13, source_seq = 7, seq = 5, batch = 3,
    source = "source", target = "target", buckets = 100, lr = 2e-3, steps = 100, accumulate = 1,
  },
  forward = function(c, input)
    local embed = nn.embedding { name = "embed", rows = c.vocab, width = c.width }
    local function at(name, ids, n) return embed(ids) + nn.position_embedding(ids, { name = name, context = n, width = c.width }) end
    local memory = nn.stack(c.layers, at("source_at", input.source, c.source_seq), function(x)
      x = x + nn.attention(nn.layernorm(x, { name = "ln_1" }), { name = "attn", heads = c.heads, lengths = input.source_lengths })
      return x + nn.mlp(nn.layernorm(x, { name = "ln_2" }), { name = "mlp", hidden = 4 * c.width })
    end, { name = "encoder" })
    memory = nn.layernorm(memory, { name = "ln_memory" })
    local x = nn.stack(c.layers, at("target_at", input.tokens, c.seq), function(x)
      x = x + nn.attention(nn.layernorm(x, { name = "ln_1" }), { name = "attn", heads = c.heads, causal = true, lengths = input.lengths })
      x = x + nn.attention(nn.layernorm(x, { name = "ln_2" }), memory, { name = "cross", heads = c.heads, lengths = input.source_lengths })
      return x + nn.mlp(nn.layernorm(x, { name = "ln_3" }), { name = "mlp", hidden = 4 * c.width })
    end, { name = "decoder" })
    local logits = nn.linear(nn.layernorm(x, { name = "ln_f" }), { name = "head", out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits, accuracy = nn.accuracy(logits, input.targets) }
  end,
  train = function(c) return { optimizer = optim.adamw { lr = c.lr }, steps = c.steps, accumulate = c.accumulate } end,
  data = function(c) return data.pairs { source = c.source, target = c.target, buckets = c.buckets, shuffle_tokens = 20000 } end,
}
