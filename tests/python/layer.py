"""layer.py: a layer of fp64 without NumPy: its gradients are the slopes of its outputs, whatever is called in between."""

import importlib.machinery
import importlib.util
import random
import sys
from array import array

path = sys.argv[1]
loader = importlib.machinery.ExtensionFileLoader("_model", path)
model = importlib.util.module_from_spec(importlib.util.spec_from_file_location("_model", path, loader=loader))
loader.exec_module(model)
draw = random.Random(3)
failed = 0


def complain(*words):
    global failed
    failed = 1
    print("failed:", *words)


def filled(shape, number, kind="d"):
    numbers = 1
    for n in shape:
        numbers *= n
    return memoryview(array(kind, [number() for _ in range(numbers)])).cast("B").cast(kind, shape=shape)


def flat(view):
    return memoryview(view).cast("B").cast(view.format)


SHAPES = {"x": (3, 4, 5), "scale": (3,), "y": (3, 4, 6), "z": (3,)}
normal = lambda: draw.gauss(0, 1)
taken, given = model.describe()["entries"]["layer"]
if [t[:3] for t in given[:3]] != [("best", "int32", (3,)), ("y", "float64", (3, 4, 6)), ("z", "float64", (3,))] or sorted(
    t[0] for t in given[3:]
) != ["d_scale", "d_x"]:
    complain("outputs:", given)
batch = {"x": filled(SHAPES["x"], normal), "scale": filled(SHAPES["scale"], normal), "kind": memoryview(array("i", [1, 4, 1]))}
slopes = {"d_y": filled(SHAPES["y"], normal), "d_z": filled(SHAPES["z"], normal)}
layer = model.open(2, 7)
parameters = layer.parameters()


def outputs(seed):
    results = {name: filled(SHAPES[name], float) for name in ("y", "z")}
    return layer.forward(batch, results, seed), results


def value(seed):
    """Of which the slopes are those of the outputs."""
    results = outputs(seed)[1]
    return sum(a * b for name in ("y", "z") for a, b in zip(flat(results[name]), flat(slopes[f"d_{name}"])))


def gradients(ticket, seed):
    wanted = {f"d_{name}": filled(SHAPES[name], float) for name in ("x", "scale")}
    layer.backward(ticket, {**batch, **slopes}, wanted, seed)
    whole = [flat(wanted["d_x"]).tolist(), flat(wanted["d_scale"]).tolist()]
    for name, kind, shape, strides, offset, gradient in parameters:
        n = 8
        for k in shape:
            n *= k
        whole.append(memoryview(layer)[gradient : gradient + n].cast("d").tolist())
    return whole


ticket, results = outputs(11)
first = gradients(ticket, 11)
if gradients(ticket, 11) != first:
    complain("other gradients the second time")
ticket, _ = outputs(11)
outputs(12)
if gradients(ticket, 11) != first:
    complain("other gradients after another call")
ticket, _ = outputs(11)
try:
    layer.forward({**batch, "x": filled(SHAPES["x"], normal), "kind": memoryview(array("i", [9, 9, 9]))}, {}, 11)
    complain("an id that is too large is taken")
except ValueError:
    pass
if gradients(ticket, 11) != first:
    complain("other gradients after a call that was refused")
ticket, _ = outputs(12)
if gradients(ticket, 12) == first:
    complain("dropout does not depend on the seed")

# Along random directions, in the middle between two points.
points = [flat(batch["x"]), flat(batch["scale"])]
for name, kind, shape, strides, offset, gradient in parameters:
    n = 8
    for k in shape:
        n *= k
    points.append(memoryview(layer)[offset : offset + n].cast("d"))
for which, point in enumerate(points):
    direction, before, ends = [normal() for _ in point], point.tolist(), []
    for sign in (1, -1):
        for i, d in enumerate(direction):
            point[i] = before[i] + sign * 1e-6 * d
        ends.append(value(11))
    for i, b in enumerate(before):
        point[i] = b
    measured, computed = (ends[0] - ends[1]) / 2e-6, sum(d * g for d, g in zip(direction, first[which]))
    if abs(measured - computed) > 1e-6 * (1 + abs(measured)):
        complain(f"array {which}: slope {measured}, gradient {computed}")


def refused(words, function, *arguments):
    try:
        function(*arguments)
    except (ValueError, RuntimeError) as e:
        if words not in str(e):
            complain(f"expected '{words}' in: {e}")
    else:
        complain(f"not refused: {words}")


refused("the array d_z is missing", layer.backward, ticket, {**batch, "d_y": slopes["d_y"]}, {}, 12)
refused("the array x is missing", layer.forward, {"scale": batch["scale"], "kind": batch["kind"]}, {}, 12)
refused("step: layer was built without training", layer.step, batch)
sys.exit(failed)
