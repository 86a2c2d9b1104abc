-- Pictures and classes are declared.
return {
  config = { batch = 4 },
  forward = function(c, input)
    local logits = nn.linear(input.image:reshape { c.batch, -1 }, { out = 10 })
    return nn.cross_entropy(logits, input.label)
  end,
  data = data.images {},
}
