-- fault 9, constant_inf_c: a number that no float holds is refused at its line, not by a C compiler
return { config = { batch = 4, features = 6 }, forward = function(c, input)
  local x = input.features * 1e308 * 5e-324 + 3.4e38
  return nn.linear(x, { out = 1 }):mean()
end,
data = data.csv { target = "label" } }
