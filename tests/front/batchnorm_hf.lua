return {
  config = { batch = 4, features = 3 },
  forward = function(c, input)
    return nn.batchnorm(nn.linear(input.features, { name = "up", out = 5 }), { name = "norm" }):mean()
  end,
  hf = function(c) return { config = { model_type = "x" }, names = {} } end,
  data = data.csv { target = "class" },
}
