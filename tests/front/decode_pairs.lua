-- The source may be looked at as a whole, the target may not.
return {
  config = { batch = 3, seq = 8, source_seq = 6, vocab = 16, width = 12 },
  forward = function(c, input)
    local embed = nn.embedding { rows = c.vocab, width = c.width }
    local about = embed(input.source):mean { 1, keep = true }
    local x = embed(input.tokens) + about
    x = x + x:flip(1)
    local logits = nn.linear(x, { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  data = data.pairs {},
}
