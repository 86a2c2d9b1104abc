"""train_forecast.py: PatchTST in PyTorch, trained by Lathe's recipe, to compare what both reach.

    train_forecast.py data OUT.csv                      half-hourly demand for electricity, of pmdarima (R's forecast::taylor)
    train_forecast.py train TRAINER DATA.csv WEIGHTS SEED…    WEIGHTS has {} for the seed: what `TRAINER init` writes
    train_forecast.py same TRAINER DATA.csv WEIGHTS FORECASTS.npy    largest difference of forecasts from the same weights

TRAINER is built of models/forecast.lua for DATA.csv, whose columns are all forecast.  Windows are cut, scaled and divided here by
NumPy alone.  FORECASTS.npy is what `TRAINER predict --every-window` writes.
"""

import json
import math
import os
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from torch_step import load, number, optimizer, read_safetensors


class Attention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.heads, self.p = m["heads"], m["attention_dropout"]
        self.qkv = nn.Linear(m["width"], 3 * m["width"])
        self.out = nn.Linear(m["width"], m["width"])

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, -1).transpose(1, 2) for y in self.qkv(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.attn, self.drop = Attention(m), nn.Dropout(m["dropout"])
        self.norm_1, self.norm_2 = nn.BatchNorm1d(m["width"]), nn.BatchNorm1d(m["width"])
        self.up, self.down = nn.Linear(m["width"], m["hidden"]), nn.Linear(m["hidden"], m["width"])

    def forward(self, x):
        x = self.norm_1((x + self.drop(self.attn(x))).transpose(1, 2)).transpose(1, 2)
        h = self.drop(self.down(self.drop(F.gelu(self.up(x)))))
        return self.norm_2((x + h).transpose(1, 2)).transpose(1, 2)


class PatchTST(nn.Module):
    def __init__(self, m):
        super().__init__()
        n = (m["past"] - m["patch"]) // m["patch_stride"] + 2
        self.m = m
        self.patches = nn.Conv1d(1, m["width"], m["patch"], m["patch_stride"])
        self.positions = nn.Parameter(torch.empty(n, m["width"]).uniform_(-0.02, 0.02))
        self.drop = nn.Dropout(m["dropout"])
        self.layers = nn.ModuleList(Block(m) for _ in range(m["layers"]))
        self.head = nn.Linear(n * m["width"], m["ahead"])

    def forward(self, past):
        mean = past.mean(1, keepdim=True).detach()
        scale = torch.sqrt(past.var(1, keepdim=True, correction=0) + 1e-5).detach()
        x = ((past - mean) / scale).transpose(1, 2).reshape(-1, 1, self.m["past"])
        x = self.patches(F.pad(x, (0, self.m["patch_stride"]), mode="replicate")).transpose(1, 2)
        x = self.drop(x + self.positions)
        for block in self.layers:
            x = block(x)
        y = self.head(x.flatten(1)).view(len(past), -1, self.m["ahead"]).transpose(1, 2)
        return y * scale + mean


def rate(m, step):
    """Of step 1, 2, …: linear warm-up, then a cosine to final_lr."""
    if step <= m["warmup"]:
        return m["lr"] * step / (m["warmup"] + 1)
    part = (step - m["warmup"]) / (m["steps"] - m["warmup"])
    return m["final_lr"] + 0.5 * (m["lr"] - m["final_lr"]) * (1 + math.cos(math.pi * min(part, 1)))


def settings(trainer):
    info = json.loads(subprocess.run([trainer, "info", "--json"], capture_output=True, check=True).stdout)
    return {**info["recipe"], **{k: number(v) for k, v in info["built_with"].items()}}


def read(path, m):
    """Rows, scaled by those before the cut; the cut; means and deviations."""
    x = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    cut = int(len(x) * (1 - m["val_fraction"]))
    mean, deviation = x[:cut].mean(0), x[:cut].std(0)
    return torch.tensor((x - mean) / deviation, dtype=torch.float32), cut, mean, deviation


def windows(x, starts, m):
    past = torch.stack([x[s : s + m["past"]] for s in starts])
    return past, torch.stack([x[s + m["past"] : s + m["past"] + m["ahead"]] for s in starts])


def evaluation(model, x, starts, m):
    squares = sizes = count = 0.0
    model.eval()
    with torch.no_grad():
        for at in range(0, len(starts), 256):
            past, future = windows(x, starts[at : at + 256], m)
            e = model(past) - future
            squares, sizes, count = squares + (e**2).sum().item(), sizes + e.abs().sum().item(), count + e.numel()
    model.train()
    return squares / count, sizes / count


def train(m, x, cut, weights, seed):
    torch.manual_seed(seed)
    own = range(cut - m["past"] - m["ahead"] + 1)
    held = range(max(0, cut - m["past"]), len(x) - m["past"] - m["ahead"] + 1)
    model = PatchTST(m)
    load(model, weights, m)
    update, order, best, begin = optimizer(model, m), [], (math.inf, math.inf), time.monotonic()
    for step in range(1, m["steps"] + 1):
        if len(order) < m["batch"]:
            order += torch.randperm(len(own)).tolist()
        starts, order = order[: m["batch"]], order[m["batch"] :]
        past, future = windows(x, starts, m)
        for group in update.param_groups:
            group["lr"] = rate(m, step)
        F.mse_loss(model(past), future).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
        if step % m["eval_every"] == 0 or step == m["steps"]:
            last = evaluation(model, x, held, m)
            best = min(best, last)
    print(f"seed {seed}: mse {last[0]:.4f} mae {last[1]:.4f}, best mse {best[0]:.4f} mae {best[1]:.4f}, "
          f"{time.monotonic() - begin:.0f} s", flush=True)  # fmt: skip
    return (*last, *best)


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    if sys.argv[1] == "data":
        from pmdarima.datasets import load_taylor

        np.savetxt(sys.argv[2], load_taylor(), fmt="%g", header="demand", comments="")
        return
    trainer, path, weights = sys.argv[2:5]
    m = settings(trainer)
    x, cut, mean, deviation = read(path, m)
    if sys.argv[1] == "train":
        all_seeds = np.array([train(m, x, cut, read_safetensors(weights.format(s)), s) for s in map(int, sys.argv[5:])])
        if len(all_seeds) > 1:
            print("mean", all_seeds.mean(0).round(4), "deviation", all_seeds.std(0, ddof=1).round(4))
        return
    model = PatchTST(m).eval()
    load(model, read_safetensors(weights), m)
    starts, theirs = range(len(x) - m["past"] + 1), np.load(sys.argv[5])
    with torch.no_grad():
        own = np.concatenate([model(torch.stack([x[s : s + m["past"]] for s in starts[at : at + 256]])).numpy()
                              for at in range(0, len(starts), 256)])  # fmt: skip
    apart = abs(theirs - (own * deviation + mean)) / deviation
    print(f"{theirs.shape} forecasts, at most {apart.max():.2e} deviations apart")


if __name__ == "__main__":
    main()
