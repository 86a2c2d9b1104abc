-- Names of inputs are those of data.audio.
return {
  config = { batch = 2, frames = 10 },
  inputs = {
    features = { "f32", "frames", 4 },
    labels = { "i32", below = 4, target = true },
  },
  forward = function(c, input) return input.features:mean() end,
  data = data.audio {},
}
