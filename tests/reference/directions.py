"""directions.py: optimizers of tests/models/directed.lua, recorded for tests/models/test_direction.c, in float64.

    python3 tests/reference/record.py directions

start.NAME F32: parameters under their export names.  grad.NAME F32 [20][shape]: gradients given to update s.
KIND.after.NAME F64 [20][shape]: parameters after it.  The norm of all gradients is clipped to 1.5; the learning rate of
update s is 1 + s mod 5 times that of the description.  Muon and Adafactor are torch.optim's; Muon's iterations, which torch
rounds to bfloat16, keep the type of the gradient.  LAMB (You et al. 2020, algorithm 2) and the heavy ball are written here.
"""

import inspect

import torch
from torch.optim import _muon

STEPS, LAYERS, CLIP = 20, 3, 1.5
SHAPES = {f"layer.{i}.{n}.weight": s for i in range(LAYERS) for n, s in (("up", (12, 8)), ("down", (8, 12)))}
SHAPES |= {"head.weight": (5, 8), "head.bias": (5,)}


def unrounded_muon():
    source = inspect.getsource(_muon._zeropower_via_newtonschulz).replace("torch.bfloat16", "grad.dtype")
    exec(source, _muon.__dict__)


class Written:
    """An update written out: direction(optimizer, name, p, g, state, lr, step), then p -= lr (decay p + direction)."""

    def __init__(self, named, lr, direction):
        self.param_groups = [{"lr": lr, "initial": lr}]
        self.named, self.direction, self.state, self.count = named, direction, {n: {} for n in named}, 0

    @torch.no_grad()
    def step(self):
        self.count += 1
        lr = self.param_groups[0]["lr"]
        for n, p in self.named.items():
            p -= lr * self.direction(n, p, p.grad, self.state[n], lr, self.count)


def lamb(n, p, g, s, lr, step, beta1=0.9, beta2=0.999, eps=1e-6, decay=0.1):
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    r = s["m"] / (1 - beta1**step) / ((s["v"] / (1 - beta2**step)).sqrt() + eps)
    r = r + (decay if p.dim() > 1 else 0) * p
    return p.norm() / r.norm() * r


def heavy_ball(n, p, g, s, lr, step):
    s["v"] = 0.9 * s.get("v", 0) + lr * g
    return s["v"] / lr


def optimizers_of(kind, named):
    stacked, others = [p for n, p in named.items() if n.startswith("layer")], [p for n, p in named.items() if n.startswith("head")]
    if kind == "muon":
        adam = [{"params": [p], "weight_decay": 0.2 if p.dim() > 1 else 0.0} for p in others]
        return [torch.optim.Muon(stacked, lr=0.02, weight_decay=0.1), torch.optim.AdamW(adam, lr=0.005, betas=(0.9, 0.95))]
    if kind == "muon_plain":
        return [torch.optim.Muon(stacked, lr=0.01, momentum=0.9, nesterov=False, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
                torch.optim.SGD(others, lr=0.03)]
    if kind == "adafactor":
        groups = [{"params": [p], "weight_decay": 0.1 if p.dim() > 1 else 0.0} for p in named.values()]
        return [torch.optim.Adafactor(groups, lr=0.05, eps=(1e-7, 1e-3))]
    return [Written(named, 0.02, lamb if kind == "lamb" else heavy_ball)]


def directions():
    unrounded_muon()
    r = torch.Generator().manual_seed(77)
    exact = lambda *shape: torch.randn(shape, generator=r).float().double()
    start = {n: exact(*s) * 0.3 for n, s in SHAPES.items()}
    start = {n: x.float().double() for n, x in start.items()}
    grads = {n: exact(STEPS, *s) for n, s in SHAPES.items()}
    out = {f"start.{n}": x.float() for n, x in start.items()} | {f"grad.{n}": x.float() for n, x in grads.items()}
    for kind in ("muon", "muon_plain", "adafactor", "lamb", "own"):
        named = {n: x.clone().requires_grad_() for n, x in start.items()}
        all_of = optimizers_of(kind, named)
        first = [[g["lr"] for g in o.param_groups] for o in all_of]
        after = {n: [] for n in named}
        for s in range(STEPS):
            for n, p in named.items():
                p.grad = grads[n][s].clone()
            torch.nn.utils.clip_grad_norm_(list(named.values()), CLIP, foreach=False)
            for o, rates in zip(all_of, first):
                for g, rate in zip(o.param_groups, rates):
                    g["lr"] = rate * (1 + s % 5)
                o.step()
            for n, p in named.items():
                after[n].append(p.detach().clone())
        out |= {f"{kind}.after.{n}": torch.stack(x) for n, x in after.items()}
    return out, {"torch": torch.__version__.split("+")[0]}
