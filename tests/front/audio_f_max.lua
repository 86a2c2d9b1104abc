-- There are no frequencies above half of the rate.
return {
  config = { batch = 2, frames = 10 },
  inputs = { features = { "f32", "frames", 4 }, label = { "i32", below = 4, target = true } },
  forward = function(c, input) return input.features:mean() end,
  data = data.audio { sample_rate = 8000, f_max = 8000 },
}
