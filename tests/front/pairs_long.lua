-- A word that is none.
return {
  config = { vocab = 11, width = 8, source_seq = 6, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.source, { name = "embed", rows = c.vocab, width = c.width })
    return x:mean()
  end,
  data = data.pairs { on_long = "drop" },
}
