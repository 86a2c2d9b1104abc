-- distillation.lua: the losses of a student that imitates a teacher (--distill), from logits that are in memory; those of two heads
-- are in compiler/ops/head_rows.c.
local core = ...
local nn = core.nn

-- (1 - alpha) · losses + alpha · T² · Σ p (log p - log q), p and q the softmax of the teacher's logits and of these, both divided by
-- the temperature T (Hinton, Vinyals, Dean 2015, equation 2; T² because the derivatives of the sum have 1 / T²).
local function mixed(lesson, losses, logits)
  local t, alpha = lesson.temperature, lesson.alpha
  local teacher = lesson.logits or nn.dot(lesson.x, lesson.weight, { contract = { -1, lesson.across } })
  if lesson.bias then teacher = teacher + lesson.bias end
  local p, q = nn.log_softmax(teacher / t), nn.log_softmax(logits / t)
  return (1 - alpha) * losses + (alpha * t * t) * (nn.exp(p) * (p - q)):sum(-1)
end

-- What stands for each id's loss, the second result of nn.linear_cross_entropy: the teacher's part is in it, so exp(-loss) is no
-- probability, and nothing is made of it.
local function refuse()
  core.use("layer").fail("--distill: each id's loss of nn.linear_cross_entropy has the teacher's part in it; use its mean, the first result, alone")
end
local each = { __name = "loss with the teacher's part in it (--distill)", __metatable = "losses" }
for event in ("unm add sub mul div mod pow idiv concat len eq lt le call index newindex"):gmatch("%a+") do each["__" .. event] = refuse end

return { mixed = mixed, each = setmetatable({}, each) }
