"""optimizers.py: updates of step/optim.c and rates of step/schedule.c, recorded from torch.optim, for tests/step/test_optim.c.

    python3 tests/reference/record.py

optimizers: updates of step/optim.c.  start.w [3][4], start.b [5], start.c [3]; grad.w [20][3][4], …, gradients given to
update s; NAME.w [20][3][4], …: parameters after it.  The metadata has under NAME the settings "key=value …" of the recipe
(w decays, b does not); rate of update s: 0.01 (1 + s mod 5) where no schedule is said.  In `groups` b has half the rate and
a decay of its own, and c, present in no other, is frozen.  NAME.average.w [20][3][4], …: the mean of parameters after it, of
ema with min(decay, (1 + s) / (10 + s)).  All of it is torch.optim's but schedule_free, which is the package schedulefree's,
and lion and ema, which are written out here.

schedules: NAME.rate [T], NAME.momentum [T] where it is cycled, of T updates; settings in the metadata likewise, torch's
words for them being in schedules().
"""

import math

import numpy as np
import torch
import torch.nn as nn
from schedulefree import AdamWScheduleFree

STEPS = 20


class Lion:
    """Chen et al. 2023, algorithm 2, with the interface of torch.optim that is used here."""

    def __init__(self, groups, lr, betas):
        self.param_groups = [dict(g, lr=lr, m=[torch.zeros_like(p) for p in g["params"]]) for g in groups]
        self.betas = betas

    def zero_grad(self):
        pass

    @torch.no_grad()
    def step(self):
        first, second = self.betas
        for g in self.param_groups:
            for p, m in zip(g["params"], g["m"]):
                update = (first * m + (1 - first) * p.grad).sign() + g["weight_decay"] * p
                m.copy_(second * m + (1 - second) * p.grad)
                p -= g["lr"] * update


def settings_text(**settings):
    return " ".join(f"{k}={v}" for k, v in settings.items())


def make_optimizer(kind, w, b, decay, betas, momentum, nesterov, centered):
    own = {"w": decay, "b": 0.0}
    groups = [{"params": [p], "weight_decay": own[n]} for n, p in (("w", w), ("b", b))]
    if kind == "sgd":
        return torch.optim.SGD([w, b], lr=1.0, momentum=momentum, nesterov=nesterov, foreach=False)
    if kind == "rmsprop":
        return torch.optim.RMSprop(groups, lr=1.0, alpha=betas[1], eps=1e-8, momentum=momentum, centered=centered, foreach=False)
    if kind == "schedule_free":
        o = AdamWScheduleFree(groups, lr=1.0, betas=betas, eps=1e-8, foreach=False)
        o.train()
        return o
    if kind == "lion":
        return Lion(groups, 1.0, betas)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](groups, lr=1.0, betas=betas, eps=1e-8, foreach=False)


def optimizers():
    r, N = torch.Generator().manual_seed(400), STEPS
    exact = lambda *shape: torch.randn(shape, generator=r).float().double()
    start = {"w": exact(3, 4), "b": exact(5), "c": exact(3)}
    grads = {n: exact(N, *p.shape) * (1.0 + torch.arange(N) % 4).reshape(N, *[1] * p.dim()) for n, p in start.items()}
    out = {f"start.{n}": p for n, p in start.items()} | {f"grad.{n}": g for n, g in grads.items()}
    metadata = {"torch": torch.__version__.split("+")[0]}
    variants = {
        "adamw": dict(optimizer="adamw", decay=0.1, clip=1.5), "adam": dict(optimizer="adam", decay=0.1, clip=1.5),
        "lion": dict(optimizer="lion", decay=0.3, clip=1.5), "sgd": dict(optimizer="sgd"),
        "momentum": dict(optimizer="sgd", momentum=0.9, clip=1.5),
        "nesterov": dict(optimizer="sgd", momentum=0.9, nesterov=1, clip_value=0.75),
        "both_clips": dict(optimizer="adam", clip=3.0, clip_value=0.5),
        "groups": dict(optimizer="adamw", decay=0.1, clip=1.5),
        "one_cycle": dict(optimizer="adamw", decay=0.1, schedule="one_cycle", lr=0.01),
        "one_cycle_sgd": dict(optimizer="sgd", momentum=0.9, schedule="one_cycle", lr=0.01),
        "rmsprop": dict(optimizer="rmsprop", decay=0.1),
        "rmsprop_momentum": dict(optimizer="rmsprop", momentum=0.9, clip=1.5),
        "rmsprop_centered": dict(optimizer="rmsprop", centered=1),
        "rmsprop_all": dict(optimizer="rmsprop", momentum=0.9, centered=1, decay=0.1, clip_value=0.75),
        "schedule_free": dict(optimizer="schedule_free", decay=0.1, clip=1.5, schedule="constant", lr=0.05, warmup=6),
        "ema": dict(optimizer="adamw", decay=0.1, clip=1.5, ema=0.6),
        "clip_weights": dict(optimizer="rmsprop", clip_weights=0.5),
    }
    for name, v in variants.items():
        w, b = (start[n].clone().requires_grad_() for n in "wb")
        betas = (0.9, 0.95)
        o = make_optimizer(v["optimizer"], w, b, v.get("decay", 0.0), betas, v.get("momentum", 0.0), v.get("nesterov", 0) == 1,
                           v.get("centered", 0) == 1)
        if name == "groups":
            o.param_groups[1]["weight_decay"] = 0.05
        cycle = None
        if v.get("schedule") == "one_cycle":
            cycle = torch.optim.lr_scheduler.OneCycleLR(o, max_lr=v["lr"], total_steps=N)
        ws, bs, means, averages = [], [], {n: start[n].clone() for n in "wb"}, {"w": [], "b": []}
        for s in range(N):
            w.grad, b.grad = grads["w"][s].clone(), grads["b"][s].clone()
            if v.get("clip"):
                nn.utils.clip_grad_norm_([w, b], v["clip"], foreach=False)
            if v.get("clip_value"):
                nn.utils.clip_grad_value_([w, b], v["clip_value"], foreach=False)
            if v.get("schedule") == "constant":
                for g in o.param_groups:
                    g["lr"] = v["lr"] * min(1.0, (s + 1) / (v["warmup"] + 1))
            elif not cycle:
                for k, g in enumerate(o.param_groups):
                    g["lr"] = 0.01 * (1 + s % 5) * (0.5 if name == "groups" and k == 1 else 1.0)
            o.step()
            if v.get("clip_weights"):
                for p in (w, b):
                    p.data.clamp_(-v["clip_weights"], v["clip_weights"])
            if cycle and s + 1 < N:
                cycle.step()
            ws.append(w.detach().clone())
            bs.append(b.detach().clone())
            for n, p in (("w", w), ("b", b)):
                if v["optimizer"] == "schedule_free":       # x, of y = (1 - beta1) z + beta1 x
                    means[n] = (p.detach() - (1 - betas[0]) * o.state[p]["z"]) / betas[0]
                if "ema" in v:
                    d = min(v["ema"], (1 + s) / (10 + s))
                    means[n] = d * means[n] + (1 - d) * p.detach()
                averages[n].append(means[n].clone())
        out[f"{name}.w"], out[f"{name}.b"] = torch.stack(ws), torch.stack(bs)
        if name in ("schedule_free", "ema"):
            out |= {f"{name}.average.{n}": torch.stack(x) for n, x in averages.items()}
        metadata[name] = settings_text(**v, beta1=betas[0], beta2=betas[1], steps=N)
    return out, metadata


def schedules():
    """Each on a parameter of its own; what torch's names for the settings are, stands beside ours."""
    T, out, metadata = 60, {}, {"torch": torch.__version__.split("+")[0]}
    scheduler = torch.optim.lr_scheduler

    def put(name, make, momentum=False, **ours):
        o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2, momentum=0.9)
        s, rates, momenta = make(o), [], []
        for t in range(T):
            rates.append(o.param_groups[0]["lr"])
            momenta.append(o.param_groups[0]["momentum"])
            o.step()
            if t + 1 < T:
                s.step()
        out[f"{name}.rate"] = np.array(rates)
        if momentum:
            out[f"{name}.momentum"] = np.array(momenta)
        metadata[name] = settings_text(lr=0.2, steps=T, optimizer="sgd", momentum=0.9, **ours)

    put("one_cycle", lambda o: scheduler.OneCycleLR(o, max_lr=0.2, total_steps=T), True, schedule="one_cycle")
    put("one_cycle_warm", lambda o: scheduler.OneCycleLR(o, max_lr=0.2, total_steps=T, pct_start=7 / T, div_factor=10.0,
                                                         final_div_factor=100.0, base_momentum=0.8, max_momentum=0.99),
        True, schedule="one_cycle", warmup=7, start_div=10, final_div=100, low_momentum=0.8, high_momentum=0.99)
    put("one_cycle_still", lambda o: scheduler.OneCycleLR(o, max_lr=0.2, total_steps=T, pct_start=0.25, cycle_momentum=False),
        True, schedule="one_cycle", warm_fraction=0.25, cycle_momentum=0)
    put("step", lambda o: scheduler.StepLR(o, step_size=9, gamma=0.7), schedule="step", step_every=9, step_factor=0.7)
    put("milestones", lambda o: scheduler.MultiStepLR(o, milestones=[5, 20, 21, 50], gamma=0.3), schedule="step",
        milestones="5,20,21,50", step_factor=0.3)
    warm = lambda t, w: (t + 1) / (w + 1)
    put("inverse_sqrt", lambda o: scheduler.LambdaLR(o, lambda t: min(warm(t, 12), (13 / (t + 1)) ** 0.5)),
        schedule="inverse_sqrt", warmup=12)
    put("linear", lambda o: scheduler.LambdaLR(o, lambda t: min(warm(t, 10), 0.1 + 0.9 * (60 - t) / 50)), schedule="linear",
        warmup=10, final_lr=0.02)
    put("cosine", lambda o: scheduler.CosineAnnealingLR(o, T_max=T, eta_min=0.02), schedule="cosine", final_lr=0.02)
    put("cosine_short", lambda o: scheduler.LambdaLR(o, lambda t: 0.5 * (1 + math.cos(math.pi * t / 40)) if t < 40 else 0.0),
        schedule="cosine", schedule_steps=40)
    put("cooldown", lambda o: scheduler.LambdaLR(o, lambda t: min(warm(t, 5), 1.0, 0.25 + 0.75 * (60 - t) / 15)), schedule="constant",
        warmup=5, cooldown=15, final_lr=0.05)
    return out, metadata
