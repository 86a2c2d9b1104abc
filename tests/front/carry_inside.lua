return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12, source_seq = 6, features = 3 },
  decode = false,
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { name = "embed", rows = c.vocab, width = c.width })
    local _, y = nn.scan(x, nn.zeros { c.batch, c.width }, function(x, h)
      local last = nn.scan(nn.stack(2, x, function(x) return x end):reshape { c.batch, c.width, 1 }, h, function(x, h)
        return h + x
      end, { carry = true })
      return last, last
    end)
    return y:mean()
  end,
}
