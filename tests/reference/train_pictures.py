"""train_pictures.py: convnet or vit trained by Lathe and by PyTorch on pictures in files with the same recipe, to compare what both reach.

    train_pictures.py TRAINER FOLDER [--seeds 1 2 3]

TRAINER is built of models/convnet.lua or vit.lua with --config pictures for the classes of FOLDER/train; FOLDER/test is evaluated, such as
scenes of datasets.py.  Each seed is a run of both, from initial values that `TRAINER init` draws and pictures in other orders, cropped and
mirrored alike.  Told are the loss and the accuracy over FOLDER/test, with means and deviations over the seeds.  Then Lathe's last weights
are read into the PyTorch network, whose logits and those of `TRAINER predict` may be at most 1e-5 of the largest of them apart.
"""

import glob
import os
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from train_models import asked, load, rate, run, tell  # first: it says where the networks of tests/bench are
from torch_images import ConvNet, ViT
from torch_step import optimizer, read_safetensors


def pictures(folder):
    """uint8 [n][height][width][3] in the order of `predict`, and classes by their sorted names"""
    names = sorted(os.listdir(folder))
    files = [(k, f) for k, name in enumerate(names) for f in sorted(glob.glob(os.path.join(folder, name, "*.png")))]
    x = np.stack([np.asarray(Image.open(f).convert("RGB")) for _, f in files])
    return torch.from_numpy(x), torch.tensor([k for k, _ in files])


def varied(x, pad):
    """Cropped from anywhere in a black border, and half of them mirrored: [B][H][W][3]"""
    side = x.shape[1]
    wide = F.pad(x, (0, 0, pad, pad, pad, pad))
    at = torch.randint(2 * pad + 1, (len(x), 2)).tolist()
    x = torch.stack([p[i : i + side, j : j + side] for p, (i, j) in zip(wide, at)])
    return torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(2), x)


def learning_rate(m, step):
    """convnet's falls to a tenth at a half and at three quarters of the steps; step counts from 1."""
    if m["schedule"] == "cosine":
        return rate(m, step)
    return m["lr"] * 0.1 ** sum(step - 1 >= at for at in (m["steps"] // 2, m["steps"] * 3 // 4))


def updates(model, m):
    """The optimizer; and what Lathe's SGD takes from matrices beside it, a part of each that is not in the momentum."""
    if m["optimizer"] != "sgd":
        kept = {"class_token", "positions"}  # without decay
        groups = [{"params": [p for n, p in model.named_parameters() if (p.dim() >= 2 and n not in kept) == decays],
                   "weight_decay": m["decay"] if decays else 0.0} for decays in (True, False)]  # fmt: skip
        return torch.optim.AdamW(groups, m["lr"], (m["beta1"], m["beta2"]), m["eps"]), lambda lr: None
    matrices = [p for p in model.parameters() if p.dim() >= 2]

    def decay(lr):
        for p in matrices:
            p.data.mul_(1 - lr * m["decay"])

    return optimizer(model, {**m, "decay": 0.0}), decay


def train(model, m, x, y, seed):
    torch.manual_seed(seed)
    update, decay = updates(model, m)
    order = []
    model.train()
    for step in range(1, m["steps"] + 1):
        if len(order) < m["batch"]:
            order += torch.randperm(len(x)).tolist()
        at, order = order[: m["batch"]], order[m["batch"] :]
        lr = learning_rate(m, step)
        for group in update.param_groups:
            group["lr"] = lr
        model(varied(x[at], m["side"] // 8).float(), y[at]).backward()
        if m["clip"]:
            torch.nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        decay(lr)
        update.step()
        update.zero_grad(set_to_none=True)
    model.eval()


def logits_of(model, x):
    made = []
    hook = model.head.register_forward_hook(lambda layer, given, y: made.append(y))
    with torch.no_grad():
        for k in range(0, len(x), 100):
            model(x[k : k + 100].float(), torch.zeros(len(x[k : k + 100]), dtype=torch.long))
    hook.remove()
    return torch.cat(made)


def measured(logits, y):
    return {"loss": F.cross_entropy(logits, y).item(), "accuracy": (logits.argmax(1) == y).double().mean().item()}


def lathe_logits(trainer, folder, pictures):
    path = os.path.join(folder, "predicted.safetensors")
    run(trainer, "predict", "--data", pictures, "--weights", folder, "--only", "logits", "--out", path)
    return read_safetensors(path)["logits"]


def main():
    a, info, m = asked("folder")
    parts = {part: os.path.join(a.folder, part) for part in ("train", "test")}
    (x, y), (held, classes) = (pictures(parts[part]) for part in ("train", "test"))
    found = {"Lathe": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as folder:
        first = os.path.join(folder, "first.safetensors")
        for seed in a.seeds:
            model = {"convnet": ConvNet, "vit": ViT}[info["model"]](m)
            run(a.trainer, "init", "--seed", 100 + seed, "--out", first)
            load(model, first)
            train(model, m, x, y, seed)
            found["PyTorch"].append(measured(logits_of(model, held), classes))
            run(a.trainer, "train", "--data", parts["train"], "--val-data", parts["test"], "--seed", seed, "--out", folder)
            theirs = lathe_logits(a.trainer, folder, parts["test"])
            found["Lathe"].append(measured(theirs, classes))
            print(seed, found["PyTorch"][-1], found["Lathe"][-1], flush=True)
        for who, values in found.items():
            tell(who, values)
        load(model, os.path.join(folder, "model.safetensors"))
        own = logits_of(model, held)
    apart = ((own - theirs).abs().max() / own.abs().max()).item()
    print(f"predict of {len(held)} pictures: at most {apart:.1e} of the largest apart")
    if not apart <= 1e-5:
        sys.exit("train_pictures.py: logits differ")


if __name__ == "__main__":
    main()
