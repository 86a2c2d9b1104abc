return {
  config = { batch = 4, features = 3 },
  forward = function(c, input)
    local x = nn.batchnorm(input.features, { name = "norm", affine = false })
    return nn.batchnorm(x, { name = "norm", affine = false }):mean()
  end,
  data = data.csv { target = "class" },
}
