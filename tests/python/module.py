"""module.py: the module _model without NumPy: trains digits to the trainer's bits; what it refuses, and with which words."""

import importlib.machinery
import importlib.util
import sys
import threading
from array import array

from rows import batches, pictures

path, saved, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
ROWS, TRAINED, BATCH, SEED = 320, 288, 64, 5
loader = importlib.machinery.ExtensionFileLoader("_model", path)
model = importlib.util.module_from_spec(importlib.util.spec_from_file_location("_model", path, loader=loader))
loader.exec_module(model)
failed = 0


def complain(*words):
    global failed
    failed = 1
    print("failed:", *words)


def shaped(numbers, *shape):
    return memoryview(numbers).cast("B").cast(numbers.typecode, shape=shape)


def refused(kind, words, function, *arguments):
    try:
        function(*arguments)
    except kind as e:
        if words not in str(e):
            complain(f"expected '{words}' in: {e}")
    except Exception as e:
        complain(f"expected {kind.__name__}, found {type(e).__name__}: {e}")
    else:
        complain(f"not refused: {words}")


pixels, labels = pictures(ROWS)


def batch_of(rows):
    taken = array("f", [p for r in rows for p in pixels[64 * r : 64 * r + 64]])
    return {"pixels": shaped(taken, BATCH, 8, 8), "label": shaped(array("i", [labels[r] for r in rows]), BATCH)}


# To the trainer's bits, saved in between and loaded into another instance.
first, second = model.open(2, SEED), model.open(1, 9)
drawn = batches(TRAINED, BATCH, SEED)
for step in range(steps):
    if step == steps // 2:
        second.load(first.save(True))
    batch = batch_of(next(drawn))
    said = (first if step < steps // 2 else second).step(batch)
with open(saved, "rb") as f:
    if f.read() != second.save(False):
        complain("other weights than the trainer's")
if second.steps() != steps or not said["loss"] < 1.5 or second.evaluate(batch)["loss"] > said["loss"] + 0.5:
    complain(second.steps(), said, second.evaluate(batch))

# Parameters are where it reads them.
name, kind, shape, strides, offset, _ = next(p for p in second.parameters() if p[0] == "head.bias")
bias = memoryview(second)[offset : offset + 40].cast("f")
logits = shaped(array("f", [0] * BATCH * 10), BATCH, 10)
just_pixels = {"pixels": batch["pixels"]}
second.predict(just_pixels, {"logits": logits})
before = logits[0, 3]
bias[3] += 2
second.predict(just_pixels, {"logits": logits})
if (kind, shape, strides) != ("float32", (10,), (4,)) or abs(logits[0, 3] - before - 2) > 1e-5:
    complain("parameters are not the model's:", name, kind, shape, strides, before, logits[0, 3])

# Refused, and as before.
before = second.save(True)
refused(ValueError, "step: the array label is missing; expected int32 of the shape (64,)", second.step, just_pixels)
refused(ValueError, "no array 'labels'; there are pixels, label", second.step, {**batch, "labels": 1})
refused(TypeError, "step: the array label: expected int32, found int64; use numpy.asarray(label, \"int32\")", second.step, {**batch, "label": array("l", labels[:BATCH])})
refused(TypeError, "predict: the array pixels: expected float32, found float64", second.predict, {"pixels": array("d", [0])}, {})
refused(ValueError, "expected the shape (64,), found (63,); sizes", second.step, {**batch, "label": array("i", labels[:63])})
refused(ValueError, "expected the shape (64, 8, 8), found (64, 64)", second.step, {**batch, "pixels": shaped(batch["pixels"].tobytes() and array("f", bytes(4 * 4096)), 64, 64)})
refused(TypeError, "expected an array of float32 of the shape (64, 8, 8), found int", second.step, {**batch, "pixels": 3})
refused(ValueError, "rows one after another", second.step, {**batch, "label": memoryview(array("i", [0] * 2 * BATCH))[::2]})
refused(ValueError, "expected numbers 0 to 9, found label[0] = 10", second.step, {**batch, "label": array("i", [10] * BATCH)})
refused(BufferError, "", second.predict, just_pixels, {"logits": shaped(array("f", [0] * BATCH * 10), BATCH, 10).toreadonly()})
refused(ArithmeticError, "expected a finite loss", second.step, {**batch, "pixels": shaped(array("f", [float("inf")] * 4096), 64, 8, 8)})
refused(ValueError, "expected safetensors", second.load, b"nothing")
refused(RuntimeError, "digits writes no texts", second.next, 1, None)
refused(RuntimeError, "forward: digits was not built as a layer", second.forward, {}, {}, 0)
refused(ValueError, "threads", model.open, -1, 0)
refused(TypeError, "", model.open)
refused(TypeError, "", type(second))
refused(TypeError, "expected a dict", second.step, 3)
if second.save(True) != before:
    complain("what was refused changed the model")

# The lock of the interpreter is free during a step: another thread runs, which may not call this instance.
busy = []


def steps_until_busy(instance):
    for _ in range(2000):
        try:
            instance.step(batch)
        except RuntimeError as e:
            busy.append(str(e))
        if busy:
            return


together = [threading.Thread(target=steps_until_busy, args=(second,)) for _ in range(2)]
for thread in together:
    thread.start()
for thread in together:
    thread.join()
if not busy or "another call of this instance is running" not in busy[0]:
    complain("two threads did not meet:", busy)

# A view outlives its instance.
second.close()
second.close()
refused(RuntimeError, "closed", second.step, batch)
del second
bias[3] += 1
sys.exit(failed)
