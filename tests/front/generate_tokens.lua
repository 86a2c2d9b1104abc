-- Tokens are whole.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local logits = nn.linear(nn.embedding(input.tokens, { rows = c.vocab, width = c.width }), { out = c.vocab })
    return nn.cross_entropy(logits, input.targets), { logits = logits }
  end,
  generate = { tokens = 1.5 },
  data = data.text { tokenizer = "bytes" },
}
