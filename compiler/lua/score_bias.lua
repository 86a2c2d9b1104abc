-- score_bias.lua: biases of attention scores by the distance between query and key: nn.alibi, nn.relative_bias.  Both are functions
-- of the positions of queries i32 [T] and keys i32 [S], so decode can call them for one query and the keys it remembers.
local core = ...
local nn = core.nn
local made = core.use("layer")
local layer, param, fail = made.layer, made.param, made.fail

-- 2^(-8 / n), 2^(-16 / n), … for n heads, a power of two; else those of the power below, and every other one of twice that.
local function slopes_of(heads)
  local below, slopes = 1, {}
  while 2 * below <= heads do below = 2 * below end
  for i = 1, below do slopes[i] = 2 ^ (-8 * i / below) end
  for i = 1, heads - below do slopes[below + i] = 2 ^ (-4 * (2 * i - 1) / below) end
  return slopes
end

-- Attention with linear biases (Press, Smith, Lewis 2022): score_bias = nn.alibi(heads) subtracts from each score the slope of its
-- head times the distance between query and key.  It has no parameters.
function nn.alibi(heads)
  if math.type(heads) ~= "integer" or heads < 1 then fail("nn.alibi(heads): heads must be a positive integer, found %s", core.text(heads)) end
  local slopes = slopes_of(heads)
  return core.wrap(function(queries, keys)
    local apart = queries:unsqueeze(-1) - keys
    return nn.constant(slopes):reshape { heads, 1, 1 } * -nn.max(apart, -apart):cast("f32")
  end, "nn.alibi")
end

local function single(x) return (string.unpack("f", string.pack("f", x))) end

-- The bucket, of n, of a distance: one each for the first n / 2 distances, then logarithmically up to `most`.  Computed in single
-- precision, as in the training of existing models.
local function bucket_of(distance, n, most)
  local exact = n // 2
  if distance < exact then return distance end
  local large = single(single(math.log(single(distance / exact))) / single(math.log(most / exact)))
  return math.min(exact + math.floor(single(large * (n - exact))), n - 1)
end

layer("relative_bias", "a learned number for each head and each bucket of distances from query to key (T5): a score_bias", {
  heads = { "integer", core.use("options").required, "of the attention" },
  buckets = { "integer", 32, "of distances" },
  most = { "integer", 128, "distances from this one on are in the last bucket" },
  both = { "boolean", false, "whether keys after the query have half of the buckets; default: they count as distance 0" },
  init = { "init", nn.init.normal(0.02), "of the numbers [buckets, heads]" },
}, function(_, o, queries, keys)
  local n = o.both and o.buckets // 2 or o.buckets
  if o.heads < 1 or n < 2 or o.most <= n // 2 then
    fail("nn.relative_bias: heads must be at least 1, buckets at least %d, and most above %d", o.both and 4 or 2, n // 2)
  end
  if not (nn.is_tensor(keys) and queries.rank == 1 and keys.rank == 1 and queries.dtype == "i32" and keys.dtype == "i32") then
    fail("nn.relative_bias takes the positions of queries and keys, i32 [T] and [S]: score_bias = nn.relative_bias { … }")
  end
  local table_of = {}                                                           -- by distance back, -most … most
  for back = -o.most, o.most do
    local bucket = bucket_of(math.max(o.both and -back or 0, back), n, o.most)
    table_of[#table_of + 1] = o.both and back < 0 and bucket + n or bucket
  end
  local weight = param("weight", { o.buckets, o.heads }, o.init)
  local by_distance = weight:gather(nn.constant(table_of, "i32"), 0)            -- [2 most + 1, heads]
  local back = nn.clamp(queries:unsqueeze(-1) - keys, -o.most, o.most) + o.most
  return by_distance:gather(back, 0):permute { 2, 0, 1 }
end)
