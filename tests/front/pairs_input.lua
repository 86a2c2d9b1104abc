-- An input that other data has.
return {
  config = { vocab = 11, width = 8, seq = 4, batch = 2 },
  forward = function(c, input)
    local x = nn.embedding(input.source, { name = "embed", rows = c.vocab, width = c.width })
    return x:mean()
  end,
  data = data.text {},
}
