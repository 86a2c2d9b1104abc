"""functions.py: the cases of tests/lua/functions.lua in torch, for record.py: values and gradients in float64.

    python3 tests/reference/record.py functions

weight.CASE_a … F64: operands, exact as float32; y.CASE F64 [elements]; grad.CASE_a … F64: of the sum over all cases of
y · cos(0, 1, 2, …).  Operands hold corners: zeros, bounds, ties that are not differentiated.
"""

import itertools
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


def softplus(x):
    """log(1 + e^x) for all x."""
    return F.softplus(x, threshold=1000)


def focal(x, t, alpha=0.25, gamma=2.0):
    """torchvision.ops.sigmoid_focal_loss, without its reduction."""
    p = torch.sigmoid(x)
    loss = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    missed = p * (1 - t) + torch.sigmoid(-x) * t               # torchvision's 1 - p_t, before what is near 0 cancels
    loss = loss * missed ** gamma
    return loss * (alpha * t + (1 - alpha) * (1 - t)) if alpha >= 0 else loss


def mixed(b, ids, others):
    """Probabilities of the classes, as torchvision's MixUp makes them."""
    share = torch.sigmoid(b)[:, None]
    return share * F.one_hot(torch.tensor(ids), 5) + (1 - share) * F.one_hot(torch.tensor(others), 5)


def pinball(x, t, q):
    d = t - x
    return torch.where(d >= 0, q * d, (q - 1) * d)


def info_nce(a, b):
    s = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / 0.07
    return (F.cross_entropy(s, torch.arange(5)) + F.cross_entropy(s.T, torch.arange(5))) / 2


def ctc(a, labels, times, counts, **options):
    return F.ctc_loss(F.log_softmax(a, -1).transpose(0, 1), torch.tensor(labels), torch.tensor(times), torch.tensor(counts), **options)


def ctc_by_paths(a, labels):
    """-log of the sum over all paths that read as the labels: finite gradients where probabilities are 0."""
    p, losses = F.softmax(torch.where(CLOSED == 1, -math.inf, a), -1), []
    for row, want in zip(p, labels):
        total = 0
        for path in itertools.product(range(3), repeat=5):
            if [k for k, _ in itertools.groupby(path) if k] == want:
                total = total + math.prod(row[t, k] for t, k in enumerate(path))
        losses.append(-torch.log(total))
    return torch.stack(losses)


def weighed(values, ids, last=None):
    """last: ids count from there, backwards."""
    return values * (1 + (ids if last is None else last - ids))


def order_nan(a):
    x = a.detach().log()
    falling = x.argsort(dim=1, descending=True, stable=True)
    return (x.cummax(1)[1] + 10 * x.argsort(dim=-1, stable=True) + 100 * falling).double() + 0 * a


WEIGHT = torch.tensor([0.5, 2, 1, 0.25, 3], dtype=torch.float64)
CLOSED = torch.tensor([[0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]])
IGNORED = torch.tensor([2, -100, 0])
SOME, ALL = torch.tensor([2, -100, 0, 4, -100, 4, 1]), torch.tensor([2, 3, 0, 4, 3, 4, 1])


def with_z(logits, ids, weight=None, **options):
    """The mean over the ids that count, by their classes' weights, of 0.1 log²Z beside the cross entropy."""
    counts = ids >= 0
    each = weight[ids[counts]] if weight is not None else torch.ones(int(counts.sum()), dtype=torch.float64)
    z = 0.1 * logits[counts].logsumexp(-1) ** 2
    return F.cross_entropy(logits, ids, weight, **options) + (each * z).sum() / each.sum()


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
    "soft_cap": ([12], lambda a: 1.5 * torch.tanh(a / 1.5)),
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
    "cumprod": ([5, 7], lambda a: a.cumprod(1)),
    "cumprod_back": ([5, 3], lambda a: a.flip(0).cumprod(0).flip(0)),
    "normalize": ([4, 5], lambda a: F.normalize(a, dim=-1)),
    "normalize_1": ([4, 5], lambda a: F.normalize(a, p=1, dim=0, eps=3.0)),
    "cosine": ([4, 5], [4, 5], lambda a, b: F.cosine_similarity(a, b, dim=-1)),
    "cosine_all": ([3, 5, 1], [5, 4], lambda a, b: F.cosine_similarity(a, b, dim=1, eps=2.0)),
    "distance": ([4, 5], [4, 5], F.pairwise_distance),
    "distance_3": ([4, 5], [5], lambda a, b: F.pairwise_distance(a, b, p=3, eps=0.1, keepdim=True)),
    "focal": ([3, 5], [3, 5], lambda a, b: focal(20 * a, (b > 0).double()).mean()),
    "focal_soft": ([3, 5], [3, 5], lambda a, b: focal(a, torch.sigmoid(b), -1, 0.5)),
    "focal_0": ([3, 5], lambda a: focal(a, (a > 0).double(), gamma=0).sum()),
    "pinball": ([3, 5], [3, 5], lambda a, b: pinball(a, b, 0.3)),
    "pinball_list": ([2, 4, 3], [2, 4], lambda a, b: pinball(a, b[..., None], torch.tensor([0.1, 0.5, 0.9])).mean()),
    "gaussian": ([3, 5], [3, 5], [3, 5], lambda a, b, c: F.gaussian_nll_loss(a, b, softplus(c), eps=0.5, reduction="none")),
    "gaussian_row": ([3, 5], [3, 5], [3], lambda a, b, c: F.gaussian_nll_loss(a, b, softplus(c), full=True)),
    "gaussian_one": ([3, 5], [3, 5], lambda a, b: F.gaussian_nll_loss(a, b, 0.25, reduction="sum")),
    "poisson": ([3, 5], [3, 5], lambda a, b: F.poisson_nll_loss(a, 3 * F.relu(b), reduction="none")),
    "poisson_full": ([3, 5], [3, 5], lambda a, b: F.poisson_nll_loss(a, 3 * F.relu(b), full=True, reduction="none")),
    "poisson_rate": ([3, 5], [3, 5], lambda a, b: F.poisson_nll_loss(F.relu(a), 3 * F.relu(b), log_input=False, eps=0.01)),
    "soft_margin": ([3, 5], [3, 5], lambda a, b: softplus(-b.sign() * 30 * a).mean()),      # torch's own is infinite from 710 on
    "hinge": ([3, 5], [3, 5], lambda a, b: F.hinge_embedding_loss(a, b.sign(), 0.5, reduction="none")),
    "ranking": ([3, 5], [3, 5], lambda a, b: F.margin_ranking_loss(a, b, b.sign(), reduction="none")),
    "ranking_margin": ([3, 5], [3, 5], lambda a, b: F.margin_ranking_loss(a, b, b.sign(), 0.75)),
    "triplet": ([5, 3], [5, 3], [5, 3], lambda a, b, c: F.triplet_margin_loss(a, b, c, reduction="none")),
    "triplet_swap": ([5, 3], [5, 3], [5, 3], lambda a, b, c: F.triplet_margin_loss(a, b, c, 0.5, p=1, eps=0.01, swap=True)),
    "cosine_loss": ([4, 5], [4, 5], lambda a, b: F.cosine_embedding_loss(
        a, b, torch.tensor([1.0, -1.0, 1.0, -1.0]), 0.1, reduction="none")),
    "info_nce": ([5, 3], [5, 3], info_nce),
    "info_nce_one": ([5, 3], [5, 3], [], lambda a, b, c: F.cross_entropy(a @ b.T / c.exp(), torch.arange(5))),
    "ce_weight": ([7, 5], lambda a: F.cross_entropy(a, torch.tensor([2, -100, 0, 4, -100, 4, 1]), WEIGHT, label_smoothing=0.1)),
    "ce_none": ([7, 5], lambda a: F.cross_entropy(a, torch.tensor([2, 3, 0, 4, 3, 4, 1]), WEIGHT, ignore_index=3, reduction="none")),
    "ce_sum": ([7, 5], lambda a: F.cross_entropy(a, torch.tensor([2, 3, 0, 4, 3, 4, 1]), reduction="sum", label_smoothing=0.2)),
    "nll_weight": ([3, 4], lambda a: F.nll_loss(F.log_softmax(a, -1), IGNORED, WEIGHT[[0, 1, 2, 4]])),
    "ctc": ([3, 11, 5], lambda a: ctc(a, [[1, 1, 2, 2], [4, 3, 4, 0], [3, 0, 0, 0]], [11, 8, 9], [4, 3, 1])),
    "ctc_whole": ([2, 7, 3], lambda a: ctc(30 * a, [[1, 0, 0], [1, 1, 0]], [7, 7], [3, 3], blank=2, reduction="sum")),
    "ctc_zero": ([4, 4, 3], lambda a: ctc(a, [[1, 1, 1], [1, 2, 1], [2, 2, 1], [1, 2, 1]], [4, 4, 0, 0], [3, 3, 0, 1],
                                          zero_infinity=True, reduction="none")),
    "ctc_never": ([2, 5, 3], lambda a: ctc_by_paths(a, [[1, 2], [1, 1]])),
    "cummax": ([4, 9], lambda a: weighed(*a.cummax(-1))),
    "cummin": ([9, 4], lambda a: weighed(*(x.flip(0) for x in a.flip(0).cummin(0)), last=8)),
    "sort": ([3, 13], lambda a: weighed(*a.sort(stable=True))),
    "sort_falling": ([2, 13, 3], lambda a: weighed(*a.sort(dim=1, descending=True, stable=True))),
    "order_nan": ([3, 9], order_nan),
    "ce_mixed": ([7, 5], [7], lambda a, b: F.cross_entropy(a, mixed(b, [2, 3, 0, 4, 3, 4, 1], [3, 0, 4, 3, 4, 1, 1]), label_smoothing=0.2)),
    "z_loss": ([7, 5], lambda a: with_z(3 * a, SOME)),
    "z_loss_weight": ([7, 5], lambda a: with_z(a, SOME, WEIGHT, label_smoothing=0.1)),
    "z_loss_head": ([7, 3], [5, 3], [5], lambda a, b, c: with_z(a @ b.T + c, SOME, label_smoothing=0.2)),
    "z_loss_rows": ([7, 3], [3, 5], lambda a, b: (torch.tensor([0.5, 0.0, 1.0, 0.25, 3.0, 1.0, 2.0]) * (
        F.cross_entropy(a @ b, ALL, reduction="none") + 0.1 * (a @ b).logsumexp(-1) ** 2)).sum()),
}
TIED = ("pinball", "distance", "ranking", "triplet")            # elements of a and b that are equal
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
    if name in ("cumprod", "cumprod_back"):
        xs[0][2, 1] = xs[0][3, 1] = xs[0][3, 2] = xs[0][4, 0] = xs[0][0, 0] = 0.0
    if name in ("normalize", "cosine", "cosine_loss"):
        xs[0][0], xs[0][1] = 0.0, 2.0**-50 * xs[0][1]           # shorter than eps
    if name in ("cummax", "cummin", "sort", "sort_falling"):
        xs[0] = xs[0].round()                                   # with ties
    if name in TIED:
        xs[1][1, :2] = xs[0][1, :2]
    if name == "distance":
        xs[1][2] = xs[0][2] + 2.0**-20                          # a difference of -eps, all but
    if name == "hinge":
        xs[0][1, :2], xs[1][0, 0] = 0.5, 0.0
    if name.startswith("poisson"):
        xs[0][0, 0], xs[1][0, 0], xs[1][1, 1] = 0.0, 0.0, 0.25
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
