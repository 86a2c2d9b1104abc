"""metrics.py: what scikit-learn (1.9.1) and NumPy say of predictions.

    python3 tests/reference/metrics.py

writes into tests/reference/metrics: K.csv with logits of K classes and the class of each row, numbers.csv with a feature and a
target, of which some are 0, and expected.txt: CASE NAME VALUE.  The predicted number is the feature, scaled as the first 80 % of
the features are and back as the first 80 % of the targets are.  The tests need neither; they read the files.
"""

import os

import numpy as np
import sklearn.metrics as sk

ROWS = 400
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "metrics")


def reliability(probability, label, bins=15):
    """Guo et al. 2017, section 2: (rows, confidence, accuracy) of each bin."""
    confidence, right = probability.max(1), probability.argmax(1) == label
    edges = np.linspace(0, 1, bins + 1)
    inside = [(confidence > a) & (confidence <= b) for a, b in zip(edges, edges[1:])]
    return [(i.sum(), confidence[i].mean() if i.any() else 0, right[i].mean() if i.any() else 0) for i in inside]


def classes(k, rng):
    logits = np.round(rng.normal(size=(ROWS, k)) * 2, 4)
    label = np.array([rng.choice(k, p=np.exp(0.6 * x) / np.exp(0.6 * x).sum()) for x in logits])
    table = [",".join([f"x{i}" for i in range(k)] + ["class"])] + [",".join([*map(str, x), str(c)]) for x, c in zip(logits, label)]
    with open(f"{folder}/{k}.csv", "w") as f:
        f.write("\n".join(table) + "\n")
    logits = logits.astype(np.float32).astype(np.float64)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    said = p.argmax(1)
    yield "accuracy", sk.accuracy_score(label, said)
    yield "balanced_accuracy", sk.balanced_accuracy_score(label, said)
    yield "macro_f1", sk.f1_score(label, said, average="macro")
    yield "log_loss", sk.log_loss(label, p)
    if k > 5:
        yield "top_5_accuracy", sk.top_k_accuracy_score(label, p, k=5)
    if k == 2:
        yield "auc", sk.roc_auc_score(label, p[:, 1])
        yield "average_precision", sk.average_precision_score(label, p[:, 1])
        yield "brier", sk.brier_score_loss(label, p[:, 1])
    bins = reliability(p, label)
    yield "calibration_error", sum(n * abs(a - c) for n, c, a in bins) / ROWS
    for i, (n, confidence, accuracy) in enumerate(bins):
        yield f"bin{i}", n
        yield f"bin{i}_confidence", confidence
        yield f"bin{i}_accuracy", accuracy


def numbers(rng):
    x = np.round(rng.normal(size=ROWS) * 3 + 1, 4)
    y = np.round(x * 40 + rng.normal(size=ROWS) * 30, 3)
    y[::37] = 0
    with open(f"{folder}/numbers.csv", "w") as f:
        f.write("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y)))
    part = ROWS * 4 // 5
    p = (x - x[:part].mean()) / x[:part].std() * y[:part].std() + y[:part].mean()
    yield "rmse", sk.root_mean_squared_error(y, p)
    yield "mae", sk.mean_absolute_error(y, p)
    yield "r2", sk.r2_score(y, p)
    yield "mape", sk.mean_absolute_percentage_error(y[y != 0], p[y != 0])
    yield "mape_left_out", (y == 0).sum()


os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(7)
with open(f"{folder}/expected.txt", "w") as f:
    for case, values in [(str(k), classes(k, rng)) for k in (2, 3, 7)] + [("numbers", numbers(rng))]:
        for name, value in values:
            f.write(f"{case} {name} {value:.12g}\n")
