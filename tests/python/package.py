"""package.py: the package lathe, with NumPy: a compiled model, its parameters without copies, texts; and, where PyTorch is, a layer."""

import sys
import threading

import numpy

import lathe

folder, cache = sys.argv[1], sys.argv[2]
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
refused(ValueError, "head.bias", other.load_state_dict, {**state, "head.bias": numpy.zeros(11, "float32")})
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

# Built here: a text, whose likeliest bytes are the same each time.
words = {"tokenizer": "bytes", "vocab": 256, "hidden": 16, "width": 8, "seq": 8, "batch": 2}
text = lathe.compile("models/char_rnn.lua", set=words, cache=cache)
begun = text.generate("To be", 8, temperature=0)
same = [text.generate(b"To be", 8, temperature=0), bytes(text.generate(list(b"To be"), 8, temperature=0))]
if same[0] != same[1] or len(same[0]) != 13 or begun != same[0].decode(errors="replace"):
    complain(begun, same)
if text.generate([1, 2], 5, seed=1) == text.generate([1, 2], 5, seed=2):
    complain("the seed does not matter")
refused(ValueError, "the prompt is empty", text.generate, "", 3)
refused(RuntimeError, "without the entry predict", text.predict, {})
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
refused(TypeError, "missing: scale", layer, x=x, kind=kind)
refused(TypeError, "expected numbers of type float64", layer, x=x.float(), scale=scale, kind=kind)
refused(ValueError, "expected the shape (3, 4, 5), found (2, 4, 5)", layer, x=x[:2], scale=scale, kind=kind)
sys.exit(failed)
