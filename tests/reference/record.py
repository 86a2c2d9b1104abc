"""record.py: values, gradients and trajectories from PyTorch that the tests hold Lathe to.

    python3 tests/reference/record.py [--check] [NAME …]

writes tests/reference/*.safetensors, or those named; with --check it compares what it would write with what is there.  Needs torch and
numpy; the tests do not, they read the files.  The models (models.py, systems.py) share nothing with the compiler.
Everything is computed in float64 on one thread, from weights that are exactly representable as float32.

A model's file (gpt_*, char_rnn*, llama_*, lstm*, gru*, rnn*, pointer_*, seq2seq*, postnorm*, mu*, diffusion*, vae*, gnn*, library, attends):
    metadata    model      description, from the top folder, and
                set        its configuration, "key=value key=value …", for --set
                optimizer  adamw; with lr, final_lr, beta1, beta2, eps, decay, clip, warmup, steps, schedule (all of them
                           numbers but schedule: constant or cosine); decay applies to tensors of two axes
                seed       of what the model draws, if it does; the step is the number of the batch
    weight.NAME F32        before training, under the export names and in the export layouts
    tokens      I32 [20][B][T], targets I32 [20][B][T]    one batch for each step, or other inputs by their names; of pairs source [20][B][S],
                source_lengths [20][B] and lengths [20][B] as well, and targets of -1 do not count
    logits      F64 [B][T][V]                             of batch 0, before the first update; of models that have them
    grad.NAME   F32        gradients of the loss of batch 0 before the first update, not clipped; F64 values rounded
    loss        F64 [20]   mean cross-entropy of batch s before update s
    norm        F64 [20]   norm of the whole gradient at that point, before clipping
    rate        F64 [20]   learning rate of update s
    last        F64 [1]    loss of batch 0 after the last update

op_values: for each op of compiler/graph/ops.def it covers, inputs OP.a, OP.b, OP.c, result OP.y, and where it is differentiable the
gradient OP.g of a scalar towards the result with the gradients OP.da, OP.db towards inputs.  Reals are F64, integers I32,
bools U8.  Ops with ints carry them in the metadata under their name ("axis=1" …); shapes are those of the tensors.
    neg … erf, add … pow, where    element by element, [N]
    sum rmax cumsum cumprod cumargmax argmax argsort topk gather scatter_add dot    small, of several axes
    softmax cross_entropy linear_cross_entropy    likewise

functions: cases of tests/lua/functions.lua; functions.py says what the file holds.
layers: cases of tests/lua/layers.lua; layers.py says what the file holds.
batchnorm: tests/lua/batchnorm.lua; batchnorm.py says what the file holds.
turns: tests/models/turns.lua; turns.py says what the file holds.
directions: tests/models/directed.lua; directions.py says what the file holds.
coded: tests/step/test_coded.c; coded.py says what the file holds.

optimizers, schedules: tests/step/test_optim.c; optimizers.py says what the files hold.
"""

import json
import math
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from attends import Attends
from batchnorm import batchnorm
from coded import coded_moments
from directions import directions
from functions import functions
from layers import layers
from models import GPT, CharRNN, Library, Llama, Recurrent
from networks import GNN, VAE
from optimizers import optimizers, schedules
from systems import Diffusion, Mu, PointerGenerator, PostNorm, Seq2seq
from turns import turns

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 20


# ---------------------------------------------------------------- files

def array(x):
    return x.detach().contiguous().numpy() if isinstance(x, torch.Tensor) else np.ascontiguousarray(x)


def safetensors(tensors, metadata):
    """The bytes of a safetensors file: header length, JSON header, data in the order of the names."""
    names = {np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.int32): "I32", np.dtype(np.uint8): "U8"}
    header, data = {"__metadata__": dict(sorted(metadata.items()))}, b""
    for name in sorted(tensors):
        x = array(tensors[name])
        begin, data = len(data), data + x.tobytes()
        header[name] = {"dtype": names[x.dtype], "shape": list(x.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def save(name, tensors, metadata):
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    if names and name not in names:
        return
    path, new = os.path.join(HERE, name + ".safetensors"), safetensors(tensors, metadata)
    if "--check" in sys.argv:
        old = open(path, "rb").read() if os.path.exists(path) else b""
        print(f"{name}: {'the same' if old == new else 'DIFFERS'}")
        return
    with open(path, "wb") as f:
        f.write(new)
    print(f"{name}: {len(new)} bytes")


# ---------------------------------------------------------------- training

def draw_weights(model, seed):
    """Large enough for every part to matter; exact as float32."""
    r = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            x = torch.randn(p.shape, generator=r, dtype=torch.float64)
            x = x / math.sqrt(p.shape[-1]) if p.dim() > 1 else 0.1 * x
            p.copy_(x.float())
        for m in model.modules():
            if isinstance(m, (nn.LayerNorm, nn.RMSNorm)):
                m.weight.add_(1.0)
        if hasattr(model, "adjust"):
            model.adjust()
        for p in model.parameters():
            p.copy_(p.float())


def draw_text(c, seed):
    """[20][B][T + 1]: each token follows from the one before, but for every fourth, so that there is something to learn."""
    r = torch.Generator().manual_seed(seed)
    text = torch.randint(0, c["vocab"], (STEPS, c["batch"], c["seq"] + 1), generator=r)
    random = torch.rand(text.shape, generator=r) < 0.25
    for t in range(1, c["seq"] + 1):
        text[:, :, t] = torch.where(random[:, :, t], text[:, :, t], (3 * text[:, :, t - 1] + 5) % c["vocab"])
    return text


def draw_pairs(c, seed):
    """Sources, and of each a target that is made of it, ragged; what stands behind them counts nowhere."""
    r = torch.Generator().manual_seed(seed)
    shape, S, T, V = (STEPS, c["batch"]), c["source_seq"], c["seq"], c["vocab"]
    source = torch.randint(0, V, (*shape, S), generator=r)
    lengths, target_lengths = (torch.randint(1, n + 1, shape, generator=r) for n in (S, T))
    targets = torch.stack([source[:, :, t % S] if t % 3 else (source[:, :, t % S] + 1) % V for t in range(T)], 2)
    tokens = torch.cat([torch.zeros_like(targets[:, :, :1]), targets[:, :, :-1]], 2)
    targets = targets.masked_fill(torch.arange(T) >= target_lengths[:, :, None], -1)
    return {"source": source, "source_lengths": lengths, "tokens": tokens, "targets": targets, "lengths": target_lengths}


def rate_at(r, step):
    if step < r["warmup"]:
        return r["lr"] * (step + 1) / (r["warmup"] + 1)
    if r["schedule"] == "constant":
        return r["lr"]
    ratio = (step - r["warmup"]) / (r["steps"] - r["warmup"])
    return r["final_lr"] + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (r["lr"] - r["final_lr"])


def optimizer_for(model, r):
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": r["decay"]},
              {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=r["lr"], betas=(r["beta1"], r["beta2"]), eps=r["eps"], foreach=False)


def record_model(name, file, model, c, recipe, seed, fixed=("seed",)):
    draw_weights(model, seed)
    out = {f"weight.{n}": p.detach().float().clone() for n, p in model.named_parameters()}
    if "source_seq" in c:
        inputs = draw_pairs(c, seed + 1)
    elif hasattr(model, "draw"):
        drawn = model.draw(torch.Generator().manual_seed(seed + 1), STEPS * c["batch"])
        inputs = {n: x.view(STEPS, c["batch"], *x.shape[1:]) for n, x in drawn.items()}
    else:
        text = draw_text(c, seed + 1)
        inputs = {"tokens": text[:, :, :-1], "targets": text[:, :, 1:]}
    out.update({n: x.int() for n, x in inputs.items()})

    def loss_of(step):
        batch = {n: x[step] for n, x in inputs.items()}
        if hasattr(model, "loss"):
            return model.loss(batch, step)
        logits = model(batch["tokens"])
        return F.cross_entropy(logits.reshape(-1, c["vocab"]), batch["targets"].reshape(-1)), logits

    optimizer, loss, norm, rate = optimizer_for(model, recipe), [], [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        value, logits = loss_of(step)
        value.backward()
        if step == 0:
            if logits is not None:
                out["logits"] = logits
            out.update({f"grad.{n}": torch.zeros_like(p).float() if p.grad is None else p.grad.float().clone()
                        for n, p in model.named_parameters()})
        size = nn.utils.clip_grad_norm_(model.parameters(), recipe["clip"] if recipe["clip"] > 0 else math.inf, foreach=False)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(recipe, step)
        optimizer.step()
        loss.append(value.item())
        norm.append(size.item())
        rate.append(rate_at(recipe, step))
    out["loss"], out["norm"], out["rate"] = np.array(loss), np.array(norm), np.array(rate)
    out["last"] = np.array([loss_of(0)[0].item()])
    settings = {k: v for k, v in c.items() if k not in fixed}
    metadata = {k: str(v) for k, v in (recipe | {k: c[k] for k in fixed if k in c}).items()}
    metadata.update(model=file, set=" ".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in settings.items()),
                    torch=torch.__version__.split("+")[0])
    save(name, out, metadata)


def record_models():
    recipe = {"optimizer": "adamw", "schedule": "cosine", "lr": 1e-2, "final_lr": 1e-3, "warmup": 4, "steps": STEPS, "beta1": 0.9,
              "beta2": 0.95, "eps": 1e-8, "decay": 0.1, "clip": 1.0}
    gpt = {"layers": 2, "heads": 2, "width": 32, "seq": 16, "batch": 3, "vocab": 65}
    small = dict(gpt, width=16)
    variants = {
        "gpt_tied_bias_tanh": dict(gpt, tied=True, bias=True, attention_bias=True, gelu="tanh", layout="in_out"),
        "gpt_untied_plain_erf": dict(gpt, tied=False, bias=False, attention_bias=False, gelu="erf", layout="out_in"),
        "gpt_tied_plain_erf": dict(small, tied=True, bias=False, attention_bias=False, gelu="erf", layout="out_in"),
        "gpt_untied_bias_tanh": dict(small, tied=False, bias=True, attention_bias=False, gelu="tanh", layout="out_in"),
    }
    for i, (name, c) in enumerate(variants.items()):
        record_model(name, "models/gpt.lua", GPT(c), c, recipe, 100 + i)
    c = {"vocab": 65, "width": 12, "hidden": 20, "seq": 16, "batch": 3}
    plain = dict(recipe, beta2=0.999, decay=0.0)
    record_model("char_rnn", "models/char_rnn.lua", CharRNN(c), c, plain, 200)
    c = dict(c, layers=2, seq=20, hidden=16)
    record_model("char_rnn_2", "models/char_rnn.lua", CharRNN(c), c, recipe, 210)
    c = {"vocab": 13, "width": 6, "hidden": 5, "layers": 2, "both": True, "seq": 7, "batch": 4, "ragged": True}
    for i, (name, more) in enumerate({"lstm_both": {"kind": "lstm"}, "gru_both": {"kind": "gru"}, "rnn_both": {"kind": "rnn"},
                                      "gru": {"kind": "gru", "layers": 1, "both": False, "ragged": False, "bias": "none"},
                                      "rnn_relu": {"kind": "rnn", "layers": 3, "both": False, "activation": "relu"}}.items()):
        d = dict(c, **more)
        record_model(name, "tests/models/recurrent.lua", Recurrent(d), d, plain, 220 + i)
    llama = {"layers": 2, "heads": 4, "kv_heads": 2, "width": 24, "hidden": 34, "vocab": 13, "seq": 7, "batch": 3}
    constant = dict(plain, schedule="constant", lr=1e-3, final_lr=0.0, warmup=0, clip=0.0)
    c = {"vocab": 11, "width": 6, "hidden": 5, "layers": 2, "source_seq": 7, "seq": 6, "batch": 3, "dropout": 0.0, "accumulate": 1}
    for i, coverage in enumerate((0.0, 0.5)):
        d = dict(c, coverage=coverage)
        record_model("pointer_generator" + ("_coverage" if coverage else ""), "models/pointer_generator.lua",
                     PointerGenerator(d), d, constant, 230 + i)
    c = {"layers": 2, "heads": 3, "width": 18, "hidden": 22, "source_seq": 8, "seq": 6, "batch": 3, "vocab": 13, "dropout": 0.0}
    record_model("seq2seq", "models/seq2seq.lua", Seq2seq(d := dict(c, tied=True, smoothing=0.1)), d, recipe, 232)
    record_model("seq2seq_untied", "models/seq2seq.lua", Seq2seq(d := dict(c, tied=False, smoothing=0.0)), d, constant, 233)
    c = {"layers": 2, "heads": 3, "width": 18, "hidden": 22, "seq": 7, "batch": 3, "vocab": 13}
    record_model("postnorm", "models/postnorm.lua", PostNorm(d := dict(c, causal=True)), d, recipe, 240)
    record_model("postnorm_both", "models/postnorm.lua", PostNorm(d := dict(c, causal=False, heads=2)), d, constant, 241)
    c = {"seq": 7, "batch": 3, "vocab": 13, "dropout": 0.0, "accumulate": 1, "layers": 1}
    record_model("mu", "models/mu.lua", Mu(d := dict(c, causal=True, raster=False)), d, recipe, 250)
    record_model("mu_raster", "models/mu.lua", Mu(d := dict(c, causal=False, raster=True)), d, constant, 251)
    c = {"layers": 2, "heads": 3, "width": 18, "cond": 5, "seq": 9, "batch": 3, "vocab": 7, "dropout": 0.0, "least": 1e-4, "most": 20.0}
    record_model("diffusion", "models/diffusion.lua", Diffusion(d := dict(c, doubled=False, seed=71)), d, constant, 260)
    record_model("diffusion_doubled", "models/diffusion.lua", Diffusion(d := dict(c, doubled=True, layers=1, seed=78)), d, recipe, 261)
    c = {"side": 3, "channels": 2, "scale": 16.0, "latent": 4, "hidden": 7, "batch": 5, "least_var": 1e-3}
    record_model("vae", "models/vae.lua", VAE(d := dict(c, pixels="bernoulli", seed=77)), d, recipe, 262)
    record_model("vae_gaussian", "models/vae.lua", VAE(d := dict(c, pixels="gaussian", seed=78)), d, constant, 263)
    c = {"nodes": 6, "edges": 9, "node_kinds": 5, "edge_kinds": 4, "width": 8, "rounds": 3, "batch": 4}
    record_model("gnn", "models/gnn.lua", GNN(d := dict(c, classes=0)), d, recipe, 264)
    record_model("gnn_classes", "models/gnn.lua", GNN(d := dict(c, classes=3)), d, constant, 265)
    c = {"vocab": 13, "width": 6, "seq": 9, "batch": 4, "smoothing": 0.1}
    record_model("library", "tests/models/library.lua", Library(c), c, constant, 270)
    c = {"vocab": 13, "width": 8, "heads": 2, "seq": 9, "batch": 2}
    record_model("attends", "tests/models/attends.lua", Attends(c), c, constant, 280)
    c = dict(llama, tied=False, rope_theta=10000.0, eps=1e-6)
    record_model("llama_untied", "models/llama.lua", Llama(c), c, constant, 300)
    c = dict(llama, kv_heads=1, hidden=40, seq=12, tied=True, rope_theta=500.0, eps=1e-3)
    record_model("llama_tied", "models/llama.lua", Llama(c), c, recipe, 301)


# ---------------------------------------------------------------- ops

class Ops:
    def __init__(self):
        self.out, self.metadata = {}, {"torch": torch.__version__.split("+")[0]}
        self.r = torch.Generator().manual_seed(7)

    def uniform(self, low, high, *shape):
        return low + (high - low) * torch.rand(shape, generator=self.r, dtype=torch.float64)

    def put(self, name, f, inputs, ints=None):
        """f of named inputs {"a": tensor, …}; gradients towards the real ones if the result has any."""
        real = {k: x.clone().requires_grad_() for k, x in inputs.items() if x.dtype == torch.float64}
        y = f(*[real.get(k, x) for k, x in inputs.items()])
        if y.requires_grad:
            g = self.uniform(-1, 1, *y.shape)
            grads = torch.autograd.grad(y, list(real.values()), g, allow_unused=True)
            self.out[f"{name}.g"] = g
            for k, d in zip(real, grads):
                self.out[f"{name}.d{k}"] = torch.zeros_like(real[k]) if d is None else d
        for k, x in list(inputs.items()) + [("y", y)]:
            x = x.detach()
            self.out[f"{name}.{k}"] = x if x.dtype == torch.float64 else x.to(torch.uint8 if x.dtype == torch.bool else torch.int32)
        if ints:
            self.metadata[name] = ints


def record_maps(o, N=32):
    real = o.uniform(-3, 3, N)
    wide = torch.cat([o.uniform(-40, 40, N - 8), torch.tensor([0.0, 1e-8, -1e-8, 1e-3, -1e-3, 0.5, -0.5, 1.0], dtype=torch.float64)])
    positive = torch.cat([o.uniform(0.01, 8, N - 4), torch.tensor([1e-6, 1.0, 1e6, 123.0], dtype=torch.float64)])
    for name in ("neg", "abs", "sign", "floor", "sin", "cos", "tanh", "erf", "exp", "expm1"):
        f = getattr(torch, name)
        o.put(name, f if name not in ("sign", "floor") else lambda a, f=f: f(a).detach(), {"a": wide})
    for name in ("log", "sqrt", "rsqrt"):
        o.put(name, getattr(torch, name), {"a": positive})
    other = o.uniform(-3, 3, N)
    for name, f in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div), ("max", torch.maximum),
                    ("min", torch.minimum)):
        o.put(name, f, {"a": real, "b": other})
    o.put("pow", torch.pow, {"a": positive, "b": other})
    ints = torch.randint(-100, 100, (N,), generator=o.r, dtype=torch.int32)
    by = torch.randint(1, 9, (N,), generator=o.r, dtype=torch.int32) * torch.where(torch.arange(N) % 3 == 0, -1, 1).int()
    o.put("idiv", lambda a, b: torch.div(a, b, rounding_mode="floor"), {"a": ints, "b": by})
    o.put("mod", torch.remainder, {"a": ints, "b": by})
    o.put("bitand", torch.bitwise_and, {"a": ints, "b": by})
    o.put("bitxor", torch.bitwise_xor, {"a": ints, "b": by})
    some = torch.where(torch.arange(N) % 4 == 0, real, other)       # equal to real here and there
    for name in ("lt", "le", "eq", "ne"):
        o.put(name, getattr(torch, name), {"a": real, "b": some})
    o.put("ult", lambda a, b: (a.long() & 0xFFFFFFFF) < (b.long() & 0xFFFFFFFF), {"a": ints, "b": by * 10})
    yes, also = real > 0, other > 0
    o.put("lnot", torch.logical_not, {"a": yes})
    o.put("land", torch.logical_and, {"a": yes, "b": also})
    o.put("lor", torch.logical_or, {"a": yes, "b": also})
    o.put("where", torch.where, {"a": yes, "b": real, "c": other})
    o.put("cast", lambda a: a.to(torch.int32), {"a": 10 * real})
    words = torch.randint(-2**31, 2**31, (N,), generator=o.r, dtype=torch.int64).int()
    o.put("u01", lambda a: ((a.long() & 0xFFFFFFFF) >> 8).double() / 2**24, {"a": words})


def record_others(o):
    x, y = o.uniform(-2, 2, 3, 4, 5), o.uniform(-2, 2, 3, 5, 6)
    o.put("sum", lambda a: a.sum((0, 2)), {"a": x}, "axes=0,2")
    tied = x.clone()
    tied[:, 1, :] = tied[:, 3, :] = 5.0                             # two elements share the maximum
    o.put("rmax", lambda a: a.amax(1), {"a": tied}, "axes=1")
    o.put("argmax", lambda a: a.argmax(2), {"a": x}, "axis=2")
    o.put("cumsum", lambda a: a.cumsum(1), {"a": x}, "axis=1")
    o.put("topk", lambda a: a.topk(3, dim=2)[0], {"a": x}, "axis=2 k=3")
    ids = torch.randint(0, 7, (2, 5), generator=o.r)
    o.put("gather", lambda a, b: a[b], {"a": o.uniform(-1, 1, 7, 3), "b": ids}, "axis=0 nbatch=0")
    o.put("scatter_add", lambda a, b: torch.zeros(7, 3, dtype=torch.float64).index_add(0, b.reshape(-1), a.reshape(-1, 3)),
          {"a": o.uniform(-1, 1, 2, 5, 3), "b": ids}, "axis=0 nbatch=0")
    o.put("dot", torch.bmm, {"a": x, "b": y}, "batch=0:0 contract=2:1")
    o.put("softmax", lambda a: torch.softmax(a, 2), {"a": 5 * x}, "axis=2")
    classes = torch.randint(0, 5, (3, 4), generator=o.r)
    o.put("cross_entropy", lambda a, b: F.cross_entropy(a.reshape(-1, 5), b.reshape(-1), reduction="none").reshape(3, 4),
          {"a": 5 * x, "b": classes})
    classes = torch.randint(0, 37, (11,), generator=o.r)
    classes[torch.tensor([2, 7])] = -100
    o.put("linear_cross_entropy",
          lambda a, b, c: F.cross_entropy(a @ b.T, c.long(), reduction="none", label_smoothing=0.15, ignore_index=-100),
          {"a": 2 * o.uniform(-1, 1, 11, 6), "b": o.uniform(-1, 1, 37, 6), "c": classes}, "percent=15 ignored=-100")
    holed = x.clone()                                               # lines without a zero, with one, with two
    holed[0, 2, 1] = holed[1, 0, 0] = holed[1, 1, 3] = holed[1, 3, 3] = 0.0
    o.put("cumprod", lambda a: a.cumprod(1), {"a": holed}, "axis=1")
    steps = (2 * x).round()                                         # with ties
    o.put("cumargmax", lambda a: a.cummax(1)[1], {"a": steps}, "axis=1")
    o.put("argsort", lambda a: a.argsort(dim=1, descending=True, stable=True), {"a": steps}, "axis=1")


def main():
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    save("optimizers", *optimizers())
    save("schedules", *schedules())
    record_models()
    save("functions", functions(), {})
    save("layers", layers(), {})
    save("batchnorm", batchnorm(), {})
    save("turns", turns(), {})
    save("directions", *directions())
    save("coded", *coded_moments())
    o = Ops()
    record_maps(o)
    record_others(o)
    save("op_values", o.out, o.metadata)


main()
