-- Pictures have three channels, or one.
return {
  config = { batch = 4 },
  inputs = { image = { "f32", 8, 8, 4 }, label = { "i32", below = 10, target = true } },
  forward = function(c, input)
    local logits = nn.linear(input.image:reshape { c.batch, -1 }, { out = 10 })
    return nn.cross_entropy(logits, input.label)
  end,
  data = data.images {},
}
