"""functions.py: the cases of tests/lua/functions.lua in torch, for record.py: values and gradients in float64.

    python3 tests/reference/record.py functions

weight.CASE_a … F64: operands, exact as float32; y.CASE F64 [elements]; grad.CASE_a … F64: of the sum over all cases of
y · cos(0, 1, 2, …).  Operands hold corners: zeros, bounds, ties that are not differentiated.
"""

import math

import torch
import torch.nn.functional as F


def stopped_loop(a):
    h, ys = torch.zeros(3, dtype=torch.float64), []
    for x in a.unbind(1):
        h = torch.tanh(x + h.detach() + 0.5 * h)
        ys.append(h * x.detach())
    return torch.stack(ys, 1)


def stopped_stack(x):
    for i in range(3):
        x = x + torch.sin(x) * torch.sin(x).detach() * (i + 1)
    return x


def mean_free(a):
    return (a - a.mean(-1, keepdim=True)) / a.std(-1, keepdim=True)


def einsum(spec):
    return lambda *operands: torch.einsum(spec, *operands)


IGNORED = torch.tensor([2, -100, 0])
CASES = {
    "leaky_relu": ([12], lambda a: F.leaky_relu(a, 0.2)),
    "elu": ([12], lambda a: F.elu(a, 1.5)),
    "selu": ([12], F.selu),
    "hardtanh": ([12], lambda a: F.hardtanh(a, -0.5, 2)),
    "relu6": ([12], F.relu6),
    "hardsigmoid": ([12], lambda a: F.relu6(a + 3) / 6),        # torch's own gradient has a 1 / 6 of single precision
    "hardswish": ([12], lambda a: a * F.relu6(a + 3) / 6),      # torch's own differs at the corners, -3 and 3
    "softsign": ([12], F.softsign),
    "log_sigmoid": ([12], F.logsigmoid),
    "mish": ([12], F.mish),
    "glu": ([3, 4], F.glu),
    "clamp": ([12], lambda a: a.clamp(-0.5, 2)),
    "clamp_low": ([12], lambda a: a.clamp(min=0.25)),
    "clamp_tensor": ([12], [12], lambda a, b: torch.clamp(a, max=b)),
    "one_hot": ([3, 4], lambda a: F.one_hot(a.argmax(-1), 5) * a.sum(-1, keepdim=True)),
    "min": ([3, 4], lambda a: a.amin(1)),
    "min_all": ([3, 4], lambda a: a.amin()),
    "min_keep": ([3, 4], lambda a: a - a.amin(0, keepdim=True)),
    "prod": ([3, 5], lambda a: a.prod(-1)),
    "prod_all": ([3, 5], lambda a: a.prod()),
    "any": ([3, 4], lambda a: a * (a > 0).any(-1, keepdim=True)),
    "all": ([3, 4], lambda a: a * (a > -1).all(0, keepdim=True)),
    "var": ([3, 4], lambda a: a.var(-1)),
    "var_biased": ([3, 4], lambda a: a.var((0, 1), correction=0)),
    "std": ([3, 4], mean_free),
    "logsumexp": ([3, 4], lambda a: (100 * a).logsumexp(-1)),
    "norm": ([3, 4], lambda a: torch.linalg.vector_norm(a, dim=-1)),
    "norm_1": ([3, 4], lambda a: torch.linalg.vector_norm(a, 1, -1)),
    "norm_3": ([3, 4], lambda a: torch.linalg.vector_norm(a, 3, -1, keepdim=True)),
    "norm_inf": ([3, 4], lambda a: torch.linalg.vector_norm(a, math.inf, -1)),
    "argmin": ([3, 4], lambda a: (a.argmin(-1) + a.argmax()).double() + 0 * a.sum()),
    "mse": ([3, 4], [3, 4], F.mse_loss),
    "l1": ([3, 4], [3, 4], lambda a, b: F.l1_loss(a, b, reduction="sum")),
    "huber": ([3, 4], [3, 4], lambda a, b: F.huber_loss(a, b, delta=0.7, reduction="none")),
    "smooth_l1": ([3, 4], [3, 4], lambda a, b: F.smooth_l1_loss(a, b, beta=0.7)),
    "bce": ([3, 4], [3, 4], lambda a, b: F.binary_cross_entropy_with_logits(60 * a, torch.sigmoid(b))),
    "bce_weight": ([3, 4], [3, 4], lambda a, b: F.binary_cross_entropy_with_logits(
        a, torch.sigmoid(b), pos_weight=torch.tensor(3.0, dtype=torch.float64), reduction="none")),
    "kl_div": ([3, 4], [3, 4], lambda a, b: F.kl_div(F.log_softmax(a, -1), F.relu(b), reduction="batchmean")),
    "kl_log": ([3, 4], [3, 4], lambda a, b: F.kl_div(F.log_softmax(a, -1), F.log_softmax(b, -1), reduction="mean", log_target=True)),
    "nll": ([3, 4], lambda a: F.nll_loss(F.log_softmax(a, -1), IGNORED)),
    "nll_none": ([3, 4], lambda a: F.nll_loss(F.log_softmax(a, -1), torch.tensor([2, 3, 0]), reduction="none")),
    "einsum_matmul": ([3, 4], [4, 5], einsum("ij,jk->ik")),
    "einsum_implicit": ([3, 4], [4, 2], einsum("bj, ja")),
    "einsum_trace": ([4, 4], einsum("ii")),
    "einsum_diagonal": ([4, 3, 4], einsum("iji->ji")),
    "einsum_heads": ([2, 3, 4, 5], [2, 6, 4, 5], einsum("bqhd,bkhd->bhqk")),
    "einsum_three": ([3, 4], [3, 5], [4, 5], einsum("bi,bj,ij->b")),
    "einsum_outer": ([3], [4], einsum("i,j->ji")),
    "einsum_ellipsis": ([2, 3, 4], [3, 4, 5], einsum("...j,...jk->...k")),
    "einsum_summed": ([3, 4], [5, 4], einsum("ij,kj->j")),
    "einsum_one": ([3, 1], [4, 5], einsum("ij,jk->ik")),
    "einsum_sum": ([3, 4], einsum("ij->")),
    "einsum_elements": ([3, 4], [3, 4], einsum("ij,ij->ji")),
    "stopped": ([12], [12], lambda a, b: torch.tanh(a * b) * torch.tanh(a * b).detach()),
    "stopped_loop": ([3, 4], stopped_loop),
    "stopped_stack": ([4], stopped_stack),
}
CORNERS = [0.0, -0.5, 2.0, 6.0, 1.0, 0.25]


def operands(name, shapes, r):
    xs = [(2 * torch.randn(s, generator=r, dtype=torch.float64)).float().double() for s in shapes]
    if shapes == [[12]]:                                        # of elements alone: the corners too
        xs[0][:len(CORNERS)] = torch.tensor(CORNERS, dtype=torch.float64)
    if name in ("prod", "prod_all", "norm", "norm_3", "bce"):
        xs[0][1, 2] = 0.0
    if name == "norm":
        xs[0][0] = 0.0                                          # a whole row
    if name == "kl_div":
        xs[1][0, 0] = 0.0
    return [x.requires_grad_() for x in xs]


def functions():
    """What record.py saves as functions.safetensors."""
    r, tensors = torch.Generator().manual_seed(1900), {}
    for name, (*shapes, f) in CASES.items():
        xs = operands(name, shapes, r)
        y = f(*xs)
        flat = y.reshape(-1)
        (flat * torch.cos(torch.arange(len(flat), dtype=torch.float64))).sum().backward()
        tensors["y." + name] = flat
        for letter, x in zip("abc", xs):
            tensors[f"weight.{name}_{letter}"] = x
            tensors[f"grad.{name}_{letter}"] = x.grad if x.grad is not None else torch.zeros_like(x)
    return tensors
