-- functions.lua: the library's functions without parameters, each of parameters of its own, for test_functions.c.
--
-- A case is a name, the shapes of its operands a, b, c, and the function.  The loss adds up y · cos(0, 1, 2, …) of all.
-- tests/reference/functions.py has the same cases in torch.
local cases = {
  -- activations
  { "leaky_relu", { { 12 } }, function(a) return nn.leaky_relu(a, 0.2) end },
  { "elu", { { 12 } }, function(a) return nn.elu(a, 1.5) end },
  { "selu", { { 12 } }, nn.selu },
  { "hardtanh", { { 12 } }, function(a) return nn.hardtanh(a, -0.5, 2) end },
  { "relu6", { { 12 } }, nn.relu6 },
  { "hardsigmoid", { { 12 } }, nn.hardsigmoid },
  { "hardswish", { { 12 } }, nn.hardswish },
  { "softsign", { { 12 } }, nn.softsign },
  { "log_sigmoid", { { 12 } }, nn.log_sigmoid },
  { "mish", { { 12 } }, nn.mish },
  { "glu", { { 3, 4 } }, function(a) return nn.glu(a, 0 - 1) end },
  { "soft_cap", { { 12 } }, function(a) return nn.soft_cap(a, 1.5) end },
  { "clamp", { { 12 } }, function(a) return a:clamp(-0.5, 2) end },
  { "clamp_low", { { 12 } }, function(a) return nn.clamp(a, 0.25) end },
  { "clamp_tensor", { { 12 }, { 12 } }, function(a, b) return nn.clamp(a, nil, b) end },
  { "one_hot", { { 3, 4 } }, function(a) return nn.one_hot(a:argmax(-1), 5) * a:sum(-1):unsqueeze(-1) end },

  -- reductions
  { "min", { { 3, 4 } }, function(a) return a:min(1) end },
  { "min_all", { { 3, 4 } }, function(a) return a:min() end },
  { "min_keep", { { 3, 4 } }, function(a) return a - a:min { 0, keepdim = true } end },
  { "prod", { { 3, 5 } }, function(a) return a:prod(-1) end },
  { "prod_all", { { 3, 5 } }, function(a) return a:prod() end },
  { "any", { { 3, 4 } }, function(a) return (a * nn.lt(0, a):any { -1, keep = true }:cast("f32")) end },
  { "all", { { 3, 4 } }, function(a) return (a * nn.lt(-1, a):all { 0, keep = true }:cast("f32")) end },
  { "var", { { 3, 4 } }, function(a) return a:var(-1) end },
  { "var_biased", { { 3, 4 } }, function(a) return a:var { 0, 1, correction = 0 } end },
  { "std", { { 3, 4 } }, function(a) return (a - a:mean { -1, keep = true }) / a:std { -1, keep = true } end },
  { "logsumexp", { { 3, 4 } }, function(a) return (100 * a):logsumexp(-1) end },
  { "norm", { { 3, 4 } }, function(a) return a:norm(-1) end },
  { "norm_1", { { 3, 4 } }, function(a) return a:norm { -1, p = 1 } end },
  { "norm_3", { { 3, 4 } }, function(a) return a:norm { -1, p = 3, keep = true } end },
  { "norm_inf", { { 3, 4 } }, function(a) return a:norm { -1, p = math.huge } end },
  { "argmin", { { 3, 4 } }, function(a) return a:argmin(-1):cast("f32") + a:argmax():cast("f32") end },

  -- losses
  { "mse", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.mse(a, b) end },
  { "l1", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.l1(a, b, { reduction = "sum" }) end },
  { "huber", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.huber(a, b, { delta = 0.7, reduction = "none" }) end },
  { "smooth_l1", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.smooth_l1(a, b, { beta = 0.7 }) end },
  { "bce", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.bce_with_logits(60 * a, nn.sigmoid(b)) end },
  { "bce_weight", { { 3, 4 }, { 3, 4 } }, function(a, b)
    return nn.bce_with_logits(a, nn.sigmoid(b), { pos_weight = 3, reduction = "none" })
  end },
  { "kl_div", { { 3, 4 }, { 3, 4 } }, function(a, b)
    return nn.kl_div(nn.log_softmax(a), nn.relu(b), { reduction = "batchmean" })
  end },
  { "kl_log", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.kl_div(nn.log_softmax(a), nn.log_softmax(b), { log_target = true }) end },
  { "nll", { { 3, 4 } }, function(a) return nn.nll(nn.log_softmax(a), nn.constant({ 2, -100, 0 }, "i32"), { ignore = -100 }) end },
  { "nll_none", { { 3, 4 } }, function(a) return nn.nll(nn.log_softmax(a), nn.constant({ 2, 3, 0 }, "i32"), { reduction = "none" }) end },

  -- sums of products
  { "einsum_matmul", { { 3, 4 }, { 4, 5 } }, function(a, b) return nn.einsum("ij,jk->ik", a, b) end },
  { "einsum_implicit", { { 3, 4 }, { 4, 2 } }, function(a, b) return nn.einsum("bj, ja", a, b) end },
  { "einsum_trace", { { 4, 4 } }, function(a) return nn.einsum("ii", a) end },
  { "einsum_diagonal", { { 4, 3, 4 } }, function(a) return nn.einsum("iji->ji", a) end },
  { "einsum_heads", { { 2, 3, 4, 5 }, { 2, 6, 4, 5 } }, function(a, b) return nn.einsum("bqhd,bkhd->bhqk", a, b) end },
  { "einsum_three", { { 3, 4 }, { 3, 5 }, { 4, 5 } }, function(a, b, c) return nn.einsum("bi,bj,ij->b", a, b, c) end },
  { "einsum_outer", { { 3 }, { 4 } }, function(a, b) return nn.einsum("i,j->ji", a, b) end },
  { "einsum_ellipsis", { { 2, 3, 4 }, { 3, 4, 5 } }, function(a, b) return nn.einsum("...j,...jk->...k", a, b) end },
  { "einsum_summed", { { 3, 4 }, { 5, 4 } }, function(a, b) return nn.einsum("ij,kj->j", a, b) end },
  { "einsum_one", { { 3, 1 }, { 4, 5 } }, function(a, b) return nn.einsum("ij,jk->ik", a, b) end },
  { "einsum_sum", { { 3, 4 } }, function(a) return nn.einsum("ij->", a) end },
  { "einsum_elements", { { 3, 4 }, { 3, 4 } }, function(a, b) return nn.einsum("ij,ij->ji", a, b) end },

  -- no gradient
  { "stopped", { { 12 }, { 12 } }, function(a, b) return nn.tanh(a * b) * nn.stop_gradient(nn.tanh(a * b)) end },
  { "stopped_loop", { { 3, 4 } }, function(a)
    local _, ys = nn.scan(a, nn.zeros { 3 }, function(x, h)
      h = nn.tanh(x + h:stop_gradient() + 0.5 * h)
      return h, h * nn.stop_gradient(x)
    end)
    return ys
  end },
  { "stopped_stack", { { 4 } }, function(a)
    return nn.checkpoint(function(x)
      return nn.stack(3, x, function(x, i) return x + nn.sin(x) * nn.stop_gradient(nn.sin(x)) * (i:cast("f32") + 1) end)
    end, a)
  end },

  -- running values, vectors
  { "cumprod", { { 5, 7 } }, function(a) return a:cumprod(1) end },
  { "cumprod_back", { { 5, 3 } }, function(a) return a:cumprod(0, true) end },
  { "normalize", { { 4, 5 } }, function(a) return nn.normalize(a) end },
  { "normalize_1", { { 4, 5 } }, function(a) return nn.normalize(a, { p = 1, axis = 0, eps = 3.0 }) end },
  { "cosine", { { 4, 5 }, { 4, 5 } }, function(a, b) return nn.cosine_similarity(a, b) end },
  { "cosine_all", { { 3, 5, 1 }, { 5, 4 } }, function(a, b) return nn.cosine_similarity(a, b, { axis = 1, eps = 2 }) end },
  { "distance", { { 4, 5 }, { 4, 5 } }, function(a, b) return nn.pairwise_distance(a, b) end },
  { "distance_3", { { 4, 5 }, { 5 } }, function(a, b) return nn.pairwise_distance(a, b, { p = 3, eps = 0.1, keep = true }) end },

  -- in order: the gradient goes to where a value comes from
  { "cummax", { { 4, 9 } }, function(a)
    local values, ids = a:cummax(-1)
    return values * (1 + ids:cast("f32"))
  end },
  { "cummin", { { 9, 4 } }, function(a)
    local values, ids = a:cummin(0, true)
    return values * (1 + ids:cast("f32"))
  end },
  { "sort", { { 3, 13 } }, function(a)
    local values, ids = a:sort()
    return values * (1 + ids:cast("f32"))
  end },
  { "sort_falling", { { 2, 13, 3 } }, function(a)
    local values, ids = a:sort(1, true)
    return values * (1 + ids:cast("f32"))
  end },
  { "order_nan", { { 3, 9 } }, function(a)       -- the logarithms of negative numbers
    local _, most = nn.log(a):cummax(1)
    return (most + 10 * nn.log(a):argsort() + 100 * nn.log(a):argsort(1, true)):cast("f32")
  end },

  -- more losses
  { "focal", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.focal(20 * a, nn.lt(0, b):cast("f32")) end },
  { "focal_soft", { { 3, 5 }, { 3, 5 } }, function(a, b)
    return nn.focal(a, nn.sigmoid(b), { alpha = -1, gamma = 0.5, reduction = "none" })
  end },
  { "focal_0", { { 3, 5 } }, function(a) return nn.focal(a, nn.lt(0, a):cast("f32"), { gamma = 0, reduction = "sum" }) end },
  { "pinball", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.pinball(a, b, { quantiles = 0.3, reduction = "none" }) end },
  { "pinball_list", { { 2, 4, 3 }, { 2, 4 } }, function(a, b) return nn.pinball(a, b, { quantiles = { 0.1, 0.5, 0.9 } }) end },
  { "gaussian", { { 3, 5 }, { 3, 5 }, { 3, 5 } }, function(a, b, c)
    return nn.gaussian_nll(a, b, nn.softplus(c), { eps = 0.5, reduction = "none" })
  end },
  { "gaussian_row", { { 3, 5 }, { 3, 5 }, { 3 } }, function(a, b, c)
    return nn.gaussian_nll(a, b, nn.softplus(c), { full = true })
  end },
  { "gaussian_one", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.gaussian_nll(a, b, 0.25, { reduction = "sum" }) end },
  { "poisson", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.poisson_nll(a, 3 * nn.relu(b), { reduction = "none" }) end },
  { "poisson_full", { { 3, 5 }, { 3, 5 } }, function(a, b)
    return nn.poisson_nll(a, 3 * nn.relu(b), { full = true, reduction = "none" })
  end },
  { "poisson_rate", { { 3, 5 }, { 3, 5 } }, function(a, b)
    return nn.poisson_nll(nn.relu(a), 3 * nn.relu(b), { log_input = false, eps = 0.01 })
  end },
  { "soft_margin", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.soft_margin(30 * a, nn.sign(b)) end },
  { "hinge", { { 3, 5 }, { 3, 5 } }, function(a, b)
    return nn.hinge_embedding(a, nn.sign(b), { margin = 0.5, reduction = "none" })
  end },
  { "ranking", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.margin_ranking(a, b, nn.sign(b), { reduction = "none" }) end },
  { "ranking_margin", { { 3, 5 }, { 3, 5 } }, function(a, b) return nn.margin_ranking(a, b, nn.sign(b), { margin = 0.75 }) end },
  { "triplet", { { 5, 3 }, { 5, 3 }, { 5, 3 } }, function(a, b, c) return nn.triplet_margin(a, b, c, { reduction = "none" }) end },
  { "triplet_swap", { { 5, 3 }, { 5, 3 }, { 5, 3 } }, function(a, b, c)
    return nn.triplet_margin(a, b, c, { margin = 0.5, p = 1, eps = 0.01, swap = true })
  end },
  { "cosine_loss", { { 4, 5 }, { 4, 5 } }, function(a, b)
    return nn.cosine_embedding(a, b, nn.constant { 1, -1, 1, -1 }, { margin = 0.1, reduction = "none" })
  end },
  { "info_nce", { { 5, 3 }, { 5, 3 } }, function(a, b) return nn.info_nce(a, b) end },
  { "info_nce_one", { { 5, 3 }, { 5, 3 }, {} }, function(a, b, c)
    return nn.info_nce(a, b, { both = false, normalize = false, temperature = nn.exp(c) })
  end },
  { "ce_weight", { { 7, 5 } }, function(a)
    local ids, weight = nn.constant({ 2, -100, 0, 4, -100, 4, 1 }, "i32"), nn.constant { 0.5, 2, 1, 0.25, 3 }
    return nn.cross_entropy(a, ids, { weight = weight, smoothing = 0.1, ignore = -100 })
  end },
  { "ce_none", { { 7, 5 } }, function(a)
    local ids, weight = nn.constant({ 2, 3, 0, 4, 3, 4, 1 }, "i32"), nn.constant { 0.5, 2, 1, 0.25, 3 }
    return nn.cross_entropy(a, ids, { weight = weight, ignore = 3, reduction = "none" })
  end },
  { "ce_sum", { { 7, 5 } }, function(a)
    return nn.cross_entropy(a, nn.constant({ 2, 3, 0, 4, 3, 4, 1 }, "i32"), { smoothing = 0.2, reduction = "sum" })
  end },
  { "nll_weight", { { 3, 4 } }, function(a)
    local ids, weight = nn.constant({ 2, -100, 0 }, "i32"), nn.constant { 0.5, 2, 1, 3 }
    return nn.nll(nn.log_softmax(a), ids, { ignore = -100, weight = weight })
  end },

  -- alignments: repeated labels, short rows, what is behind a row's labels, what does not fit
  { "ctc", { { 3, 11, 5 } }, function(a)
    local labels = nn.constant({ 1, 1, 2, 2, 4, 3, 4, -1, 3, 99, 99, 99 }, "i32"):reshape { 3, 4 }
    return nn.ctc(nn.log_softmax(a), labels, nn.constant({ 11, 8, 9 }, "i32"), nn.constant({ 4, 3, 1 }, "i32"))
  end },
  { "ctc_whole", { { 2, 7, 3 } }, function(a)
    local labels = nn.constant({ 1, 0, 0, 1, 1, 0 }, "i32"):reshape { 2, 3 }
    return nn.ctc(nn.log_softmax(30 * a), labels, nil, nil, { blank = 2, reduction = "sum" })
  end },
  { "ctc_zero", { { 4, 4, 3 } }, function(a)
    local labels = nn.constant({ 1, 1, 1, 1, 2, 1, 2, 2, 1, 1, 2, 1 }, "i32"):reshape { 4, 3 }
    local times, counts = nn.constant({ 4, 4, 0, 0 }, "i32"), nn.constant({ 3, 3, 0, 1 }, "i32")
    return nn.ctc(nn.log_softmax(a), labels, times, counts, { zero_infinity = true, reduction = "none" })
  end },
  { "ctc_never", { { 2, 5, 3 } }, function(a)      -- some classes have probability 0 at some times
    local closed = nn.constant({ 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0 }):reshape { 5, 3 }
    local open = nn.where(nn.eq(closed, 1), -math.huge, a)
    return nn.ctc(nn.log_softmax(open), nn.constant({ 1, 2, 1, 1 }, "i32"):reshape { 2, 2 }, nil, nil, { reduction = "none" })
  end },
  { "ce_mixed", { { 7, 5 }, { 7 } }, function(a, b)
    local ids, other = nn.constant({ 2, 3, 0, 4, 3, 4, 1 }, "i32"), nn.constant({ 3, 0, 4, 3, 4, 1, 1 }, "i32")
    return nn.cross_entropy(a, ids, { other = other, share = nn.sigmoid(b), smoothing = 0.2 })
  end },

  -- with z_loss: ids that do not count, weights of classes, the head without logits, weights of rows
  { "z_loss", { { 7, 5 } }, function(a)
    return nn.cross_entropy(3 * a, nn.constant({ 2, -100, 0, 4, -100, 4, 1 }, "i32"), { z_loss = 0.1, ignore = -100 })
  end },
  { "z_loss_weight", { { 7, 5 } }, function(a)
    local ids, weight = nn.constant({ 2, -100, 0, 4, -100, 4, 1 }, "i32"), nn.constant { 0.5, 2, 1, 0.25, 3 }
    return nn.cross_entropy(a, ids, { weight = weight, smoothing = 0.1, ignore = -100, z_loss = 0.1 })
  end },
  { "z_loss_head", { { 7, 3 }, { 5, 3 }, { 5 } }, function(a, b, c)
    local ids = nn.constant({ 2, -100, 0, 4, -100, 4, 1 }, "i32")
    local loss = nn.linear_cross_entropy(a, ids, { weight = b, bias = c, smoothing = 0.2, ignore = -100, z_loss = 0.1 })
    return loss
  end },
  { "z_loss_rows", { { 7, 3 }, { 3, 5 } }, function(a, b)
    local ids, rows = nn.constant({ 2, 3, 0, 4, 3, 4, 1 }, "i32"), nn.constant { 0.5, 0, 1, 0.25, 3, 1, 2 }
    local loss = nn.linear_cross_entropy(a, ids, { weight = b, layout = "in_out", row_weight = rows, z_loss = 0.1 })
    return loss
  end },
}

return {
  config = { batch = 1, features = 1 },
  forward = function()
    local loss, outputs = nn.zeros {}, {}
    for _, case in ipairs(cases) do
      local name, shapes, f = table.unpack(case)
      local operands = {}
      for i, shape in ipairs(shapes) do operands[i] = nn.param { name = name .. "_" .. ("abc"):sub(i, i), shape = shape } end
      local y = f(table.unpack(operands))
      local flat = y:reshape { -1 }
      loss = loss + (flat * nn.cos(nn.iota(flat:size(0)):cast("f32"))):sum()
      outputs[name] = y
    end
    return loss, outputs
  end,
  decode = false,
  train = { optimizer = optim.adamw { lr = 1e-3 }, steps = 1 },
  data = data.csv { target = "class" },
}
