-- args: --target cuda
-- Rows of y, sums that a kernel makes beside what is larger, are padded for the product that reads them.
return { config = { features = 4, batch = 3 }, forward = function(c, input)
  local x = nn.linear(input.features, { name = "up", out = 191 * 5 }):reshape { 3, 191, 5 }
  local y = nn.linear(nn.exp(x):sum(-1), { name = "down", out = 2 })
  return (y * y):mean()
end, train = { optimizer = optim.sgd { lr = 0.1 }, steps = 2 }, data = data.csv { target = "class" } }
