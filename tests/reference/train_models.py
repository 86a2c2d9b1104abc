"""train_models.py: vae, unet, twotower or gnn trained by Lathe and by PyTorch with the same recipe, to compare what both reach.

    train_models.py TRAINER DATA.npz [--seeds 1 2 3]

TRAINER is built of models/NAME.lua; DATA.npz is what datasets.py writes.  Each seed is a run of both, from initial values of
the same distributions and rows in other orders.  Told are the loss of the rows for evaluation (of vae, which draws, the mean of 20
evaluations) and a measure of the task, with means and deviations over the seeds.  Then Lathe's last weights are read into the PyTorch
network, whose outputs and those of `TRAINER predict` may be at most 1e-5 of the largest of them apart.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn as nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
from networks import NETWORKS
from torch_step import number, optimizer, read_safetensors
from train_char_rnn import rate

BATCH = 64  # of evaluations without batch statistics


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, check=True, text=True).stdout


def begin_as_lathe(model):
    """Lathe's linear layers begin with biases of 0."""
    for layer in model.modules():
        if isinstance(layer, nn.Linear) and layer.bias is not None:
            nn.init.zeros_(layer.bias)
    if hasattr(model, "nodes"):
        nn.init.normal_(model.nodes.weight)


def learning_rate(m, step):
    return m["lr"] if m["schedule"] == "constant" else rate(m, step)


def train(model, m, rows, seed):
    torch.manual_seed(seed)
    n, order = len(next(iter(rows.values()))), []
    update = optimizer(model, m)
    model.train()
    for step in range(1, m["steps"] + 1):
        if len(order) < m["batch"]:
            order += torch.randperm(n).tolist()
        at, order = order[: m["batch"]], order[m["batch"] :]
        for group in update.param_groups:
            group["lr"] = learning_rate(m, step)
        model(**{name: x[at] for name, x in rows.items()}).backward()
        if m["clip"]:
            nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
    model.eval()


def outputs(model, rows):
    n, parts = len(next(iter(rows.values()))), []
    for k in range(0, n, BATCH):
        parts.append(model.outputs(**{name: x[k : k + BATCH] for name, x in rows.items()}))
    return {name: torch.cat([p[name] for p in parts]) for name in parts[0]}


def measured(name, own, held):
    """What the task asks for, of outputs for the rows for evaluation."""
    if name == "twotower":
        near = own["query"] @ own["item"].T
        place = (near > near.diagonal()[:, None]).sum(1)
        return {"found first": (place == 0).double().mean().item(), "among ten": (place < 10).double().mean().item()}
    if name == "gnn":
        return {"RMSE": ((own["prediction"] - held["target"]) ** 2).mean().sqrt().item()}
    if name == "vae":
        return {"squared error": ((own["reconstruction"] - held["image"] / 16) ** 2).sum((1, 2, 3)).mean().item()}
    if "image" in own:
        return {"PSNR": 10 * math.log10(255**2 / ((own["image"] - held["map"]) ** 2).mean().item())}
    said = own["logits"].argmax(-1)
    both = [((said == k) & (held["map"] == k)).sum() / ((said == k) | (held["map"] == k)).sum() for k in range(own["logits"].shape[-1])]
    return {"accuracy": (said == held["map"]).double().mean().item(), "overlap": torch.stack(both).mean().item()}


def loss_of(model, held, m):
    """As a mean over rows; twotower's rows meet those of their batch, which has the same size in both."""
    n, batch, total = len(next(iter(held.values()))), m["batch"], 0.0
    draws = 20 if hasattr(model, "encoder") else 1
    for _ in range(draws):
        for k in range(0, n, batch):
            part = {name: x[k : k + batch] for name, x in held.items()}
            total += model(**part).item() * len(next(iter(part.values()))) / n / draws
    return total


def lathe_outputs(trainer, folder, data, held_rows):
    path = os.path.join(folder, "predicted.safetensors")
    run(trainer, "predict", "--data", data, "--weights", folder, "--out", path)
    return {name: x[-held_rows:] for name, x in read_safetensors(path).items()}


def load(model, path):
    weights = read_safetensors(path)
    own = model.state_dict()
    if set(weights) != {n for n in own if not n.endswith("num_batches_tracked")}:
        sys.exit(f"train_models.py: other parameters: {sorted(set(weights) ^ set(own))}")
    model.load_state_dict({**own, **weights})


def compare_outputs(model, trainer, folder, data, rows):
    theirs, n = lathe_outputs(trainer, folder, data, 0), len(next(iter(rows.values())))
    load(model, os.path.join(folder, "model.safetensors"))
    with torch.no_grad():
        own = outputs(model, rows)
    for name, x in own.items():
        apart = ((x - theirs[name]).abs().max() / x.abs().max()).item()
        print(f"predict of {n} rows, {name}: at most {apart:.1e} of the largest apart")
        if not apart <= 1e-5:
            sys.exit(f"train_models.py: {name} differs")


def tell(who, found):
    for what in found[0]:
        values = [x[what] for x in found]
        print(f"  {who:8} {what:14} {statistics.mean(values):8.4f} ± {statistics.stdev(values):.4f}   "
              + " ".join(f"{v:.4f}" for v in values))  # fmt: skip


def asked(data):
    """The command line, what the trainer says of itself, and recipe and configuration in one"""
    words = argparse.ArgumentParser()
    words.add_argument("trainer")
    words.add_argument(data)
    words.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    a = words.parse_args()
    info = json.loads(run(a.trainer, "info", "--json"))
    return a, info, {**info["recipe"], **{k: number(v) for k, v in info["built_with"].items()}, "batch": info["batch"]}


def main():
    a, info, m = asked("data")
    name = info["model"]
    inputs, needed = info["entries"]["eval"]["inputs"], info["entries"]["predict"]["inputs"]
    arrays = {k: torch.from_numpy(x) for k, x in np.load(a.data).items() if k in inputs}
    rows = {k: x.float() if inputs[k]["dtype"] == "f32" else x.long() for k, x in arrays.items()}
    rows = {k: x.reshape(-1, *inputs[k]["shape"][1:]) for k, x in rows.items()}
    own = len(rows[next(iter(rows))]) - int(len(rows[next(iter(rows))]) * m["val_fraction"] + 0.5)
    held = {k: x[own:] for k, x in rows.items()}
    found = {"Lathe": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in a.seeds:
            torch.manual_seed(100 + seed)
            model = NETWORKS[name](m)
            begin_as_lathe(model)
            train(model, m, {k: x[:own] for k, x in rows.items()}, seed)
            with torch.no_grad():
                made = outputs(model, {k: x for k, x in held.items() if k in needed})
                found["PyTorch"].append({"loss": loss_of(model, held, m), **measured(name, made, held)})
                run(a.trainer, "train", "--data", a.data, "--seed", seed, "--out", folder)
                made = lathe_outputs(a.trainer, folder, a.data, len(held[next(iter(held))]))
                load(model, os.path.join(folder, "model.safetensors"))
                found["Lathe"].append({"loss": loss_of(model, held, m), **measured(name, made, held)})
        for who, values in found.items():
            tell(who, values)
        compare_outputs(model, a.trainer, folder, a.data, {k: x for k, x in rows.items() if k in needed})


if __name__ == "__main__":
    main()
