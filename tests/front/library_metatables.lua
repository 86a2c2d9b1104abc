-- What the library's values can do is out of reach.
return {
  config = { batch = 4, seq = 8, vocab = 16, width = 12 },
  forward = function(c, input)
    local x = nn.zeros { 2, c.width }
    getmetatable(x).__add = function() return 0 end
    return x:mean()
  end,
}
