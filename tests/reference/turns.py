"""turns.py: tests/models/turns.lua in torch, for record.py, in float64.

    python3 tests/reference/record.py turns

x F32 [6][12][5], z F32 [6][12][3]: inputs of six steps.  Of each KIND, plain and normal (with a batch norm in the generator):
KIND.weight.NAME F32: parameters before; KIND.TURN F64 [steps in which the turn is due]: its losses; KIND.after.NAME F64:
parameters after six steps, and of normal the running statistics.  A turn changes the statistics of its own layers only.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, ROWS, WIDE, NOISE, WIDTH = 6, 12, 5, 3, 7


class Generator(nn.Module):
    def __init__(self, normal):
        super().__init__()
        self.up, self.out = nn.Linear(NOISE, WIDTH), nn.Linear(WIDTH, WIDE)
        if normal:
            self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, z):
        x = self.up(z)
        return self.out(torch.tanh(self.norm(x) if hasattr(self, "norm") else x))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.out = nn.Linear(WIDE, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.out(F.leaky_relu(self.up(x), 0.2))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.back = nn.Linear(WIDE, NOISE)

    def forward(self, x):
        return self.back(x)


def losses(m, x, z, turn):
    if hasattr(m.generator, "norm"):
        m.generator.norm.momentum = 0.1 if turn == "generator" else 0.0
    made = m.generator(z)
    d = m.discriminator(made)
    return {
        "discriminator": lambda: (F.softplus(-m.discriminator(x)) + F.softplus(d)).mean(),
        "generator": lambda: F.softplus(-d).mean(),
        "encoder": lambda: F.mse_loss(m.encoder(made), z),
    }[turn]()


def optimizers(m):
    matrices = [p for p in m.encoder.parameters() if p.dim() > 1]
    others = [p for p in m.encoder.parameters() if p.dim() == 1]
    return {
        "discriminator": torch.optim.Adam(m.discriminator.parameters(), lr=1e-2, betas=(0.5, 0.999)),
        "generator": torch.optim.SGD(m.generator.parameters(), lr=0.05, momentum=0.9, nesterov=True),
        "encoder": torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=1e-2),
    }


def step(m, optimizer, number, x, z, told):
    for turn, o in optimizer.items():
        if turn == "encoder" and number % 2 == 0:
            continue
        loss = losses(m, x, z, turn)
        m.zero_grad()
        loss.backward()
        told[turn].append(loss.detach())
        if turn == "discriminator":
            nn.utils.clip_grad_norm_(m.discriminator.parameters(), 0.3)
        if turn == "generator":
            o.param_groups[0]["lr"] = 0.01 + (0.05 - 0.01) * (1 - number / STEPS)
        o.step()


def turns():
    """What record.py saves as turns.safetensors."""
    r = torch.Generator().manual_seed(2400)
    drawn = lambda *shape: torch.randn(shape, generator=r, dtype=torch.float64).float().double()
    x, z = drawn(STEPS, ROWS, WIDE), drawn(STEPS, ROWS, NOISE)
    tensors = {"x": x.float(), "z": z.float()}
    for kind in "plain", "normal":
        m = nn.ModuleDict({"generator": Generator(kind == "normal"), "discriminator": Discriminator(), "encoder": Encoder()}).double()
        for p in m.parameters():
            p.data = drawn(*p.shape)
        tensors.update({f"{kind}.weight.{name}": p.detach().clone().float() for name, p in m.named_parameters()})
        told, optimizer = {"discriminator": [], "generator": [], "encoder": []}, optimizers(m)
        for number in range(STEPS):
            step(m, optimizer, number, x[number], z[number], told)
        tensors.update({f"{kind}.{turn}": torch.stack(values) for turn, values in told.items()})
        tensors.update({f"{kind}.after.{name}": p.detach() for name, p in m.named_parameters()})
        tensors.update({f"{kind}.after.{name}": b for name, b in m.named_buffers() if b.dim()})
    return tensors
