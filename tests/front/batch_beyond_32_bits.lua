return { config = { batch = 1 << 40, seq = 4, vocab = 256, width = 8 }, forward = function(c, input)
 local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width })
 return nn.cross_entropy(nn.linear(x, { out = c.vocab }), input.targets) end,
 decode=false, train={steps=2,optimizer=optim.adamw{lr=1e-3}}, data = data.text { tokenizer = "bytes" } }
