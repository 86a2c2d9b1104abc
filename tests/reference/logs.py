"""logs.py: what TensorBoard and pandas read of runs with --log tensorboard,csv, against metrics.jsonl: logs.py RUN…

Every number of every line must come back: from TensorBoard as fp32, from pandas equal; samples as texts.  Needs the packages
tensorboard and pandas."""
import json
import sys

import pandas
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
import numpy


def leaves(line, before=""):
    for key, value in line.items():
        if isinstance(value, dict):
            yield from leaves(value, before + key + ".")
        elif not isinstance(value, list) and (before or key not in ("step", "split")):
            yield before + key, value


def check_histograms(run, seen):
    """Bars are of log2: from 2^from on, one a power."""
    bars, tags = 0, set()
    for line in map(json.loads, open(f"{run}/histograms.jsonl")):
        for parameter in line["parameters"]:
            for of, member in (("log2 gradient", "gradient"), ("log2 update per weight", "ratio")):
                tag, spread = f"{of}/{parameter['name']}", parameter[member]
                tags.add(tag)
                event = next(e for e in seen.Histograms(tag) if e.step == line["step"]).histogram_value
                assert event.bucket == spread["counts"] and event.num == sum(spread["counts"]), tag
                assert event.bucket_limit == [spread["from"] + 1 + i for i in range(len(spread["counts"]))], tag
                bars += len(event.bucket)
    assert tags == set(seen.Tags()["histograms"])
    return bars


def check(run):
    lines = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
    seen = EventAccumulator(run, size_guidance={"scalars": 0, "tensors": 0, "histograms": 0})
    seen.Reload()
    table = pandas.read_csv(f"{run}/metrics.csv")
    assert len(table) == len(lines), f"{len(table)} rows for {len(lines)} lines"
    scalars, texts, numbers = {}, [], 0
    for row, line in zip(table.itertuples(index=False), lines):
        cells = dict(zip(table.columns, row))
        assert cells.pop("step") == line["step"] and cells.pop("split") == line["split"]
        for name, value in leaves(line):
            cell = cells.pop(name)
            assert cell == value or (pandas.isna(cell) and value in (None, "")), f"{name}: {cell}, not {value}"
            if isinstance(value, (int, float)):
                place = f"{line['source']}/" if "source" in line else ""
                scalars.setdefault(f"{line['split']}/{place}{name}", []).append((line["step"], numpy.float32(value)))
                numbers += 1
        assert all(pandas.isna(c) for c in cells.values()), f"more than the line has: {cells}"
        if line["split"] == "sample" and "text" in line:
            texts.append((line["step"], "    " + ((line["prompt"] or "") + line["text"]).replace("\n", "\n    ")))
    assert set(scalars) == set(seen.Tags()["scalars"]), set(scalars) ^ set(seen.Tags()["scalars"])
    for tag, values in scalars.items():
        assert values == [(e.step, numpy.float32(e.value)) for e in seen.Scalars(tag)], tag
    if texts:
        read = [(e.step, tensor_util.make_ndarray(e.tensor_proto)[0].decode()) for e in seen.Tensors("sample/text")]
        assert read == texts, f"{read[:1]} {texts[:1]}"
        assert seen.SummaryMetadata("sample/text").plugin_data.plugin_name == "text"
    bars = check_histograms(run, seen)
    print(f"{run}: {bars} bars of histograms")
    print(f"{run}: {len(lines)} lines, {numbers} numbers, {len(texts)} texts")


for each in sys.argv[1:]:
    check(each)
