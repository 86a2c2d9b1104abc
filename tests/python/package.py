"""package.py: the package lathe, with NumPy: a compiled model, its parameters without copies, texts; and, where PyTorch is, a layer."""

import copy
import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import unittest.mock

import numpy

import lathe

folder, cache, trainer = sys.argv[1:4]
failed = 0


def complain(*words):
    global failed
    failed = 1
    print("failed:", *words)


def refused(expected, words, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except expected as e:
        if words not in str(e):
            complain(f"expected '{words}' in: {e}")
    else:
        complain(f"not refused: {words}")


# The wheel's model, which `compile` does not build again.
import digits_of_test as digits

model = digits.open(threads=2, seed=1)
if model.inputs["label"] != digits.Array("label", "int32", (64,), 10) or list(model.outputs) != ["logits"] or model.steps or model.parameter_count != 85002:
    complain(model, model.inputs, model.outputs)
draw = numpy.random.default_rng(0)
batch = {"pixels": draw.random((64, 8, 8), "float32"), "label": draw.integers(0, 10, 64, "int32")}
first = model.step(batch)["loss"]
for _ in range(20):
    last = model.step(batch)["loss"]
if not last < first or model.steps != 21 or model.predict(batch)["logits"].argmax(1).shape != (64,):
    complain(first, last, model)
state = model.state_dict()
if list(state) != list(model.parameters) or state["head.bias"].shape != (10,):
    complain(list(state))
before = model.predict(batch)["logits"]
state["head.bias"][:] += 1
if abs(model.predict(batch)["logits"] - before - 1).max() > 1e-5:
    complain("state_dict() is a copy")
bias = state["head.bias"].copy()
model.step(batch)
if (state["head.bias"] == bias).all():
    complain("a step does not change state_dict()")
model.save(f"{folder}/saved")
other = digits.open(seed=3)
other.load(f"{folder}/saved")
if other.steps != 22 or other.save() != model.save() or other.step(batch) != model.step(batch):
    complain("save and load")
other.load_state_dict({name: a.copy() for name, a in state.items()})
if other.save(weights=True) != model.save(weights=True) or other.steps:
    complain("load_state_dict")
refused(ValueError, "missing: first.bias", other.load_state_dict, {name: a for name, a in state.items() if name != "first.bias"})
refused(ValueError, "head.bias: expected the shape (10,), found (11,)", other.load_state_dict, {**state, "head.bias": numpy.zeros(11, "float32")})
refused(TypeError, "head.bias: expected float32, found float64", other.load_state_dict, {**state, "head.bias": numpy.zeros(10)})
refused(TypeError, "step: expected a dict of arrays by name (pixels, label), found int", model.step, 3)
refused(TypeError, "step: the array pixels: expected float32, found float64", model.step, {**batch, "pixels": batch["pixels"].astype("float64")})
refused(ValueError, "step: the array label: expected the shape (64,), found (16,)", model.step, {**batch, "label": batch["label"][:16]})
refused(TypeError, "step: expected a dict of arrays by name (pixels, label), found pixels=, label=", model.step, **batch)
refused(TypeError, "predict: expected a dict of arrays by name (pixels, label), found ndarray, ndarray", model.predict, *batch.values())
refused(TypeError, "step: the array label: expected an array of int32 of the shape (64,), found NoneType", model.step, {**batch, "label": None})
refused(TypeError, "the array pixels: expected an array of float32 of the shape (64, 8, 8), found list", model.step, {**batch, "pixels": [[1, 2], [3]]})
refused(TypeError, "seed: expected a whole number, found 'x'", digits.open, seed="x")
refused(TypeError, "load: expected a path, or the bytes that save() gave, found NoneType", model.load, None)
refused(TypeError, 'set: expected a dict such as {"batch": 64}, found list', lathe.compile, "models/mlp.lua", set=["steps=3"])
with open(f"{folder}/broken", "wb") as f:
    f.write(b"nothing")
refused(ValueError, f"{folder}/broken: expected safetensors", model.load, f"{folder}/broken")
refused(FileNotFoundError, f"{folder}/none cannot be read: there is no such file", model.load, f"{folder}/none")
refused(OSError, f"{folder}/none/saved cannot be written: its folder does not exist", model.save, f"{folder}/none/saved")
refused(OSError, f"{folder} cannot be written: that is a folder", model.save, folder)
os.chmod(f"{folder}/saved", 0o600)
with open(f"{folder}/saved.part", "w") as f:
    f.write("of another program")
model.save(pathlib.Path(folder, "saved"))
with open(f"{folder}/saved", "rb") as f:
    if f.read() != model.save() or os.stat(f"{folder}/saved").st_mode & 0o777 != 0o600 or os.path.getsize(f"{folder}/saved.part") != 18:
        complain("a file that is saved again")

# Copies train on by themselves, to the same bits.
for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
    whole = model.save()
    if copied.save() != whole or copied.step(batch) == 0 or model.save() != whole or copied.steps != model.steps + 1:
        complain("copies:", copied, model)


def in_a_fork(use):
    """What it says there."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writes, f"{use()['loss']}".encode())
        except RuntimeError as e:
            os.write(writes, str(e).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reads, 1000).decode()


single = digits.open(seed=2)
if "opened in another process, which has its threads" not in in_a_fork(lambda: model.step(batch)):
    complain("a fork uses threads that it lacks")
if in_a_fork(lambda: single.step(batch)) != f"{single.step(batch)['loss']}":
    complain("a fork of a model without threads")
with model:
    pass
refused(RuntimeError, "closed", model.step, batch)
if state["head.bias"].shape != (10,) or not numpy.isfinite(state["head.bias"]).all():
    complain("a view does not outlive its model")

# Two at once give the same as one after the other.
models = [digits.open(seed=4) for _ in range(3)]
together = [threading.Thread(target=lambda m: [m.step(batch) for _ in range(10)], args=(m,)) for m in models[:2]]
for t in together:
    t.start()
for t in together:
    t.join()
for _ in range(10):
    models[2].step(batch)
if len({m.save() for m in models}) != 1:
    complain("models side by side are not alike")

# What only answers needs weights of this very model; what training needs is passed over.
small = lathe.compile("examples/digits/digits.lua", set={"hidden": 4}, inference=True, cache=cache)
just_pixels = {"pixels": batch["pixels"]}
refused(RuntimeError, "needs weights first", copy.copy(small).predict, just_pixels)
weights = small.state_dict()
refused(ValueError, "tensor third.weight is not one of digits", small.load, lathe.model._safetensors({**weights, "third.weight": weights["first.weight"]}))
small.load(lathe.model._safetensors(weights))
if (copy.copy(small).predict(just_pixels)["logits"] != small.predict(just_pixels)["logits"]).any():
    complain("a copy of what only answers")
refused(RuntimeError, "step: digits was built without training", small.step, batch)
for call in (lambda: small.generate([1], 3), lambda: small.generate("a", 3), lambda: small.tokens("a"), small.forget, lambda: small.next(1)):
    refused(RuntimeError, "digits writes no texts", call)

# Of two models that differ in their rate alone, copies, pickles and a second build are the one that they come from.
slow, fast = (lathe.compile("examples/digits/digits.lua", set={"hidden": 4, "lr": lr}, cache=cache) for lr in (0.001, 0.1))
again = lathe.compile("examples/digits/digits.lua", set={"hidden": 4, "lr": 0.001}, cache=cache)
of_slow, of_fast = slow.step(batch)["lr"], fast.step(batch)["lr"]
if of_slow == of_fast or again.step(batch)["lr"] != of_slow:
    complain("models that differ in lr:", of_slow, of_fast)
for one in slow, fast, again:
    for copy_of in (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        copied = copy_of(one)
        if copied._module is not one._module or copied.step(batch) != one.step(batch):
            complain("a copy is another model:", copied._module, one._module)
if "_model" in sys.modules:
    complain("sys.modules has the model that was loaded last")

# Another version of the compiler builds it anew.
def built_by(version):
    compiler = pathlib.Path(folder, "cc")
    compiler.write_text(f"""#!/bin/sh
[ "$1" = --version ] && echo "cc {version}" && exit
while [ "$1" != -o ]; do shift; done
echo "made by {version}" >"$2"
""")
    compiler.chmod(0o755)
    with unittest.mock.patch.dict(os.environ, CC=str(compiler)):
        return lathe.build.built_module("models/mlp.lua", [], cache=cache).read_text()


if [built_by(v) for v in ("1.0", "1.0", "1.1")] != [f"made by {v}\n" for v in ("1.0", "1.0", "1.1")]:
    complain("a module of the compiler's old version")

# Built here: a text, whose likeliest bytes are the same each time.
words = {"tokenizer": "bytes", "vocab": 256, "hidden": 16, "width": 8, "seq": 8, "batch": 2}
text = lathe.compile("models/char_rnn.lua", set=words, cache=cache)
begun = text.generate("To be", 8, temperature=0)
same = [text.generate(b"To be", 8, temperature=0), bytes(text.generate(list(b"To be"), 8, temperature=0))]
if same[0] != same[1] or len(same[0]) != 13 or begun != same[0].decode(errors="replace"):
    complain(begun, same)
if text.generate([1, 2], 5, seed=1) == text.generate([1, 2], 5, seed=2):
    complain("the seed does not matter")
text.save(f"{folder}/text.safetensors", weights=True)


# As `trainer generate` writes it, token for token.
def of_the_trainer(**how):
    line = [trainer, "generate", "--weights", f"{folder}/text.safetensors", "--tokenizer", "bytes", "--prompt", "To be", "--tokens", "40", "--json"]
    for key, value in how.items():
        line += ["--seed", str(value)] if key == "seed" else ["--set", f"{key}={value}"]
    return json.loads(subprocess.run(line, capture_output=True, check=True).stdout)[0]["tokens"]


for how in {}, {"temperature": 0.7, "top_k": 90, "top_p": 0.95, "min_p": 0.001, "repetition_penalty": 1.2, "seed": 3}:
    if text.generate(list(b"To be"), 40, **how) != of_the_trainer(**how):
        complain("another text than the trainer's:", how, text.generate(list(b"To be"), 40, **how))
written = text.generate(list(b"To be"), 40)
if text.generate(list(b"To be"), 40, ends=written[9:10]) != written[: written.index(written[9], 5)]:
    complain("an end does not end a text")
refused(ValueError, "the prompt is empty", text.generate, "", 3)
refused(TypeError, "tokens: expected the prompt as a list of ids", text.tokens, [1.5])
refused(RuntimeError, "char_rnn has no outputs of rows", text.predict, {})
refused(ValueError, "sampling: expected a temperature", text.generate, [1], 5, temperature=-1)
with open(f"{folder}/wrong.lua", "w") as f:
    f.write("return { config = { batch = 1 }, data = data.arrays {}, inputs = { x = { 'f32' } },\n  forward = function(c, input)\n    return nn.lniear(input.x)\n  end }\n")
refused(lathe.Error, "wrong.lua:3: ", lathe.compile, f"{folder}/wrong.lua", cache=cache)
refused(lathe.Error, "there is no such configuration", lathe.compile, "models/char_rnn.lua", "none", cache=cache)

try:
    import torch

    import lathe.torch
except ImportError:
    print("note: no PyTorch: lathe.torch was not tested")
    sys.exit(failed)

shared = torch.from_dlpack(models[0].state_dict()["head.bias"])
shared[0] = 7
if models[0].state_dict()["head.bias"][0] != 7:
    complain("DLPack copies")

torch.manual_seed(0)
layer = lathe.torch.wrap("tests/python/layer.lua", set={"dropout": 0}, precision="fp64", cache=cache)
kind = torch.tensor([1, 4, 1], dtype=torch.int32)
x, scale = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True), torch.randn(3, dtype=torch.float64, requires_grad=True)


def outputs(x, scale, *parameters):
    r = layer(x=x, scale=scale, kind=kind)
    return r["y"], r["z"]


if not torch.autograd.gradcheck(outputs, (x, scale, *layer.parameters())):
    complain("gradcheck")
refused(RuntimeError, "differentiates once", torch.autograd.gradgradcheck, outputs, (x, scale, *layer.parameters()))
if list(layer.state_dict())[0] != "lstm.weight_ih_l0" or not {"y", "z", "best"} == set(layer(x=x, scale=scale, kind=kind)):
    complain(list(layer.state_dict()))


class Around(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.layer = torch.nn.Linear(5, 5, dtype=torch.float64), layer

    def forward(self, x):
        return self.layer(x=self.before(x), scale=scale.detach(), kind=kind)["z"].square().mean()


around = Around()
optimizer = torch.optim.SGD(around.parameters(), lr=0.1)
losses = []
for _ in range(10):
    optimizer.zero_grad()
    loss = around(x.detach())
    loss.backward()
    optimizer.step()
    losses.append(float(loss.detach()))
if not losses[-1] < losses[0]:
    complain("no training:", losses)
copied = {name: p.clone() for name, p in around.state_dict().items()}
around.load_state_dict(copied)
if float(around(x.detach()).detach()) >= losses[0]:
    complain("load_state_dict of a layer")


def outputs_of(one):
    with torch.no_grad():
        return one(x=x, scale=scale, kind=kind)["y"]


# Copies have parameters of their own, and are as the layer was; so is what torch.func puts in their place for a call.
for copied in (copy.deepcopy(around), pickle.loads(pickle.dumps(around))):
    before = outputs_of(layer)
    if not torch.equal(outputs_of(copied.layer), before):
        complain("a copy of a layer gives something else")
    copied.layer(x=x, scale=scale, kind=kind)["z"].sum().backward()
    torch.optim.AdamW(copied.parameters(), lr=0.1).step()
    if torch.equal(outputs_of(copied.layer), before) or not torch.equal(outputs_of(layer), before):
        complain("a copy of a layer shares its memory")
    moved = copy.deepcopy(layer).float().double()
    if not torch.allclose(outputs_of(moved), before, atol=1e-5) or next(moved.parameters()).data_ptr() != moved._shared[0].ctypes.data:
        complain("float().double() leaves a layer's memory")
    others = torch.func.functional_call(layer, dict(copied.layer.named_parameters()), kwargs={"x": x, "scale": scale, "kind": kind})["y"]
    if not torch.equal(others, outputs_of(copied.layer)) or not torch.equal(outputs_of(layer), before):
        complain("functional_call")
pruned = copy.deepcopy(layer)
torch.nn.utils.parametrizations.weight_norm(pruned.lstm, "weight_hh_l0")
if not torch.allclose(outputs_of(pruned), outputs_of(layer)):
    complain("weight_norm")
torch.utils.checkpoint.checkpoint(around, x.detach(), use_reentrant=False).backward()
with torch.autocast("cpu", dtype=torch.bfloat16):
    if not torch.equal(layer(x=x.float().double(), scale=scale, kind=kind)["y"], layer(x=x.float(), scale=scale, kind=kind)["y"]):
        complain("autocast")


# In two threads, every call gives what it gives alone, or is refused.  The parameters are not the instance's memory here.
threaded = copy.deepcopy(layer).share_memory()
with torch.no_grad():
    for p in threaded.parameters():
        p.mul_(0.5)


def slope_at(x):
    x = x.detach().clone().requires_grad_()
    z = threaded(x=x, scale=scale.detach(), kind=kind)["z"]
    return z.detach(), *torch.autograd.grad(z.sum(), x)


def calls_of_a_thread(x, alone, counts):
    for _ in range(300):
        try:
            there = slope_at(x)
        except RuntimeError as e:
            counts.append("refused" if "another call of this instance is running" in str(e) else str(e))
        else:
            counts.append("right" if all(map(torch.equal, there, alone)) else "wrong")


counts = []
weights = {name: p.clone() for name, p in threaded.state_dict().items()}
together = [threading.Thread(target=calls_of_a_thread, args=(a, slope_at(a), counts)) for a in (x, x + 1)]
alone = slope_at(x)
interval = sys.getswitchinterval()
sys.setswitchinterval(1e-6)
for t in together:
    t.start()
for t in together:
    t.join()
sys.setswitchinterval(interval)
if "right" not in counts or not {"right", "refused"} >= set(counts) or not all(map(torch.equal, slope_at(x), alone)):
    complain("a layer in two threads:", {word: counts.count(word) for word in counts})
if not all(torch.equal(p, weights[name]) for name, p in threaded.state_dict().items()):
    complain("a layer in two threads changes its parameters")
refused(TypeError, "missing: scale", layer, x=x, kind=kind)
refused(TypeError, "the input x: expected torch.float64, found torch.float32", layer, x=x.float(), scale=scale, kind=kind)
refused(ValueError, "the input x: expected the shape (3, 4, 5), found (2, 4, 5)", layer, x=x[:2], scale=scale, kind=kind)
refused(RuntimeError, "parameters of torch.float64; found weight_ih_l0 of torch.float16", copy.deepcopy(layer).half(), x=x, scale=scale, kind=kind)
refused(RuntimeError, "found the parameter weight_ih_l0 on meta", copy.deepcopy(layer).to("meta"), x=x, scale=scale, kind=kind)
sys.exit(failed)
