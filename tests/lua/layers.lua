-- layers.lua: the library's layers over one to three axes, each of an input that is a parameter, for test_layers.c.
--
-- A case is a name, the shape of its input, the layer and its options; ids in place of a parameter.  The loss adds up
-- y · cos(0, 1, 2, …) of all.  tests/reference/layers.py has the same cases in torch.
local cases = {
  -- convolutions
  { "conv1d", { 2, 7, 3 }, "conv1d", { out = 4, kernel = 3, padding = 1 } },
  { "conv1d_groups", { 2, 9, 4 }, "conv1d", { out = 6, kernel = { 2 }, stride = 2, dilation = 3, groups = 2 } },
  { "conv1d_same", { 2, 6, 3 }, "conv1d", { out = 2, kernel = 4, padding = "same", bias = false } },
  { "conv2d", { 2, 5, 7, 3 }, "conv2d", { out = 4, kernel = 3 } },
  { "conv2d_point", { 2, 3, 2, 4 }, "conv2d", { out = 5, kernel = 1, stride = { 1, 2 }, bias = false } },
  { "conv2d_lists", { 2, 7, 6, 3 }, "conv2d",
    { out = 2, kernel = { 3, 2 }, stride = { 2, 1 }, padding = { 0, 1 }, dilation = { 1, 3 } } },
  { "conv2d_same", { 2, 4, 5, 2 }, "conv2d", { out = 3, kernel = { 2, 3 }, dilation = { 3, 1 }, padding = "same" } },
  { "conv2d_groups", { 2, 5, 6, 4 }, "conv2d", { out = 6, kernel = 3, stride = 2, padding = 1, groups = 2 } },
  { "conv2d_depthwise", { 2, 5, 4, 3 }, "conv2d", { out = 6, kernel = { 3, 2 }, padding = 1, groups = 3 } },
  { "conv3d", { 1, 3, 4, 5, 2 }, "conv3d", { out = 3, kernel = 2, padding = { 1, 0, 1 }, stride = { 1, 2, 3 } } },
  { "conv3d_groups", { 2, 3, 3, 4, 4 }, "conv3d",
    { out = 2, kernel = { 2, 1, 3 }, dilation = { 2, 1, 1 }, groups = 2, bias = false } },
  { "conv3d_depthwise", { 1, 3, 2, 4, 2 }, "conv3d", { out = 2, kernel = { 3, 1, 2 }, padding = "same", groups = 2 } },

  -- transposed
  { "transpose1d", { 2, 5, 3 }, "conv_transpose1d", { out = 4, kernel = 3 } },
  { "transpose1d_all", { 2, 4, 4 }, "conv_transpose1d",
    { out = 6, kernel = 4, stride = 3, padding = 2, output_padding = 1, dilation = 2, groups = 2 } },
  { "transpose2d", { 2, 3, 4, 3 }, "conv_transpose2d", { out = 2, kernel = 4, stride = 2, padding = 1 } },
  { "transpose2d_lists", { 1, 4, 3, 4 }, "conv_transpose2d",
    { out = 2, kernel = { 3, 2 }, stride = { 2, 1 }, padding = { 0, 1 }, output_padding = { 1, 2 }, dilation = { 1, 3 },
      groups = 2 } },
  { "transpose2d_gaps", { 1, 2, 3, 2 }, "conv_transpose2d",
    { out = 4, kernel = { 1, 2 }, stride = 3, groups = 2, bias = false } },
  { "transpose3d", { 1, 2, 3, 2, 4 }, "conv_transpose3d",
    { out = 2, kernel = { 2, 3, 1 }, stride = { 1, 2, 3 }, groups = 2 } },

  -- pools
  { "max1d", { 2, 9, 3 }, "max_pool1d", { kernel = 3, stride = 2, padding = 1 } },
  { "max2d", { 2, 5, 6, 3 }, "max_pool2d", { kernel = 2 } },
  { "max2d_all", { 2, 7, 8, 2 }, "max_pool2d",
    { kernel = { 3, 2 }, stride = { 1, 2 }, padding = { 1, 0 }, dilation = { 2, 3 } } },
  { "max2d_ceil", { 2, 6, 5, 2 }, "max_pool2d",
    { kernel = { 3, 4 }, stride = { 2, 3 }, padding = { 1, 2 }, ceil_mode = true } },
  { "max1d_behind", { 2, 8, 2 }, "max_pool1d", { kernel = 2, stride = 4, ceil_mode = true } },
  { "max2d_ties", { 2, 5, 5, 2 }, "max_pool2d", { kernel = 3, stride = 1 } },
  { "max3d", { 1, 3, 4, 5, 2 }, "max_pool3d", { kernel = { 2, 3, 2 }, stride = { 1, 2, 2 }, padding = { 1, 1, 0 } } },
  { "avg1d", { 2, 9, 3 }, "avg_pool1d", { kernel = 4, stride = 2, padding = 2 } },
  { "avg2d", { 2, 5, 6, 3 }, "avg_pool2d", { kernel = { 2, 3 } } },
  { "avg2d_inside", { 2, 6, 5, 2 }, "avg_pool2d",
    { kernel = 3, stride = { 2, 1 }, padding = { 1, 0 }, count_include_pad = false } },
  { "avg2d_ceil", { 2, 6, 5, 2 }, "avg_pool2d",
    { kernel = { 3, 4 }, stride = { 2, 3 }, padding = { 1, 2 }, ceil_mode = true } },
  { "avg2d_ceil_inside", { 2, 6, 7, 2 }, "avg_pool2d",
    { kernel = { 3, 2 }, stride = { 2, 2 }, padding = { 1, 0 }, ceil_mode = true, count_include_pad = false } },
  { "avg1d_behind", { 2, 9, 2 }, "avg_pool1d", { kernel = 3, stride = 5, padding = 1, ceil_mode = true } },
  { "avg3d", { 1, 3, 4, 5, 2 }, "avg_pool3d", { kernel = { 2, 3, 2 }, stride = { 1, 2, 2 }, padding = { 1, 1, 0 } } },
  { "fitted_avg1d", { 2, 7, 3 }, "adaptive_avg_pool1d", { size = 3 } },
  { "fitted_avg2d", { 2, 5, 6, 2 }, "adaptive_avg_pool2d", { size = { 4, 3 } } },
  { "fitted_avg2d_more", { 1, 3, 5, 2 }, "adaptive_avg_pool2d", { size = { 7, 1 } } },
  { "fitted_avg3d", { 1, 3, 4, 5, 2 }, "adaptive_avg_pool3d", { size = { 2, 4, 3 } } },
  { "fitted_max1d", { 2, 7, 3 }, "adaptive_max_pool1d", { size = 3 } },
  { "fitted_max2d", { 2, 5, 6, 2 }, "adaptive_max_pool2d", { size = { 4, 3 } } },
  { "fitted_max3d", { 1, 3, 4, 5, 2 }, "adaptive_max_pool3d", { size = { 2, 4, 3 } } },

  -- norms
  { "groupnorm", { 3, 4, 5, 6 }, "groupnorm", { groups = 3 } },
  { "groupnorm_flat", { 3, 8 }, "groupnorm", { groups = 2, eps = 0.1, affine = false } },
  { "groupnorm_one", { 2, 3, 6 }, "groupnorm", { groups = 1 } },
  { "groupnorm_each", { 2, 3, 2, 2, 4 }, "groupnorm", { groups = 4 } },
  { "instancenorm", { 2, 5, 3, 4 }, "instancenorm", {} },
  { "instancenorm_affine", { 2, 7, 3 }, "instancenorm", { affine = true, eps = 0.1 } },
  { "response", { 2, 3, 4, 7 }, "local_response_norm", { size = 5, alpha = 0.1 } },
  { "response_even", { 2, 4, 6 }, "local_response_norm", { size = 4, alpha = 0.5, beta = 0.6, k = 2 } },

  -- other sizes
  { "nearest1d", { 2, 5, 3 }, "upsample", { size = 8 } },
  { "nearest2d", { 2, 3, 4, 2 }, "upsample", { scale = 2 } },
  { "nearest2d_less", { 1, 7, 6, 2 }, "upsample", { size = { 3, 9 }, mode = "nearest" } },
  { "nearest3d", { 1, 2, 3, 4, 2 }, "upsample", { scale = { 1.5, 3, 0.75 } } },
  { "linear", { 2, 5, 3 }, "upsample", { size = 8, mode = "linear" } },
  { "linear_corners", { 2, 5, 3 }, "upsample", { scale = 1.7, mode = "linear", align_corners = true } },
  { "bilinear", { 2, 4, 5, 2 }, "upsample", { scale = 2, mode = "bilinear" } },
  { "bilinear_scales", { 1, 4, 5, 2 }, "upsample", { scale = { 1.7, 0.5 }, mode = "bilinear" } },
  { "bilinear_size", { 1, 5, 6, 2 }, "upsample", { size = { 8, 4 }, mode = "bilinear" } },
  { "bilinear_corners", { 1, 5, 6, 2 }, "upsample", { size = { 8, 1 }, mode = "bilinear", align_corners = true } },
  { "trilinear", { 1, 3, 2, 4, 2 }, "upsample", { size = { 4, 3, 5 }, mode = "trilinear" } },

  -- bags: of ids 0 … 5
  { "bag", { 2, 4 }, "embedding_bag", { rows = 6, width = 3 }, { 0, 3, 3, 5, 1, 2, 4, 5 } },
  { "bag_sum", { 2, 4 }, "embedding_bag", { rows = 6, width = 3, mode = "sum" }, { 0, 3, 3, 5, 1, 2, 4, 5 } },
  { "bag_max", { 2, 4 }, "embedding_bag", { rows = 6, width = 3, mode = "max" }, { 0, 3, 3, 5, 1, 2, 4, 5 } },
  { "bag_padded", { 3, 3 }, "embedding_bag", { rows = 6, width = 3, padding = 2 }, { 0, 2, 3, 2, 2, 2, 5, 5, 1 } },
  { "bag_sum_padded", { 3, 3 }, "embedding_bag",
    { rows = 6, width = 3, mode = "sum", padding = 2 }, { 0, 2, 3, 2, 2, 2, 5, 5, 1 } },
  { "bag_max_padded", { 3, 3 }, "embedding_bag",
    { rows = 6, width = 3, mode = "max", padding = 2 }, { 0, 2, 3, 2, 2, 2, 5, 5, 1 } },
}

local function input_of(name, shape, ids)
  return ids and nn.constant(ids, "i32"):reshape(shape) or nn.param { name = name .. "_x", shape = shape }
end

return {
  config = { batch = 1, features = 1 },
  forward = function()
    local loss, outputs = nn.zeros {}, {}
    for _, case in ipairs(cases) do
      local name, shape, kind, options, ids = table.unpack(case)
      local with_name = { name = name }
      for key, value in pairs(options) do with_name[key] = value end
      local y = nn[kind](input_of(name, shape, ids), with_name)
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
