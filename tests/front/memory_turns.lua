return {
  config = { batch = 2, seq = 4, vocab = 256 },
  forward = function(c, input)
    local x = nn.embedding(input.tokens, { rows = c.vocab, width = 8 }):reshape { c.batch, c.seq, 2, 4 }
    return nn.attend(x, x, x, { memory_turns = nn.turns(nn.iota(c.seq), 4, 10000) }):mean()
  end,
  data = data.text { tokenizer = "bytes" },
}
