-- z_loss.lua: z · log²Z, which keeps the sums that softmax divides by near 1 (Chowdhery et al. 2022, PaLM), Z being the sum of
-- exp(logits).  It is part of what is trained; evaluation leaves it out, so that a loss stays a surprise.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail
local M = {}

function M.check(name, z)
  if not (z >= 0 and z < math.huge) then fail("%s: z_loss must be 0 or more, such as 1e-4, found %s", name, core.text(z)) end
end

function M.wanted(o) return o.z_loss > 0 and core.differentiates() end

function M.of(log_z, o) return o.z_loss * log_z * log_z end

-- Of the head, whose logits are never in memory as a whole: what it gives for an id is log Z less the id's logit and, of
-- smoothing, the mean of all logits; both are products with few rows.
local function logits_of(x, ids, o, across)
  local rows = across == 1 and o.weight or o.weight:transpose(0, 1)
  local right = (x * rows:gather(ids, 0)):sum(-1)
  if o.bias then right = right + o.bias:gather(ids, 0) end
  if o.smoothing == 0 then return right end
  local mean = nn.dot(x, o.weight:mean(1 - across), { contract = { -1, 0 } })
  if o.bias then mean = mean + o.bias:mean() end
  return (1 - o.smoothing) * right + o.smoothing * mean
end

function M.of_head(losses, x, ids, o, across, ignored)
  local counts = ignored and nn.ne(ids, ignored)
  local log_z = losses + logits_of(x, counts and nn.where(counts, ids, 0) or ids, o, across)
  return M.of(counts and nn.where(counts, log_z, 0) or log_z, o)
end

return M
