-- ctc.lua: nn.ctc, connectionist temporal classification (Graves et al. 2006).
--
-- Targets are read as labels with a blank before, between and behind them, [batch, 2 S + 1].  `reached` holds, for each
-- of these, the log of the probability of all ways to be there at a time, less the largest of them, so that it keeps
-- its digits in 16 bits; `total` adds up what was taken away.  What cannot be reached is -infinity, and is kept from every
-- difference and logarithm, so that it has no gradient and makes no NaN.
local core = ...
local nn = core.nn
local options = core.use("options")
local fail = core.use("layer").fail
local losses = core.use("losses")

local ctc_options = options.declare("nn.ctc", {
  reduction = { "string", "mean", "\"mean\" (of the losses over target lengths), \"sum\" or \"none\"" },
  blank = { "integer", 0, "the class that is no label" },
  zero_infinity = { "boolean", false, "whether targets that do not fit into their time cost 0, not infinity" },
})

local function check(log_probs, targets, blank)
  local ok = nn.is_tensor(log_probs) and nn.is_tensor(targets) and log_probs.dtype == "f32" and targets.dtype == "i32"
    and log_probs.rank == 3 and targets.rank == 2 and targets:size(0) == log_probs:size(0)
  if not ok then
    fail("nn.ctc(log_probs, targets): log_probs must be real [batch, time, classes], targets i32 [batch, labels]\n"
      .. "    log_probs  %s\n    targets    %s", core.text(log_probs), core.text(targets))
  end
  local last = log_probs:size(-1) - 1
  if blank < 0 or blank > last then fail("nn.ctc: blank must be a class, 0 to %d, found %d", last, blank) end
end

-- i32 [batch]: those given, or the whole axis for all
local function lengths_of(name, given, x)
  local rows = x:size(0)
  if given == nil then return nn.constant(x:size(1), "i32"):reshape { 1 }:expand { rows } end
  if nn.is_tensor(given) and given.dtype == "i32" and given.rank == 1 and given:size(0) == rows then return given end
  fail("nn.ctc: %s must be i32 [%d], a number for each row of the batch, or nil for whole rows; found %s",
    name, rows, core.text(given))
end

-- i32 [batch, 2 S + 1]: blanks around the labels; what stands behind a row's length is blank too.
local function with_blanks(targets, lengths, blank, classes)
  local rows, n = targets:size(0), targets:size(1)
  local labels = nn.where(nn.lt(nn.iota(n), lengths:unsqueeze(-1)), targets, blank)
  labels = core.class_ids(labels, classes, nil, "nn.ctc")
  local blanks = nn.constant(blank, "i32"):reshape { 1, 1 }:expand { rows, n }
  local by_two = nn.concat({ blanks:unsqueeze(-1), labels:unsqueeze(-1) }, -1):reshape { rows, 2 * n }
  return nn.concat({ by_two, blanks:slice(1, 0, 1) }, 1)
end

-- n places later along the last axis of x [batch, places], with `before` in front
local function later(x, n, before)
  return nn.concat({ before:expand { x:size(0), n }, x:slice(1, 0, x:size(1) - n) }, 1)
end

-- Something to subtract from x, finite and without gradient, and where x is -infinity
local function shift_of(x)
  local never = nn.eq(x, -math.huge)
  return nn.where(never, 0, nn.stop_gradient(x)), never
end

-- log Σ exp of the terms, along the last axis too if asked for, and where that is -infinity
local function log_sum(terms, along)
  local top, scaled = terms[1], 0
  for i = 2, #terms do top = nn.max(top, terms[i]) end
  local shift, never = shift_of(along and top:max { -1, keep = true } or top)
  for _, x in ipairs(terms) do scaled = nn.exp(x - shift) + scaled end
  if along then scaled = scaled:sum { -1, keep = true } end
  return nn.where(never, -math.huge, nn.log(nn.where(never, 1, scaled)) + shift), never
end

-- One step of time for nn.scan: every label stays, comes from the one before, or skips a blank between two that differ.
local function step_of(labels, nowhere)
  local skips = nn.ne(labels, later(labels, 2, labels:slice(1, 0, 1)))
  return function(log_probs, h)
    local from_2 = nn.where(skips, later(h.reached, 2, nowhere), -math.huge)
    local reached = log_sum { h.reached, later(h.reached, 1, nowhere), from_2 } + log_probs:gather(labels, 1, 1)
    local most = shift_of(reached:max { -1, keep = true })
    return { reached = reached - most, total = h.total + most }
  end
end

-- [batch]: the log of the probability of all ways, and whether there is none
local function log_likelihood(log_probs, labels, input_lengths, target_lengths)
  local rows, places = labels:size(0), nn.iota(labels:size(1))
  local nowhere = nn.full({ 1, 1 }, -math.huge)
  local start = nn.where(nn.eq(places, 0), nn.zeros { rows, labels:size(1) }, nowhere)
  local h0 = { reached = start, total = nn.zeros { rows, 1 } }
  local h = nn.scan(log_probs, h0, step_of(labels, nowhere), { lengths = input_lengths })
  local past = places - 2 * target_lengths:unsqueeze(-1)       -- the last blank is at 0, the last label before it
  local ended = nn.where(nn.lor(nn.eq(past, 0), nn.eq(past, -1)), h.reached, nowhere)
  local found, never = log_sum({ ended }, true)
  return (found + h.total):squeeze(-1), never:squeeze(-1)
end

-- -log of the probability that log_probs [batch, time, classes] (of nn.log_softmax) spell targets, i32 [batch, labels],
-- where repeated classes are read once, then blanks left out.  Lengths: i32 [batch], what of a row counts; nil: all.
function nn.ctc(log_probs, targets, input_lengths, target_lengths, given)
  local o = ctc_options(given)
  check(log_probs, targets, o.blank)
  input_lengths = lengths_of("input_lengths", input_lengths, log_probs)
  target_lengths = lengths_of("target_lengths", target_lengths, targets)
  local labels = with_blanks(targets, target_lengths, o.blank, log_probs:size(-1))
  local found, never = log_likelihood(log_probs, labels, input_lengths, target_lengths)
  local cost = nn.where(never, o.zero_infinity and 0 or math.huge, -found)
  if o.reduction == "mean" then cost = cost / nn.max(target_lengths, 1.0):cast("f32") end
  return losses.reduced("nn.ctc", cost, o.reduction)
end

losses.named("ctc")
