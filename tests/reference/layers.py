"""layers.py: the cases of tests/lua/layers.lua in torch, for record.py: values and gradients in float64.

    python3 tests/reference/record.py layers

weight.CASE_x, weight.CASE.weight, weight.CASE.bias F32: the input, channels last, and the layer's parameters;
y.CASE F64 [elements], channels last; grad.CASE_x, grad.CASE.weight, … F64: of the sum over all cases of
y · cos(0, 1, 2, …).
"""

import torch
import torch.nn as nn

IDS = torch.tensor([[0, 3, 3, 5], [1, 2, 4, 5]])
PADDED = torch.tensor([[0, 2, 3], [2, 2, 2], [5, 5, 1]])


def cases():
    pool = dict(kernel_size=(3, 4), stride=(2, 3), padding=(1, 2), ceil_mode=True)
    cube = dict(kernel_size=(2, 3, 2), stride=(1, 2, 2), padding=(1, 1, 0))
    return {
        "conv1d": ([2, 7, 3], nn.Conv1d(3, 4, 3, padding=1)),
        "conv1d_groups": ([2, 9, 4], nn.Conv1d(4, 6, 2, stride=2, dilation=3, groups=2)),
        "conv1d_same": ([2, 6, 3], nn.Conv1d(3, 2, 4, padding="same", bias=False)),
        "conv2d": ([2, 5, 7, 3], nn.Conv2d(3, 4, 3)),
        "conv2d_point": ([2, 3, 2, 4], nn.Conv2d(4, 5, 1, stride=(1, 2), bias=False)),
        "conv2d_lists": ([2, 7, 6, 3], nn.Conv2d(3, 2, (3, 2), stride=(2, 1), padding=(0, 1), dilation=(1, 3))),
        "conv2d_same": ([2, 4, 5, 2], nn.Conv2d(2, 3, (2, 3), dilation=(3, 1), padding="same")),
        "conv2d_groups": ([2, 5, 6, 4], nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2)),
        "conv2d_depthwise": ([2, 5, 4, 3], nn.Conv2d(3, 6, (3, 2), padding=1, groups=3)),
        "conv3d": ([1, 3, 4, 5, 2], nn.Conv3d(2, 3, 2, padding=(1, 0, 1), stride=(1, 2, 3))),
        "conv3d_groups": ([2, 3, 3, 4, 4], nn.Conv3d(4, 2, (2, 1, 3), dilation=(2, 1, 1), groups=2, bias=False)),
        "conv3d_depthwise": ([1, 3, 2, 4, 2], nn.Conv3d(2, 2, (3, 1, 2), padding="same", groups=2)),
        "transpose1d": ([2, 5, 3], nn.ConvTranspose1d(3, 4, 3)),
        "transpose1d_all": ([2, 4, 4], nn.ConvTranspose1d(
            4, 6, 4, stride=3, padding=2, output_padding=1, dilation=2, groups=2)),
        "transpose2d": ([2, 3, 4, 3], nn.ConvTranspose2d(3, 2, 4, stride=2, padding=1)),
        "transpose2d_lists": ([1, 4, 3, 4], nn.ConvTranspose2d(
            4, 2, (3, 2), stride=(2, 1), padding=(0, 1), output_padding=(1, 2), dilation=(1, 3), groups=2)),
        "transpose2d_gaps": ([1, 2, 3, 2], nn.ConvTranspose2d(2, 4, (1, 2), stride=3, groups=2, bias=False)),
        "transpose3d": ([1, 2, 3, 2, 4], nn.ConvTranspose3d(4, 2, (2, 3, 1), stride=(1, 2, 3), groups=2)),
        "max1d": ([2, 9, 3], nn.MaxPool1d(3, 2, 1)),
        "max2d": ([2, 5, 6, 3], nn.MaxPool2d(2)),
        "max2d_all": ([2, 7, 8, 2], nn.MaxPool2d((3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 3))),
        "max2d_ceil": ([2, 6, 5, 2], nn.MaxPool2d(**pool)),
        "max1d_behind": ([2, 8, 2], nn.MaxPool1d(2, 4, ceil_mode=True)),
        "max2d_ties": ([2, 5, 5, 2], nn.MaxPool2d(3, 1)),
        "max3d": ([1, 3, 4, 5, 2], nn.MaxPool3d(**cube)),
        "avg1d": ([2, 9, 3], nn.AvgPool1d(4, 2, 2)),
        "avg2d": ([2, 5, 6, 3], nn.AvgPool2d((2, 3))),
        "avg2d_inside": ([2, 6, 5, 2], nn.AvgPool2d(3, (2, 1), (1, 0), count_include_pad=False)),
        "avg2d_ceil": ([2, 6, 5, 2], nn.AvgPool2d(**pool)),
        "avg2d_ceil_inside": ([2, 6, 7, 2], nn.AvgPool2d((3, 2), 2, (1, 0), ceil_mode=True, count_include_pad=False)),
        "avg1d_behind": ([2, 9, 2], nn.AvgPool1d(3, 5, 1, ceil_mode=True)),
        "avg3d": ([1, 3, 4, 5, 2], nn.AvgPool3d(**cube)),
        "fitted_avg1d": ([2, 7, 3], nn.AdaptiveAvgPool1d(3)),
        "fitted_avg2d": ([2, 5, 6, 2], nn.AdaptiveAvgPool2d((4, 3))),
        "fitted_avg2d_more": ([1, 3, 5, 2], nn.AdaptiveAvgPool2d((7, 1))),
        "fitted_avg3d": ([1, 3, 4, 5, 2], nn.AdaptiveAvgPool3d((2, 4, 3))),
        "fitted_max1d": ([2, 7, 3], nn.AdaptiveMaxPool1d(3)),
        "fitted_max2d": ([2, 5, 6, 2], nn.AdaptiveMaxPool2d((4, 3))),
        "fitted_max3d": ([1, 3, 4, 5, 2], nn.AdaptiveMaxPool3d((2, 4, 3))),
        "groupnorm": ([3, 4, 5, 6], nn.GroupNorm(3, 6)),
        "groupnorm_flat": ([3, 8], nn.GroupNorm(2, 8, eps=0.1, affine=False)),
        "groupnorm_one": ([2, 3, 6], nn.GroupNorm(1, 6)),
        "groupnorm_each": ([2, 3, 2, 2, 4], nn.GroupNorm(4, 4)),
        "instancenorm": ([2, 5, 3, 4], nn.InstanceNorm2d(4)),
        "instancenorm_affine": ([2, 7, 3], nn.InstanceNorm1d(3, affine=True, eps=0.1)),
        "response": ([2, 3, 4, 7], nn.LocalResponseNorm(5, alpha=0.1)),
        "response_even": ([2, 4, 6], nn.LocalResponseNorm(4, alpha=0.5, beta=0.6, k=2)),
        "nearest1d": ([2, 5, 3], nn.Upsample(8)),
        "nearest2d": ([2, 3, 4, 2], nn.Upsample(scale_factor=2)),
        "nearest2d_less": ([1, 7, 6, 2], nn.Upsample((3, 9))),
        "nearest3d": ([1, 2, 3, 4, 2], nn.Upsample(scale_factor=(1.5, 3, 0.75))),
        "linear": ([2, 5, 3], nn.Upsample(8, mode="linear")),
        "linear_corners": ([2, 5, 3], nn.Upsample(scale_factor=1.7, mode="linear", align_corners=True)),
        "bilinear": ([2, 4, 5, 2], nn.Upsample(scale_factor=2, mode="bilinear")),
        "bilinear_scales": ([1, 4, 5, 2], nn.Upsample(scale_factor=(1.7, 0.5), mode="bilinear")),
        "bilinear_size": ([1, 5, 6, 2], nn.Upsample((8, 4), mode="bilinear")),
        "bilinear_corners": ([1, 5, 6, 2], nn.Upsample((8, 1), mode="bilinear", align_corners=True)),
        "trilinear": ([1, 3, 2, 4, 2], nn.Upsample((4, 3, 5), mode="trilinear")),
        "bag": (IDS, nn.EmbeddingBag(6, 3)),
        "bag_sum": (IDS, nn.EmbeddingBag(6, 3, mode="sum")),
        "bag_max": (IDS, nn.EmbeddingBag(6, 3, mode="max")),
        "bag_padded": (PADDED, nn.EmbeddingBag(6, 3, padding_idx=2)),
        "bag_sum_padded": (PADDED, nn.EmbeddingBag(6, 3, mode="sum", padding_idx=2)),
        "bag_max_padded": (PADDED, nn.EmbeddingBag(6, 3, mode="max", padding_idx=2)),
    }


def drawn(shape, r):
    """Exact as float32."""
    return torch.randn(shape, generator=r, dtype=torch.float64).float().double()


def layers():
    """What record.py saves as layers.safetensors."""
    r, tensors = torch.Generator().manual_seed(2200), {}
    for name, (shape, module) in cases().items():
        ids = isinstance(shape, torch.Tensor)
        x = shape if ids else drawn(shape, r)
        if name == "max2d_ties":
            x = x.round()                                       # the first of equal elements has the gradient
        weights = {} if ids else {name + "_x": x.requires_grad_()}
        for key, p in module.double().named_parameters():
            p.data = drawn(p.shape, r)
            weights[f"{name}.{key}"] = p
        flat = (module(x) if ids else module(x.movedim(-1, 1)).movedim(1, -1)).reshape(-1)
        (flat * torch.cos(torch.arange(len(flat), dtype=torch.float64))).sum().backward()
        tensors["y." + name] = flat
        for key, p in weights.items():
            tensors["weight." + key] = p.detach().float()
            tensors["grad." + key] = p.grad
    return tensors
