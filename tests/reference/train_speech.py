"""train_speech.py: speech trained by Lathe and by PyTorch with the same recipe, to compare what both reach.

    train_speech.py TRAINER LIST.csv [--seeds 1 2 3]

TRAINER is built of models/speech.lua, LIST.csv has the columns path and text (WAV files of one channel at the model's rate).
A tenth of the recordings, drawn here, is for evaluation in both.  PyTorch's features are those of audio.py, not Lathe's.  Each
seed is a run of both, from initial values of the same distributions.  Told are loss and character error rate of the rows
for evaluation, with means and deviations over the seeds.  Then Lathe's last weights are read into the PyTorch network,
whose scores and those of `TRAINER predict` may be at most 1e-5 of the largest of them apart, from the same features: those
that Lathe makes differ from audio.py's by less than 1e-4 (tests/data/test_recordings.c), which is told beside.
"""

import csv
import os
import sys
import tempfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
import audio
from networks import Speech
from torch_step import optimizer, read_safetensors
from train_models import asked, begin_as_lathe, learning_rate, load, run, tell


def samples_of(path):
    with open(path, "rb") as file:
        data = file.read()
    at = data.index(b"data")
    return np.frombuffer(data, "<i2", int.from_bytes(data[at + 4 : at + 8], "little") // 2, at + 8) / 32768


def features_of(path, m):
    x = audio.log_mel(samples_of(path), m["sample_rate"], m["n_fft"], m["n_fft"], m["hop_length"], m["n_mels"], 0.0,
                      m["sample_rate"] / 2, "htk")  # fmt: skip
    return (x - x.mean(0)) / (x.std(0) + 1e-5)


def rows_of(items, letters, m):
    """Tensors of all rows, by the names of Lathe's inputs"""
    n = len(items)
    rows = {"features": np.zeros((n, m["frames"], m["n_mels"]), np.float32), "lengths": np.zeros(n, np.int64),
            "text": np.zeros((n, m["letters"]), np.int64), "text_lengths": np.zeros(n, np.int64)}  # fmt: skip
    for k, (x, text) in enumerate(items):
        ids = [letters.index(c) for c in text if c in letters]
        rows["features"][k, : len(x)], rows["lengths"][k] = x, len(x)
        rows["text"][k, : len(ids)], rows["text_lengths"][k] = ids, len(ids)
    return {name: torch.from_numpy(x) for name, x in rows.items()}


def masked(x, lengths, m):
    """Bands of filters and stretches of time become zeros, as data.audio draws them"""
    x = x.clone()
    for k, n in enumerate(lengths.tolist()):
        for _ in range(m["freq_masks"]):
            width = np.random.randint(0, min(m["freq_mask"], m["n_mels"]) + 1)
            low = np.random.randint(0, m["n_mels"] - width + 1)
            x[k, :, low : low + width] = 0
        for _ in range(m["time_masks"]):
            length = np.random.randint(0, min(m["time_mask"], n // 5) + 1)
            first = np.random.randint(0, n - length + 1)
            x[k, first : first + length] = 0
    return x


def train(model, m, rows, seed):
    torch.manual_seed(seed)
    np.random.seed(seed)
    n, order = len(rows["lengths"]), []
    update = optimizer(model, m)
    model.train()
    for step in range(1, m["steps"] + 1):
        if len(order) < m["batch"]:
            order += torch.randperm(n).tolist()
        at, order = order[: m["batch"]], order[m["batch"] :]
        for group in update.param_groups:
            group["lr"] = learning_rate(m, step)
        part = {name: x[at] for name, x in rows.items()}
        model(**{**part, "features": masked(part["features"], part["lengths"], m)}).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
    model.eval()


def edits(a, b):
    cost = list(range(len(b) + 1))
    for i, x in enumerate(a):
        above, cost[0] = cost[0], i + 1
        for k, y in enumerate(b):
            above, cost[k + 1] = cost[k + 1], min(above + (x != y), cost[k] + 1, cost[k + 1] + 1)
    return cost[-1]


def spelled(logits, n, letters):
    best = logits[:n].argmax(-1).tolist()
    return "".join(letters[c] for k, c in enumerate(best) if c and (k == 0 or c != best[k - 1]))


def measured(model, rows, texts, letters):
    with torch.no_grad():
        own = model.outputs(rows["features"], rows["lengths"])
        loss = model(**rows).item()
    said = [spelled(x, n, letters) for x, n in zip(own["logits"], own["lengths"].tolist())]
    return {"loss": loss, "CER": sum(map(edits, said, texts)) / sum(map(len, texts))}


def write_list(path, items):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("path", "text"), *items])


def split(path, m):
    """(path, text) of those that fit: to train on, to evaluate"""
    with open(path, encoding="utf-8") as file:
        items = [(os.path.join(os.path.dirname(os.path.abspath(path)), r["path"]), r["text"]) for r in csv.DictReader(file)]
    fit = [x for x in items if len(samples_of(x[0])) < m["frames"] * m["hop_length"] and len(x[1]) <= m["letters"]]
    order = np.random.default_rng(1).permutation(len(fit))
    held = {*order[: len(fit) // 10].tolist()}
    return [x for k, x in enumerate(fit) if k not in held], [x for k, x in enumerate(fit) if k in held]


def compare_outputs(model, trainer, folder, items, letters, m):
    path = os.path.join(folder, "predicted.safetensors")
    run(trainer, "predict", "--data", os.path.join(folder, "held.csv"), "--weights", folder, "--out", path)
    theirs = read_safetensors(path)
    own = model.outputs(items["features"], items["lengths"])
    apart = ((own["logits"] - theirs["logits"]).abs().max() / own["logits"].abs().max()).item()
    print(f"predict of {len(items['lengths'])} rows: scores at most {apart:.1e} of the largest apart")
    if not apart <= 1e-5 or not torch.equal(own["lengths"].int(), theirs["lengths"].int()):
        sys.exit("train_speech.py: predictions differ")


def main():
    a, _, m = asked("data")
    m = {**m, "n_fft": m["sample_rate"] // 40, "hop_length": m["sample_rate"] // 100}
    own, held = split(a.data, m)
    letters = ["", *sorted({c for _, text in own for c in text})]
    rows = {name: rows_of([(features_of(path, m), text) for path, text in part], letters, m)
            for name, part in (("own", own), ("held", held))}  # fmt: skip
    print(f"{len(own)} recordings to train on, {len(held)} to evaluate, {len(letters) - 1} characters", flush=True)
    found, texts = {"Lathe": [], "PyTorch": []}, [text for _, text in held]
    with tempfile.TemporaryDirectory() as folder:
        write_list(os.path.join(folder, "own.csv"), own)
        write_list(os.path.join(folder, "held.csv"), held)
        for seed in a.seeds:
            torch.manual_seed(100 + seed)
            model = Speech(m)
            begin_as_lathe(model)
            train(model, m, rows["own"], seed)
            found["PyTorch"].append(measured(model, rows["held"], texts, letters))
            run(a.trainer, "train", "--data", os.path.join(folder, "own.csv"), "--val-data", os.path.join(folder, "held.csv"),
                "--val-fraction", "0", "--seed", seed, "--out", folder)  # fmt: skip
            load(model, os.path.join(folder, "model.safetensors"))
            found["Lathe"].append(measured(model, rows["held"], texts, letters))
            print(f"seed {seed}:", {who: values[-1] for who, values in found.items()}, flush=True)
        for who, values in found.items() if len(a.seeds) > 1 else ():
            tell(who, values)
        with torch.no_grad():
            compare_outputs(model, a.trainer, folder, rows["held"], letters, m)


if __name__ == "__main__":
    main()
