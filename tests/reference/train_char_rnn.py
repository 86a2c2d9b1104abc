"""train_char_rnn.py: char_rnn trained by torch.nn.LSTM and torch.optim by Lathe's recipe, to compare what both reach.

    train_char_rnn.py TRAINER TEXT WEIGHTS

TRAINER is built of models/char_rnn.lua, WEIGHTS what `TRAINER init --out` writes: both begin with the same parameters.
Windows of the first nine tenths of TEXT are drawn at random (other ones than Lathe draws); the loss of the last tenth is that of
its windows one after another, as `TRAINER eval` has it.
"""

import json
import math
import os
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from torch_step import load, number, optimizer, read_safetensors
from torch_systems import CharRNN


def rate(m, step):
    """Of step 1, 2, …: linear warm-up, then a cosine to final_lr."""
    if step <= m["warmup"]:
        return m["lr"] * step / m["warmup"]
    part = (step - m["warmup"]) / (m["steps"] - m["warmup"])
    return m["final_lr"] + 0.5 * (m["lr"] - m["final_lr"]) * (1 + math.cos(math.pi * min(part, 1)))


def validation_loss(model, held, seq):
    total, count = 0.0, (len(held) - 1) // seq
    model.eval()
    with torch.no_grad():
        for at in range(0, count, 64):
            rows = range(at, min(at + 64, count))
            x = torch.stack([held[k * seq : (k + 1) * seq] for k in rows])
            y = torch.stack([held[k * seq + 1 : (k + 1) * seq + 1] for k in rows])
            total += model(x, y).item() * len(rows)
    model.train()
    return total / count


def main():
    trainer, path, weights = sys.argv[1:]
    info = json.loads(subprocess.run([trainer, "info", "--json"], capture_output=True, check=True).stdout)
    m = {**{k: number(v) for k, v in info["built_with"].items()}, **info["recipe"], "vocab": info["vocab"]}
    text = open(path, encoding="utf-8").read()
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    cut = int(len(ids) * (1 - m["val_fraction"]))
    own, held, seq, batch = ids[:cut], ids[cut:], info["seq"], info["batch"]
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
    model = CharRNN(m)
    load(model, read_safetensors(weights), m)
    update, begin = optimizer(model, m), time.monotonic()
    for step in range(1, m["steps"] + 1):
        at = torch.randint(len(own) - seq, (batch,))
        x = torch.stack([own[k : k + seq] for k in at])
        y = torch.stack([own[k + 1 : k + seq + 1] for k in at])
        for group in update.param_groups:
            group["lr"] = rate(m, step)
        loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
        if step % 250 == 0:
            print(f"step {step} loss {loss.item():.4f} validation {validation_loss(model, held, seq):.4f} "
                  f"after {time.monotonic() - begin:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
