-- preference.lua: the losses of preference pairs (--prefer), which nn.cross_entropy and nn.linear_cross_entropy give for
-- the text's next tokens.
--
-- Rows 2k and 2k + 1 are the k-th pair: a prompt and its chosen answer, the prompt and its rejected answer.
local core = ...
local nn = core.nn
local fail = core.use("layer").fail

-- Of x [2 pairs]: that of the chosen answers, and of the rejected ones, [pairs].
local function apart(x)
  local both = x:reshape { x:size(0) // 2, 2 }
  return both:select(1, 0), both:select(1, 1)
end

-- The names are those of TRL, with words that metrics may have.
local function tell(chosen, rejected)
  core.preference_metric("rewards_chosen", chosen:mean())
  core.preference_metric("rewards_rejected", rejected:mean())
  core.preference_metric("rewards_accuracy", nn.lt(rejected, chosen):cast("f32"):mean())
  core.preference_metric("rewards_margin", (chosen - rejected):mean())
end

-- -log sigmoid(beta · (log p/p0 of the chosen - log p/p0 of the rejected)), p0 the reference (Rafailov et al. 2023, equation 7)
local function dpo(likelihood, how)
  local chosen, rejected = apart(how.beta * (likelihood - core.reference()))
  tell(chosen, rejected)
  return nn.softplus(rejected - chosen):mean()
end

-- The mean loss of the chosen answers' tokens, and -beta · log sigmoid(log odds of the chosen - log odds of the rejected), where odds
-- are p / (1 - p), and log p is the mean over an answer's tokens (Hong et al. 2024, equations 6 and 7).
local function orpo(likelihood, count, how)
  local total, tokens = apart(likelihood), apart(count)
  local chosen, rejected = apart(likelihood / nn.max(count, 1.0))
  local function log_odds(p)                    -- of an answer that is certain they would be infinite, and gradients not numbers
    p = nn.min(p, -2.0 ^ -24)
    return p - nn.log(-nn.expm1(p))
  end
  tell(how.beta * chosen, how.beta * rejected)
  return -total:sum() / nn.max(tokens:sum(), 1.0) + how.beta * nn.softplus(log_odds(rejected) - log_odds(chosen)):mean()
end

-- losses: -log p of each id [2 pairs, seq]; ids of -1 do not count.
return function(name, losses, ids, smoothing, how)
  if losses.rank ~= 2 then fail("%s: with --prefer its ids must be input.targets, [batch, seq]", name) end
  if smoothing > 0 then fail("%s: --prefer compares probabilities of answers; leave smoothing out", name) end
  local counts = nn.ne(ids, -1)
  local likelihood = -nn.where(counts, losses, 0):sum(-1)
  core.log_likelihood(likelihood)
  if how.method == "dpo" then return dpo(likelihood, how) end
  return orpo(likelihood, nn.where(counts, nn.ones(losses.shape), 0):sum(-1), how)
end
