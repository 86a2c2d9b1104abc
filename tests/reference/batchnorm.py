"""batchnorm.py: tests/lua/batchnorm.lua in torch, for record.py, in float64.

    python3 tests/reference/record.py batchnorm

weight.NAME F32: parameters, under Lathe's names.  image, by F32 [6][4][5][7][3]: inputs of six batches, each trained on
without an update; loss F64 [6]; grad.NAME F64 [6][…]; state.NAME F64 [6][…]: running statistics after each.  Then in
evaluation, of the first batch: y.NAME F64, eval.loss, eval.grad.NAME F64.  Names of the stack's copies are h.0.NAME.
"""

import torch
import torch.nn as nn

BATCHES, ROWS, HIGH, WIDE, CHANNELS = 6, 4, 5, 7, 3


def last(module, x):
    """A norm of channels last."""
    return module(x.movedim(-1, 1)).movedim(1, -1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(CHANNELS, CHANNELS), nn.BatchNorm2d(CHANNELS)

    def forward(self, x):
        return x + torch.tanh(last(self.norm, self.linear(x)))


class Batchnorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.offset = (nn.Parameter(torch.zeros(HIGH, WIDE, CHANNELS)) for _ in range(2))
        self.two = nn.BatchNorm1d(HIGH * WIDE * CHANNELS, eps=0.05)
        self.three = nn.BatchNorm1d(CHANNELS, affine=False)
        self.four = nn.BatchNorm2d(CHANNELS, momentum=0.25)
        self.five = nn.BatchNorm3d(CHANNELS, eps=0.1, momentum=1.0)
        self.layers = nn.Sequential(Layer(), Layer())
        self.shared = nn.BatchNorm2d(CHANNELS)

    def forward(self, image):
        x = image * self.scale + self.offset
        return {
            "two": self.two(x.reshape(ROWS, -1)),
            "three": last(self.three, x.reshape(ROWS, HIGH * WIDE, CHANNELS)),
            "four": last(self.four, x),
            "five": last(self.five, x.reshape(ROWS, HIGH, 1, WIDE, CHANNELS)),
            "layers": self.layers(x),
            "again": last(self.shared, torch.sin(last(self.shared, x * x))),
        }


def loss_of(y, by):
    return sum((v * by.reshape(v.shape)).mean() + (v * v * torch.sin(v)).mean() for v in y.values())


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def batchnorm():
    """What record.py saves as batchnorm.safetensors."""
    r = torch.Generator().manual_seed(2300)
    drawn = lambda shape: torch.randn(shape, generator=r, dtype=torch.float64).float().double()
    model = Batchnorm().double()
    for p in model.parameters():
        p.data = drawn(p.shape)
    image, by = (drawn((BATCHES, ROWS, HIGH, WIDE, CHANNELS)) for _ in range(2))
    tensors = {"weight." + name: p.detach().float() for name, p in model.named_parameters()}
    tensors.update({"image": image.float(), "by": by.float()})
    losses, grads, states = [], [], []
    for k in range(BATCHES):
        loss = loss_of(model(image[k]), by[k])
        grads.append(gradients(model, loss))
        losses.append(loss.detach())
        states.append({name: b.clone() for name, b in model.named_buffers() if b.dim()})
    tensors["loss"] = torch.stack(losses)
    tensors.update({"grad." + name: torch.stack([g[name] for g in grads]) for name in grads[0]})
    tensors.update({"state." + name: torch.stack([s[name] for s in states]) for name in states[0]})
    model.eval()
    y = model(image[0])
    loss = loss_of(y, by[0])
    tensors.update({"y." + name: v for name, v in y.items()})
    tensors["eval.loss"] = loss.reshape(1)
    tensors.update({"eval.grad." + name: g for name, g in gradients(model, loss).items()})
    return tensors
