-- fault 3, keep: keepdim keeps, and what names an axis is no value
return { config = { batch = 4, features = 6 }, forward = function(c, input)
  local x = nn.linear(input.features, { name = "up", out = 6 })
  print(x:min(-1), x:mean { -1, keepdim = true })
  return (x - x:mean { -1, keepdim = true }):abs():mean() + nn.max(x, -1):mean()
end,
data = data.csv { target = "label" } }
