"""torch_step.py: a model of the bench in PyTorch, eager; a process that times training steps on request.

    torch_step.py MODEL.json --weights W --inputs I --gradients G --threads N [--compile] [--device cuda --bf16]

MODEL.json has the sizes and options of bench.py's row and the recipe's numbers.  W are the parameters to start from, I the
inputs, G what the other side computed from both: its loss and gradients, which must agree before anything is timed.  All
three are safetensors.  Then come ten steps whose losses are told, with the last one's ms, and, for each line "N" on standard input, N training steps are
run, and a line {"ms": […]} says how long each took; on a GPU, which nobody waits for between steps, all of them are their mean, one
more goes before them, and between two lines nothing is kept of its memory but what must be.

A model that draws has `draw(tokens, step)`: further inputs of forward, Lathe's of that step, or with None its own.
"""

import argparse
import copy
import json
import struct
import sys
import time

import torch

from torch_diffusion import Diffusion
from torch_gpt import GPT, Llama
from torch_images import ConvNet, ViT
from torch_systems import CharRNN, MU, PointerGenerator

MODELS = {"gpt": GPT, "llama": Llama, "char_rnn": CharRNN, "mu": MU, "pointer_generator": PointerGenerator,
          "diffusion": Diffusion, "convnet": ConvNet, "vit": ViT}  # fmt: skip

TYPES = {"F32": torch.float32, "F64": torch.float64, "I32": torch.int32, "I64": torch.int64}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body = memoryview(data)[8 + length :]
    return {
        name: torch.frombuffer(body[slice(*x["data_offsets"])], dtype=TYPES[x["dtype"]]).view(x["shape"])
        for name, x in header.items()
    }


def number(text):
    """A value of the configuration, which `trainer info` gives as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def is_turned(name, m):
    """GPT-2's files have their matrices as [inputs][outputs]."""
    return m.get("in_out") and name.startswith("h.") and name.endswith(".weight") and ".ln_" not in name


def load(model, weights, m):
    own = {**{name: x for name, x in model.named_buffers() if name in weights}, **dict(model.named_parameters())}
    if set(own) != set(weights):
        sys.exit(f"torch_step.py: other parameters: {sorted(set(own) ^ set(weights))[:6]}")
    with torch.no_grad():
        for name, p in own.items():
            p.copy_(weights[name].T if is_turned(name, m) else weights[name])


def gradients(model, inputs, m):
    model.zero_grad(set_to_none=True)
    loss = model(**inputs)
    loss.backward()
    found = {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in model.named_parameters()}
    return loss.item(), {name: g.T if is_turned(name, m) else g for name, g in found.items()}


def check(model, inputs, other, m, half=False):
    """Without dropout: the loss within 1e-4, each gradient within 1e-3 of its norm; with 16-bit operands 1e-2, all together 5e-2.

    Where a gradient nearly cancels (what is added to all scores of an attention alike), 1e-5 of the norm of all at most,
    fp32 has fewer true digits: it may be twice as far from PyTorch's fp64 as PyTorch's fp32 is.
    """
    model.eval()
    loss, own = gradients(model, inputs, m)
    theirs = other["loss"].item()
    if half:
        off = sum((other["grad." + name] - g).norm().item() ** 2 for name, g in own.items()) ** 0.5
        norm = sum(g.norm().item() ** 2 for g in own.values()) ** 0.5
        if not (abs(loss - theirs) <= 1e-2 * abs(theirs) and off <= 5e-2 * norm):
            sys.exit(f"torch_step.py: the first losses are {loss:.6f} here, {theirs:.6f} there; gradients are {off / norm:.2e} apart")
        model.zero_grad(set_to_none=True)
        model.train()
        return loss
    if not abs(loss - theirs) <= 1e-4 * abs(theirs):
        sys.exit(f"torch_step.py: the first losses differ: {loss:.6f} here, {theirs:.6f} there")
    least = 1e-5 * sum(g.norm().item() ** 2 for g in own.values()) ** 0.5
    exact = None
    for name, g in own.items():
        found = other["grad." + name]
        away = ((found - g).norm() / g.norm().clamp(min=1e-12)).item()
        if away <= 1e-3:
            continue
        exact = exact or gradients(copy.deepcopy(model).double(), inputs, m)[1]
        if not (g.norm() <= least and (found - exact[name]).norm() <= 2 * (g - exact[name]).norm()):
            sys.exit(f"torch_step.py: the first gradients of {name} differ by {away:.2e} of their norm")
    model.zero_grad(set_to_none=True)
    model.train()
    return loss


def optimizer(model, m):
    """The recipe's; weight decay of matrices alone, but for SGD's and Adam's, which is a part of every gradient."""
    if m["optimizer"] == "sgd":
        return torch.optim.SGD(model.parameters(), m["lr"], m["momentum"], weight_decay=m["decay"])
    rest = {"lr": m["lr"], "betas": (m["beta1"], m["beta2"]), "eps": m["eps"]}
    kind, groups = torch.optim.Adam, [{"params": list(model.parameters()), "weight_decay": m["decay"]}]
    if m["optimizer"] == "adamw":
        matrices = [p for p in model.parameters() if p.dim() >= 2]
        others = [p for p in model.parameters() if p.dim() < 2]
        kind = torch.optim.AdamW
        groups = [{"params": matrices, "weight_decay": m["decay"]}, {"params": others, "weight_decay": 0.0}]
    try:
        return kind(groups, fused=True, **rest)
    except (RuntimeError, TypeError):  # before 2.4 only on a GPU
        return kind(groups, foreach=True, **rest)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    for name in ("--weights", "--inputs", "--gradients"):
        words.add_argument(name, required=True)
    words.add_argument("--threads", type=int, required=True)
    words.add_argument("--compile", action="store_true")
    words.add_argument("--device", default="cpu")
    words.add_argument("--bf16", action="store_true", help="products in bf16 (autocast)")
    a = words.parse_args()
    torch.set_num_threads(a.threads)
    m = json.load(open(a.model))
    gpu = a.device != "cpu"
    weights, inputs, gradients_there = ({name: x.to(a.device) for name, x in read_safetensors(path).items()}
                                        for path in (a.weights, a.inputs, a.gradients))  # fmt: skip
    torch.set_default_device(a.device)
    half = torch.autocast(a.device, torch.bfloat16, enabled=a.bf16)
    model = MODELS[m["model"]](m)
    load(model, weights, m)
    inputs = {name: x if x.is_floating_point() else x.long() for name, x in inputs.items()}
    draw = getattr(model, "draw", lambda tokens, step=None: {})
    with half:
        loss = check(model, {**inputs, **draw(inputs.get("tokens"), 0)}, gradients_there, m, a.bf16)
    del weights, gradients_there
    if gpu:
        torch.cuda.empty_cache()
    update = optimizer(model, m)
    run = torch.compile(model) if a.compile else model

    def step(number=None):
        for _ in range(m["accumulate"]):
            with half:
                loss = run(**inputs, **draw(inputs.get("tokens"), number)) / m["accumulate"]
            loss.backward()
        if m["clip"]:
            torch.nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
        return loss if gpu else loss.item()

    def steps_on_gpu(n):
        step()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(n):
            step()
        torch.cuda.synchronize()
        ms = 1e3 * (time.perf_counter() - begin) / n
        torch.cuda.empty_cache()
        return {"ms": [ms] * n, "peak_bytes": torch.cuda.max_memory_reserved()}

    losses = []
    for k in range(10):
        begin = time.perf_counter()
        losses.append(float(step(k)) * m["accumulate"])
        ms = 1e3 * (time.perf_counter() - begin)
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    print(json.dumps({"loss": loss, "losses": losses, "ms": ms, "torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        if gpu:
            print(json.dumps(steps_on_gpu(int(line))), flush=True)
            continue
        ms = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            step()
            ms.append(1e3 * (time.perf_counter() - begin))
        print(json.dumps({"ms": ms}), flush=True)


if __name__ == "__main__":
    main()
