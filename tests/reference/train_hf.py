"""train_hf.py: an imported language model trained by Lathe and by transformers on the same batches, loss by loss.

    train_hf.py TRAINER WEIGHTS TEXT [--steps 20]

TRAINER is built of what `lathe new --from WEIGHTS` writes, with --set pack=false; WEIGHTS is a GGUF file or a folder.  Batches are
windows of TEXT one after another (--order contiguous), a stretch of it for each row.  transformers gets the weights that
`TRAINER export --to hf` writes, in fp32, and AdamW with the same recipe and learning rates.  Told are the losses of each step and their largest relative
difference, which may be 1e-3.

If TRAINER is built with --lora too, the adapters are trained by PEFT, from those that `TRAINER init` draws, and losses may be 1e-4
apart.  --seconds: also how long a step takes in both, medians without the first.
"""

import argparse
import json
import os
import sys
import statistics
import tempfile
import time

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from train_models import run
from torch_step import number


def own_steps(a, folder):
    """Losses, learning rates and seconds"""
    run(a.trainer, "train", "--data", a.text, "--init", a.weights, "--order", "contiguous", "--steps", a.steps, "--log-every", 1,
        "--val-fraction", 0, "--out", folder)  # fmt: skip
    lines = [json.loads(line) for line in open(os.path.join(folder, "metrics.jsonl"))]
    return [(line["loss"], line["lr"], line["tok_s"]) for line in lines if line["split"] == "train"]


def batches(ids, rows, seq):
    """Row k reads the k-th stretch of the text, window after window."""
    stretch = (len(ids) - 1) // (rows * seq)
    for step in range(stretch):
        at = [(k * stretch + step) * seq for k in range(rows)]
        yield torch.stack([ids[i : i + seq] for i in at]), torch.stack([ids[i + 1 : i + seq + 1] for i in at])


def with_adapters(a, folder, model):
    from peft import PeftModel

    drawn, adapters = folder + "-drawn.safetensors", folder + "-adapters"
    run(a.trainer, "init", "--out", drawn)
    run(a.trainer, "export", "--to", "peft", "--weights", drawn, "--out", adapters)
    return PeftModel.from_pretrained(model, adapters, is_trainable=True)


def their_losses(a, folder, info, m, rates):
    run(a.trainer, "export", "--to", "hf", "--weights", a.weights, "--out", folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if any(x["frozen"] for x in info["parameters"].values()):
        model = with_adapters(a, folder, model)
    model.train()
    text = open(a.text, encoding="utf-8").read()
    ids = torch.tensor(AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False)["input_ids"])
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if (p.dim() >= 2) == decays], "weight_decay": m["decay"] if decays else 0.0}
              for decays in (True, False)]  # fmt: skip
    update = torch.optim.AdamW(groups, m["lr"], (m["beta1"], m["beta2"]), m["eps"])
    for lr, (x, y) in zip(rates, batches(ids, info["batch"], info["seq"])):
        for group in update.param_groups:
            group["lr"] = lr
        logits = model(x).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        loss.backward()
        if m["clip"]:
            torch.nn.utils.clip_grad_norm_(trained, m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
        yield loss.item()


def main():
    p = argparse.ArgumentParser()
    for name in ("trainer", "weights", "text"):
        p.add_argument(name)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--seconds", action="store_true")
    a = p.parse_args()
    info = json.loads(run(a.trainer, "info", "--json"))
    m = {**{k: number(v) for k, v in info["built_with"].items()}, **info["recipe"], "steps": a.steps}
    apart, bound, theirs_s = 0.0, 1e-4 if any(x["frozen"] for x in info["parameters"].values()) else 1e-3, []
    with tempfile.TemporaryDirectory() as folder:
        own, rates, tokens_s = zip(*own_steps(a, os.path.join(folder, "run")))
        began = time.time()
        for k, theirs in enumerate(their_losses(a, os.path.join(folder, "hf"), info, m, rates)):
            theirs_s.append(time.time() - began)
            began = time.time()
            apart = max(apart, abs(own[k] / theirs - 1))
            print(f"step {k + 1}: Lathe {own[k]:.6f}, transformers {theirs:.6f}", flush=True)
    print(f"{a.steps} losses are at most {apart:.1e} apart")
    if a.seconds:
        own_s = info["batch"] * info["seq"] / statistics.median(tokens_s[1:])
        print(f"a step takes {own_s:.2f} s, there {statistics.median(theirs_s[1:]):.2f} s")
    if not apart <= bound:
        sys.exit("train_hf.py: losses differ")


if __name__ == "__main__":
    main()
