-- similarity.lua: how near vectors are, and losses of that.  Values and gradients are PyTorch's, also of zeros.
--
-- Vectors lie along the last axis, or another where `axis` is an option.  Operands of distances and similarities
-- broadcast, those of losses do not.
local core = ...
local nn = core.nn
local options = core.use("options")
local fail = core.use("layer").fail
local losses = core.use("losses")
local reduction, reduced, check_pair, positive = losses.reduction, losses.reduced, losses.check_pair, losses.positive

local function check_vectors(name, ...)
  for _, x in ipairs { ... } do
    if not (nn.is_tensor(x) and x.dtype == "f32" and x.rank > 0) then
      fail("%s: vectors must be real [..., width], found %s", name, core.text(x))
    end
  end
end

local normalize_options = options.declare("nn.normalize", {
  p = { "number", 2, "of the norm, see x:norm" },
  axis = { "integer", -1, "along which the vectors lie" },
  eps = { "number", 1e-12, "least norm that is divided by" },
})

-- x / max(norm of x, eps)
function nn.normalize(x, given)
  check_vectors("nn.normalize", x)
  local o = normalize_options(given)
  return x / nn.max(positive("nn.normalize", "eps", o.eps), x:norm { o.axis, p = o.p, keep = true })
end

local cosine_options = options.declare("nn.cosine_similarity", {
  axis = { "integer", -1, "along which the vectors lie; it goes away" },
  eps = { "number", 1e-8, "least norm that is divided by" },
})

-- a · b / (max(|a|, eps) · max(|b|, eps))
function nn.cosine_similarity(a, b, given)
  local name = "nn.cosine_similarity"
  check_vectors(name, a, b)
  local o = cosine_options(given)
  local eps, axis = positive(name, "eps", o.eps), o.axis
  if axis >= 0 then axis = axis - math.max(a.rank, b.rank) end      -- counted from the end it is the same of both
  if a:size(axis) ~= b:size(axis) then
    fail("%s(a, b): vectors of one width are compared; axis %d has %d and %d\n    a  %s\n    b  %s",
      name, o.axis, a:size(axis), b:size(axis), core.text(a), core.text(b))
  end
  local function length(x)                      -- below eps it keeps its gradient
    local n = x:norm { axis, keep = true }
    return n + nn.stop_gradient(nn.max(eps, n) - n)
  end
  return ((a / length(a)) * (b / length(b))):sum(axis)
end

local distance_options = options.declare("nn.pairwise_distance", {
  p = { "number", 2, "of the norm, see x:norm" },
  eps = { "number", 1e-6, "added to each difference, so that there is a gradient at 0" },
  keep = { "boolean", false, "whether the last axis stays, with extent 1" },
})

-- Norm of a - b + eps along the last axis
function nn.pairwise_distance(a, b, given)
  check_vectors("nn.pairwise_distance", a, b)
  local o = distance_options(given)
  return (a - b + o.eps):norm { -1, p = o.p, keep = o.keep }
end

local triplet_options = options.declare("nn.triplet_margin", {
  reduction = reduction,
  margin = { "number", 1.0, "by how much the negative must be farther away" },
  p = { "number", 2, "of the norm, see x:norm" },
  eps = { "number", 1e-6, "of nn.pairwise_distance" },
  swap = { "boolean", false, "whether the negative's distance is that from the positive, if it is nearer to it" },
})

-- max(0, margin + |anchor - positive| - |anchor - negative|) of vectors [..., width]
function nn.triplet_margin(anchor, near, far, given)
  local name = "nn.triplet_margin"
  check_pair(name, anchor, near, "anchor", "positive")
  check_pair(name, anchor, far, "anchor", "negative")
  local o = triplet_options(given)
  local distance = { p = o.p, eps = o.eps }
  local to_far = nn.pairwise_distance(anchor, far, distance)
  if o.swap then to_far = nn.min(to_far, nn.pairwise_distance(near, far, distance)) end
  return reduced(name, nn.relu(o.margin + nn.pairwise_distance(anchor, near, distance) - to_far), o.reduction)
end

local embedding_options = options.declare("nn.cosine_embedding", {
  reduction = reduction,
  margin = { "number", 0.0, "cosine up to which targets of -1 cost nothing" },
})

-- Of vectors [..., width] and targets [...]: 1 - cosine where target is 1, max(0, cosine - margin) where it is -1
function nn.cosine_embedding(a, b, target, given)
  local name, tiny = "nn.cosine_embedding", 9.999999960041972e-13      -- torch's 1e-12, in single precision
  check_pair(name, a, b, "a", "b")
  check_vectors(name, a)
  check_pair(name, a:select(-1, 0), target, "a without its last axis", "target")
  local o = embedding_options(given)
  local cosine = (a * b):sum(-1) / nn.sqrt(((a * a):sum(-1) + tiny) * ((b * b):sum(-1) + tiny))
  local of_others = nn.where(nn.eq(target, -1), nn.relu(cosine - o.margin), 0)
  return reduced(name, nn.where(nn.eq(target, 1), 1 - cosine, of_others), o.reduction)
end

local nce_options = options.declare("nn.info_nce", {
  temperature = { "value", 0.07, "that similarities are divided by: a number, or a learned scalar" },
  normalize = { "boolean", true, "whether the vectors are scaled to length 1" },
  both = { "boolean", true, "whether b also looks for its a, as in CLIP; the loss is the mean of both" },
})

-- Contrastive loss of pairs a[i], b[i] of vectors [pairs, width]: the cross entropy of each a choosing its b by
-- similarity, and each b its a (van den Oord et al. 2018, Radford et al. 2021)
function nn.info_nce(a, b, given)
  local name = "nn.info_nce"
  check_pair(name, a, b, "a", "b")
  if a.rank ~= 2 then
    fail("%s(a, b): both must be [pairs, width], found %s; x:reshape { -1, width } merges axes", name, core.text(a))
  end
  local o = nce_options(given)
  if type(o.temperature) == "number" then positive(name, "temperature", o.temperature) end
  if o.normalize then a, b = nn.normalize(a), nn.normalize(b) end
  local similarity = nn.dot(a, b, { contract = { -1, -1 } }) / o.temperature
  local pair = nn.iota(a:size(0))
  local loss = nn.cross_entropy(similarity, pair)
  if not o.both then return loss end
  return 0.5 * (loss + nn.cross_entropy(similarity:transpose(0, 1), pair))
end

losses.named("normalize", "cosine_similarity", "pairwise_distance", "triplet_margin", "cosine_embedding", "info_nce")
