"""times.py: how far `lathe plan --time` is off, and the factors of compiler/timing/costs.def.

    times.py collect DIR [MODEL:CONFIG…]   builds and profiles each (default: all of models/), with its plan
    times.py check DIR                     predicted against measured, step by step
    times.py fit DIR [--write]             the factors that fit best (needs numpy and scipy), and how well they
                                           predict models that they were not fitted to; --write: into costs.def

A step's time is that of its profile; repeat `collect` where other programs disturbed it.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
LATHE = ROOT / "build" / "lathe"
COSTS = ROOT / "compiler" / "timing" / "costs.def"


def configs(model):
    """The names of a description's configurations; "" is the one without a name."""
    said = subprocess.run([LATHE, "check", model, "--config", "?"], capture_output=True, text=True).stderr
    known = re.search(r"known are (.*)", said)
    return [""] + (known.group(1).split(", ") if known else [])


def steps_of(ms):
    return 31 if ms < 300 else 9 if ms < 1500 else 5 if ms < 6000 else 3


def collect(folder, asked):
    folder.mkdir(parents=True, exist_ok=True)
    every = [f"{p.stem}:{c}" for p in sorted((ROOT / "models").glob("*.lua")) for c in configs(p)]
    for name in asked or every:
        model, config = name.split(":")
        words = [str(ROOT / "models" / f"{model}.lua"), *(["--config", config] if config else [])]
        plan = subprocess.run([LATHE, "plan", *words, "--time", "--json"], capture_output=True, text=True)
        if plan.returncode:
            print(f"{name}: {plan.stderr.splitlines()[0]}")
            continue
        ms = json.loads(plan.stdout)["step_ms_estimate"]
        trainer = subprocess.run([LATHE, "build", *words], capture_output=True, text=True, check=True, cwd=ROOT)
        program = ROOT / trainer.stdout.split()[-1]
        profile = subprocess.run([program, "profile", "--json", "--steps", str(steps_of(ms))], capture_output=True,
                                 text=True, check=True)  # fmt: skip
        (folder / f"{name}.plan.json").write_text(plan.stdout)
        (folder / f"{name}.profile.json").write_text(profile.stdout)
        print(f"{name}: predicted {ms:.4g} ms, took {json.loads(profile.stdout)['step_ms']:.4g}", flush=True)


def step_of(plan, profile):
    """The step of the plan that was profiled: of the turn whose kernels have these names."""
    names = {(k["lap"], k["name"]) for k in profile["kernels"]}
    return max(plan["time"]["steps"], key=lambda s: sum((k["lap"], k["name"]) in names for k in s["kernels"]))


class Model:
    def __init__(self, folder, name):
        plan = json.loads((folder / f"{name}.plan.json").read_text())
        profile = json.loads((folder / f"{name}.profile.json").read_text())
        self.name, self.units, self.measured = name, plan["time"]["seconds"], profile["step_ms"]
        step = step_of(plan, profile)
        self.predicted = step["ms"]
        took = {(max(k["lap"], -1), k["name"]): k for k in profile["kernels"] if k["calls"]}
        self.kernels = []  # (work of a call, calls, milliseconds of a call)
        direction = took.get((-1, "direction"))
        whole = {}  # the work of the entry direction, which a profile has in one row
        for k in step["kernels"]:
            row = took.get((k["lap"], k["name"]))
            if k["entry"] == "direction":
                for word, amount in k["work"].items():
                    whole[word] = whole.get(word, 0) + k["calls"] * amount
            elif row:
                self.kernels.append((k["work"], row["calls"], row["ms"] / row["calls"]))
        if direction:
            self.kernels.append((whole, 1, direction["ms"]))


def models(folder):
    return [Model(folder, p.name[: -len(".plan.json")]) for p in sorted(folder.glob("*.plan.json"))
            if (folder / p.name.replace(".plan.", ".profile.")).exists()]  # fmt: skip


def tell(errors):
    off = [abs(e) for _, e in errors]
    print(f"{len(off)} steps: off by {100 * median(off):.1f} % at the median, {100 * max(off):.1f} % at worst")


def check(folder):
    errors = []
    for m in models(folder):
        errors.append((m.name, m.predicted / m.measured - 1))
        print(f"{m.name:28s} predicted {m.predicted:10.4g} ms  measured {m.measured:10.4g}  {100 * errors[-1][1]:+.1f} %")
    tell(errors)


def rows_of_costs():
    text = COSTS.read_text()
    return re.findall(r'^COST\((\w+), *"(\w+)", *(\w+), *([\d.e+-]+)', text, re.M)


def fitted(ms, costs):
    """Nonnegative factors by least squares, of kernels and of whole steps, each by its own size."""
    import numpy as np
    from scipy.optimize import nnls

    place = {word: i for i, (_, word, _, _) in enumerate(costs)}
    A, b = [], []
    for m in ms:
        whole = np.zeros(len(costs))
        total = sum(calls * took for _, calls, took in m.kernels)
        for work, calls, took in m.kernels:
            row = np.zeros(len(costs))
            for word, amount in work.items():
                row[place[word]] = 1e3 * amount * m.units[costs[place[word]][2].lower()]
            weight = 1 / (0.3 * took + 0.01 * m.measured / calls + 1e-4)
            A.append(weight * row)
            b.append(weight * took)
            whole += calls * row
        A.append(30 / total * whole)
        b.append(30 * m.measured / total)
    A, b = np.array(A), np.array(b)
    scale = A.max(0)
    scale[scale == 0] = 1
    found, _ = nnls(A / scale, b, maxiter=100000)
    known = (A > 0).any(axis=0)
    return [f if k else float(old) for f, k, (_, _, _, old) in zip(found / scale, known, costs)]


def round_to_three(f):
    return f"{float(f'{f:.3g}'):g}"


def predicted(m, costs, factors):
    of = {word: f * m.units[unit.lower()] for (_, word, unit, _), f in zip(costs, factors)}
    return 1e3 * sum(calls * sum(amount * of[word] for word, amount in work.items()) for work, calls, _ in m.kernels)


def fit(folder, write):
    ms, costs = models(folder), rows_of_costs()
    factors = fitted(ms, costs)
    for (name, word, unit, old), f in zip(costs, factors):
        print(f"{name:14s} {word:14s} {unit:8s} {float(old):10.4g} -> {f:.3g}")
    if write:
        text = COSTS.read_text()
        for (name, word, unit, old), f in zip(costs, factors):
            text = re.sub(rf'^(COST\({name}, *"{word}", *{unit}, *){re.escape(old)}', rf"\g<1>{round_to_three(f)}", text, flags=re.M)
        COSTS.write_text(text)
    tell([(m.name, predicted(m, costs, factors) / m.measured - 1) for m in ms])
    left_out = []
    for family in sorted({m.name.split(":")[0] for m in ms}):
        others = fitted([m for m in ms if m.name.split(":")[0] != family], costs)
        left_out += [(m.name, predicted(m, costs, others) / m.measured - 1) for m in ms if m.name.split(":")[0] == family]
    print("fitted to the other models alone: " + ", ".join(f"{n} {100 * e:+.0f} %" for n, e in left_out))
    tell(left_out)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("collect", "check", "fit"):
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    if sys.argv[1] == "collect":
        collect(folder, sys.argv[3:])
    elif sys.argv[1] == "check":
        check(folder)
    else:
        fit(folder, "--write" in sys.argv)
