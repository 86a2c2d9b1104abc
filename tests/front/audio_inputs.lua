-- Recordings have a text or a class.
return {
  config = { batch = 2, frames = 10 },
  inputs = {
    features = { "f32", "frames", 4 },
    text = { "i32", 5, below = 4, target = true },
  },
  forward = function(c, input) return input.features:mean() end,
  data = data.audio {},
}
