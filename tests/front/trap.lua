-- fault 3, trap: x:min(1) reduces as x:max(1) does
-- exit: 0
return { config = { batch = 4, features = 6 }, forward = function(c, input)
  local x = nn.linear(input.features, { name = "up", out = 6 })
  print(x:max(1), x:min(1), nn.min(x, 1.0))
  return x:max(1):mean() - x:min(1):mean()
end,
data = data.csv { target = "label" } }
