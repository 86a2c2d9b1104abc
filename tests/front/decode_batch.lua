-- Decode takes other rows than training.
return {
  config = { batch = 3, seq = 8, source_seq = 6, vocab = 16, width = 12 },
  forward = function(c, input)
    local embed = nn.embedding { rows = c.vocab, width = c.width }
    local x = embed(input.tokens) + embed(input.source):mean { 1, keep = true }:reshape { c.batch, 1, c.width }
    local logits = nn.linear(x, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  data = data.pairs {},
}
