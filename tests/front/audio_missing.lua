-- Features and texts are declared.
return {
  config = { batch = 2 },
  forward = function(c, input) return input.features:mean() end,
  data = data.audio {},
}
