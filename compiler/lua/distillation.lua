-- distillation.lua: the losses of a student that imitates a teacher (--distill), from logits that are in memory; those of two heads
-- are in compiler/ops/head_rows.c.
local core = ...
local nn = core.nn

-- (1 - alpha) · losses + alpha · T² · Σ p (log p - log q), p and q the softmax of the teacher's logits and of these, both divided by
-- the temperature T (Hinton, Vinyals, Dean 2015, equation 2; T² because the derivatives of the sum have 1 / T²).
return function(lesson, losses, logits)
  local t, alpha = lesson.temperature, lesson.alpha
  local teacher = lesson.logits or nn.dot(lesson.x, lesson.weight, { contract = { -1, lesson.across } })
  if lesson.bias then teacher = teacher + lesson.bias end
  local p, q = nn.log_softmax(teacher / t), nn.log_softmax(logits / t)
  return (1 - alpha) * losses + (alpha * t * t) * (nn.exp(p) * (p - q)):sum(-1)
end
