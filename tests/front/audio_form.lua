-- An input of data.audio has its form.
return {
  config = { batch = 2, frames = 10 },
  inputs = {
    features = { "f32", "frames" },
    label = { "i32", below = 4, target = true },
  },
  forward = function(c, input) return input.features:mean() end,
  data = data.audio {},
}
