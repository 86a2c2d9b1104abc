"""train_table.py: tabular trained by Lathe and by PyTorch on a table with the same recipe, to compare what both reach.

    train_table.py TRAINER TABLE.csv [--seeds 1 2 3]

TRAINER is built of models/tabular.lua for TABLE.csv (lathe train --set target=COLUMN --data TABLE.csv --steps 1); of datasets.py,
cars.csv or cells.csv.  Which columns are numbers and which are categories is Lathe's word (table.json); means, deviations and the
values that have ids of their own are found here again and must be the same.  Each seed is a run of both, from initial values that
`TRAINER init` draws and rows in other orders.  Told are what they reach over the last rows, with means and deviations over the
seeds.  Then Lathe's last weights are read into the PyTorch network, whose outputs and those of `TRAINER predict` may be at most
1e-5 of the largest of them apart.
"""

import csv
import json
import os
import sys
import tempfile
from collections import Counter

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
from networks import Tabular
from torch_step import read_safetensors
from train_models import asked, load, run, tell, train


def same(name, what, own, theirs):
    if not np.allclose(own, theirs, rtol=1e-9, atol=0):
        sys.exit(f"train_table.py: {what} of {name}: found {own}, table.json has {theirs}")


def numbers_of(column, cells, own):
    """A column scaled by the first own rows, 0 where it is missing, and with what is missing if the column says so"""
    x = np.array([float(v) if v else np.nan for v in cells])
    mean, deviation = np.nanmean(x[:own]), np.nanstd(x[:own])
    same(column["name"], "mean", mean, column["mean"][0])
    same(column["name"], "deviation", deviation, column["deviation"][0])
    scaled = np.where(np.isnan(x), 0, (x - mean) / deviation)
    return [scaled, np.isnan(x)] if column["flagged"] else [scaled]


def ids_of(column, cells, own):
    """Values met once in the first own rows, or never, share an id"""
    known = {name for name, n in Counter(cells[:own]).items() if n > 1}
    ids = dict(zip(column["values"], column["ids"]))
    theirs = {name for name, k in ids.items() if k != column["unknown"]}
    if known != theirs:
        sys.exit(f"train_table.py: {column['name']}: other values have ids: {sorted(known ^ theirs)}")
    return [ids[name] if name in known else column["unknown"] for name in cells]


def rows_of(table, columns, own):
    numbers, categories, targets = [], [], None
    for c in columns:
        cells = [row[c["name"]].strip() for row in table]
        if c["kind"] == "number":
            numbers += numbers_of(c, cells, own)
        elif c["kind"] == "category":
            categories.append(ids_of(c, cells, own))
        elif c["kind"] == "target" and c["values"]:
            targets = torch.tensor([c["values"].index(name) for name in cells])
        elif c["kind"] == "target":
            targets = torch.tensor(numbers_of(c, cells, own)[0], dtype=torch.float32)
        else:
            sys.exit(f"train_table.py: columns of the kind {c['kind']} are not read here")
    return {"numbers": torch.tensor(np.stack(numbers, 1), dtype=torch.float32),
            "categories": torch.tensor(categories, dtype=torch.long).reshape(-1, len(table)).T, "targets": targets}  # fmt: skip


def measured(own, targets, classes, deviation):
    if classes:
        loss = torch.nn.functional.cross_entropy(own, targets).item()
        return {"loss": loss, "accuracy": (own.argmax(-1) == targets).double().mean().item()}
    e = own - targets
    return {"loss": (e**2).mean().item(), "RMSE": deviation * (e**2).mean().sqrt().item()}


def outputs(model, rows):
    with torch.no_grad():
        return model.outputs(rows["numbers"], rows["categories"])


def main():
    a, _, m = asked("table")
    with open(a.table, encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    own = len(table) - int(len(table) * m["val_fraction"] + 0.5)
    found = {"Lathe": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as folder:
        weights, out = os.path.join(folder, "model.safetensors"), os.path.join(folder, "predicted.safetensors")
        first = os.path.join(folder, "first.safetensors")
        for seed in a.seeds:
            run(a.trainer, "train", "--data", a.table, "--seed", seed, "--out", folder)
            with open(os.path.join(folder, "table.json"), encoding="utf-8") as file:
                columns = json.load(file)["columns"]
            rows = rows_of(table, columns, own)
            ours, held = ({name: x[part] for name, x in rows.items()} for part in (slice(own), slice(own, None)))
            target = next(c for c in columns if c["kind"] == "target")
            deviation = target["deviation"][0]
            model = Tabular(m)
            run(a.trainer, "init", "--seed", 100 + seed, "--out", first)
            load(model, first)
            train(model, m, ours, seed)
            found["PyTorch"].append(measured(outputs(model, held), held["targets"], m["classes"], deviation))
            load(model, weights)
            found["Lathe"].append(measured(outputs(model, held), held["targets"], m["classes"], deviation))
            print(f"seed {seed}:", {who: values[-1] for who, values in found.items()}, flush=True)
        for who, values in found.items() if len(a.seeds) > 1 else ():
            tell(who, values)
        run(a.trainer, "predict", "--data", a.table, "--weights", folder, "--out", out)
        made = outputs(model, rows)
        theirs = read_safetensors(out)["logits" if m["classes"] else "prediction"]
    if not m["classes"]:
        made = made * deviation + target["mean"][0]
    apart = ((made - theirs).abs().max() / made.abs().max()).item()
    print(f"predict of {len(table)} rows: at most {apart:.1e} of the largest apart")
    if not apart <= 1e-5:
        sys.exit("train_table.py: predictions differ")


if __name__ == "__main__":
    main()
