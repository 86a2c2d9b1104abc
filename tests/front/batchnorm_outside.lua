return {
  config = { batch = 4, features = 3 },
  forward = function(c, input)
    local norm = nn.batchnorm { name = "norm" }
    local x = nn.stack(3, input.features, function(x) return norm(x) end)
    return norm(x):mean()
  end,
  data = data.csv { target = "class" },
}
