"""bench.py: times training steps of Lathe, of their matrix products alone, and of PyTorch, in turns; run.sh calls it.

Every contestant does the same work: model, batch, AdamW with clipping; PyTorch starts from Lathe's parameters, and its first
loss and gradients must agree.  In each round each contestant has one repeat of some steps; its figure is the median over
rounds of the medians of its repeats.  CPU time that others took during a repeat is read from /proc/stat; a repeat that lost
more than a few per cent of the machine is discarded and done again, up to a limit, after which the least disturbed one counts
and is called disturbed.

The floor is the sum over the products of a step of the least that any library with any way of using the threads needed for
that product: the median over rounds, each product by itself.  Beside the ratio of these medians stands that of the least of
all rounds (least), which a busy machine disturbs less.
"""

import argparse
import glob
import json
import math
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass

from rows import ROWS, Row

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 1  # of what a model draws
START_LIMIT = 600  # seconds until PyTorch must have done its first steps
TUNED_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 36)}


# ------------------------------------------------------------------ processes and the machine


def environment(a, **more):
    env = {k: v for k, v in os.environ.items() if a.keep_coretype or not k.startswith("OPENBLAS_")}
    env.pop("OMP_WAIT_POLICY", None)
    waiting = {"OMP_WAIT_POLICY": "passive"} if a.passive else {}
    return {**env, "OMP_NUM_THREADS": str(a.threads), **waiting, **more}


def run_process(words, env, limit=None):
    """Its standard output and CPU seconds; stops the bench where it fails, returns None where it takes longer than limit."""
    child = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    late = threading.Timer(limit or 0, child.kill)
    if limit:
        late.start()
    out = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    late.cancel()
    if limit and child.returncode == -signal.SIGKILL:
        return None
    if child.returncode:
        sys.exit(f"bench.py: exit code {child.returncode} of {' '.join(words)}")
    return out, used.ru_utime + used.ru_stime


TICK = os.sysconf("SC_CLK_TCK")


def machine_seconds():
    """CPU seconds that anyone has used: user, nice, system, irq, softirq, steal."""
    with open("/proc/stat") as file:
        x = [int(w) for w in file.readline().split()[1:9]]
    return (x[0] + x[1] + x[2] + x[5] + x[6] + x[7]) / TICK


def process_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        x = file.read().rpartition(")")[2].split()
    return (int(x[11]) + int(x[12])) / TICK


# ------------------------------------------------------------------ contestants: repeat() returns (result, CPU seconds)


class Lathe:
    name = "lathe"

    def __init__(self, a, trainer):
        self.words, self.env = [trainer, "bench", "--json", "--threads", str(a.threads), "--steps"], environment(a)
        self.steps = 3
        result, _ = self.repeat()
        self.steps = max(3, round(a.seconds * 1e3 / result))

    def repeat(self):
        out, cpu = run_process(self.words + [str(self.steps)], self.env)
        return json.loads(out)["step_ms"]["median"], cpu


class Floor:
    """One library under one waiting policy; a result is {(way, product): ms}."""

    def __init__(self, a, row, library, policy=None):
        sizes = {"layers": row.layers, "heads": row.heads, "kv-heads": row.kv_heads, "width": row.width,
                 "hidden": row.hidden, "up": row.up, "seq": row.seq, "batch": row.batch, "vocab": row.vocab,
                 "threads": a.threads}  # fmt: skip
        self.name = os.path.basename(os.path.dirname(library)) + (" " + policy if policy else "")
        self.words = [os.path.join(a.work, "gemm_floor"), library] + ["--in-out"] * row.in_out
        self.words += [w for k, v in sizes.items() for w in ("--" + k, str(v))]
        self.env = environment(a, **({"OMP_WAIT_POLICY": policy} if policy else {}))
        self.passes = 2

    def repeat(self, limit=None, middle=statistics.median):
        done = run_process(self.words + ["--passes", str(self.passes)], self.env, limit)
        if not done:
            return None
        data = json.loads(done[0])
        self.flops, self.flops_of = data["flops"], data["flops_of"]
        times = {(w, k): middle(v) for w, of in data["ways"].items() for k, v in of.items()}
        return times, done[1]


class Torch:
    def __init__(self, a, name, files, *flags, **env):
        self.name = name
        words = [a.python, os.path.join(HERE, "torch_step.py"), files["model"], "--threads", str(a.threads)]
        for key in ("weights", "inputs", "gradients"):
            words += ["--" + key, files[key]]
        self.child = subprocess.Popen(words + list(flags), env=environment(a, **env), text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        late = threading.Timer(START_LIMIT, self.child.kill)  # torch.compile may take very long
        late.start()
        self.start = self.answer()
        late.cancel()
        if self.start:
            self.steps = 1
            self.steps = max(3, round(a.seconds * 1e3 / self.repeat()[0]))

    def answer(self):
        line = self.child.stdout.readline()
        return json.loads(line) if line else None

    def repeat(self):
        before = process_seconds(self.child.pid)
        self.child.stdin.write(f"{self.steps}\n")
        self.child.stdin.flush()
        answer = self.answer()
        if not answer:
            sys.exit(f"bench.py: {self.name} ended in the middle")
        return statistics.median(answer["ms"]), process_seconds(self.child.pid) - before

    def stop(self):
        self.child.stdin.close()
        self.child.wait()


def best_floors(a, row):
    """The libraries that may have the fastest product somewhere: up to three, after one repeat of each."""
    found = sorted(glob.glob("/usr/lib/*/openblas-*/libopenblas.so.0") + glob.glob("/usr/lib/*/blis-*/libblis.so.4"))
    found.sort(key=lambda path: "openblas-openmp" not in path)  # first, to know how long is too long
    tried, dropped, longest = [], [], None
    for path in found + a.blas:
        floor = Floor(a, row, path)
        begin = time.monotonic()
        done = floor.repeat(longest, min)
        took = time.monotonic() - begin
        if done:
            longest = min(longest or 3600.0, 3 * took + 5)
        if done:
            tried.append((sum_of_least([done[0]]), floor, path))
        else:
            dropped.append(floor.name)
    if not tried:
        sys.exit("bench.py: no BLAS library found for the floor; give one with --blas PATH")
    tried.sort(key=lambda x: x[0])
    least, best, path = tried[0]
    if not a.passive:
        patient = Floor(a, row, path, "passive")
        tried.insert(1, (sum_of_least([patient.repeat(middle=min)[0]]), patient, path))
    kept = [x for x in tried[:4] if x[0] <= 1.5 * least or x[1] is best]
    dropped += [x[1].name for x in tried if x not in kept]
    for ms, floor, _ in kept:
        floor.flops, floor.flops_of = best.flops, best.flops_of
        floor.passes = max(1, round(a.seconds * 1e3 / (3 * ms)))
    return [x[1] for x in kept], dropped


def sum_of_least(all_times):
    """Of each product the least time anywhere, added up."""
    least = {}
    for times in all_times:
        for (_, product), ms in times.items():
            least[product] = min(ms, least.get(product, ms))
    return sum(least.values())


# ------------------------------------------------------------------ the same start


def write_inputs(path, info):
    """Random ids, or numbers up to `scale`, for each input of the model but seed and step; rows of full length."""
    draw = random.Random(1)
    inputs = {name: x for name, x in info["entries"]["grad"]["inputs"].items() if x["shape"]}
    full = {"source_lengths": inputs["source"]["shape"][-1] if "source" in inputs else 0, "lengths": info["seq"]}
    header, body = {}, b""
    for name, x in inputs.items():
        count = math.prod(x["shape"])
        real, below = x["dtype"] == "f32", info["vocab"] or int(info["built_with"].get("classes", 0))
        scale = float(info["built_with"].get("scale", 1))
        values = [full.get(name) or (draw.random() * scale if real else draw.randrange(below)) for _ in range(count)]
        header[name] = {"dtype": x["dtype"].upper(), "shape": x["shape"], "data_offsets": [len(body), len(body) + 4 * count]}
        body += struct.pack(f"<{count}{x['dtype'][0]}", *values)
    head = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + body)


def check_sizes(name, row, built):
    """What the row says against the trainer."""
    for key, value in asdict(row).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if key in built and str(built[key]) not in (text, "0" if key == "context" and value == row.seq else text):
            sys.exit(f"bench.py: row {name} has {key} = {text}, the trainer {built[key]}")


def number(text):
    """A value of the configuration, which info gives as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def prepare(a, name, row):
    """Builds the trainer; files that PyTorch starts from."""
    folder = os.path.join(a.work, name)
    words = [a.lathe, "build", f"models/{row.model}.lua", "-o", folder]
    config = row.config or (name if isinstance(row, Row) else "")
    words += ["--config", config] if config else []
    run_process(words + [w for s in row.sets for w in ("--set", s)], environment(a))
    trainer = os.path.join(folder, "trainer")
    info = json.loads(run_process([trainer, "info", "--json"], environment(a))[0])
    built = {**info["built_with"], **{k: info[k] for k in ("batch", "seq", "vocab")}}
    if isinstance(row, Row):
        check_sizes(name, row, built)
    files = {k: os.path.join(folder, k + ".safetensors") for k in ("weights", "inputs", "gradients")}
    files["model"] = os.path.join(folder, "model.json")
    recipe = {k: info["recipe"][k] for k in ("optimizer", "lr", "momentum", "beta1", "beta2", "eps", "decay", "clip", "accumulate")}
    with open(files["model"], "w") as file:
        json.dump({**{k: number(str(v)) for k, v in built.items()}, **asdict(row), **recipe, "seed": SEED}, file)
    if a.python:
        write_inputs(files["inputs"], info)
        run_process([trainer, "init", "--out", files["weights"]], environment(a))
        run_process([trainer, "grad", "--seed", str(SEED), "--weights", files["weights"], "--inputs", files["inputs"], "--out",
                     files["gradients"]], environment(a))  # fmt: skip
    return trainer, files, info


def start_torch(a, files):
    if not a.python:
        return []
    started = [Torch(a, "torch eager", files), Torch(a, "torch eager, tuned malloc", files, **TUNED_MALLOC)]
    if not all(t.start for t in started):
        sys.exit("bench.py: PyTorch does not do what Lathe does; nothing was timed")
    if a.compile:
        compiled = Torch(a, "torch compile", files, "--compile", **TUNED_MALLOC)
        if compiled.start:
            started.append(compiled)
        else:
            print(f"torch.compile does not work here, or not within {START_LIMIT} s: left out", flush=True)
    return started


# ------------------------------------------------------------------ measuring


@dataclass
class Repeat:
    result: object
    foreign: float  # part of the machine that others had


def one_repeat(a, contestant):
    time.sleep(0.05)  # threads of the one before go to sleep
    machine, begin = machine_seconds(), time.monotonic()
    result, own = contestant.repeat()
    seconds = (time.monotonic() - begin) * os.cpu_count()
    return Repeat(result, max(0.0, (machine_seconds() - machine - own) / seconds))


def quiet_repeat(a, contestant, tally):
    """A repeat that nobody disturbed, or the least disturbed of as many as are allowed."""
    tries = []
    while True:
        tries.append(one_repeat(a, contestant))
        if tries[-1].foreign <= a.disturbed / 100:
            tally["discarded"] += len(tries) - 1
            return tries[-1]
        if len(tries) > a.retries:
            tally["discarded"] += len(tries) - 1
            tally["disturbed"] += 1
            return min(tries, key=lambda r: r.foreign)


def spread(values, base):
    middle, least = statistics.median(values), min(values)
    return {"ms": middle, "min_ms": least, "max_ms": max(values), "of_base": middle / base["ms"],
            "least_of_least": least / base["least_ms"]}  # fmt: skip


def floor_summary(floors, repeats):
    """The fastest library and way of each product, by medians over rounds; the sum, and its spread over rounds."""
    products, rounds = {}, len(repeats[floors[0].name])
    for product, flops in floors[0].flops_of.items():
        choices = []
        for f in floors:
            for way, of in [key for key in repeats[f.name][0].result if key[1] == product]:
                values = [r.result[(way, of)] for r in repeats[f.name]]
                choices.append((statistics.median(values), f.name, way, values))
        ms, library, way, values = min(choices, key=lambda c: c[0])
        products[product] = {"ms": ms, "library": library, "way": way, "gflops": flops / ms * 1e-6, "rounds": values}
    total = sum(p["ms"] for p in products.values())
    least = sum_of_least(r.result for f in floors for r in repeats[f.name])
    by_round = [sum(p["rounds"][i] for p in products.values()) for i in range(rounds)]
    return {"ms": total, "min_ms": min(by_round), "max_ms": max(by_round), "of_base": 1.0,
            "least_ms": least, "least_of_least": 1.0, "products": products}


def least_and_median(values):
    values = list(values)
    return {"ms": statistics.median(values), "least_ms": min(values)}


def floor_row(floors, repeats, tallies, dropped):
    floor = floor_summary(floors, repeats)
    counts = {k: sum(tallies[f.name][k] for f in floors) for k in ("discarded", "disturbed")}
    foreign = [round(r.foreign, 4) for f in floors for r in repeats[f.name]]
    return {**floor, "libraries": [f.name for f in floors], "slower_libraries": dropped, **counts, "foreign": foreign}


def measure_row(a, name, row):
    trainer, files, info = prepare(a, name, row)
    floors, dropped = best_floors(a, row) if isinstance(row, Row) else ([], [])
    torches = start_torch(a, files)
    contestants = floors + [Lathe(a, trainer)] + torches
    repeats = {c.name: [] for c in contestants}
    tallies = {c.name: {"discarded": 0, "disturbed": 0} for c in contestants}
    for _ in range(a.rounds):
        for c in contestants:
            repeats[c.name].append(quiet_repeat(a, c, tallies[c.name]))
    for t in torches:
        t.stop()
    rows, base = {}, least_and_median(r.result for r in repeats["lathe"])
    if floors:
        rows["floor"] = floor_row(floors, repeats, tallies, dropped)
        base = rows["floor"]
    for c in contestants[len(floors) :]:
        times = spread([r.result for r in repeats[c.name]], base)
        rows[c.name] = {**times, **tallies[c.name], "foreign": [round(r.foreign, 4) for r in repeats[c.name]]}
    train = info["entries"]["train"]
    tokens = math.prod(train["inputs"]["tokens"]["shape"]) if "tokens" in train["inputs"] else info["batch"]
    flops = floors[0].flops if floors else train["flops"]
    return {"sizes": {**asdict(row), "batch": info["batch"], "seq": info["seq"], "vocab": info["vocab"]}, "flops": flops,
            "tokens": tokens, "rounds": a.rounds, "contestants": rows}  # fmt: skip


# ------------------------------------------------------------------ telling


def print_row(a, name, measured):
    s, floor = measured["sizes"], measured["contestants"].get("floor")
    layers = f"{s['layers']} x {s['width']}, {s['heads']} heads" if floor else s["config"] or "default"
    print(f"\n{name}: {s['model']}, {layers}, vocabulary {s['vocab']:,}, batch {s['batch']} x {s['seq']}; "
          f"{measured['flops'] * 1e-9:.1f} GFLOP in products; {a.rounds} rounds")  # fmt: skip
    base = "of floor" if floor else "of lathe"
    print(f"  {'':26} {'ms':>9} {'min … max':>19} {base:>9} {'least':>6} {'tokens/s':>9} {'discarded':>10} {'disturbed':>10}")
    for who, x in measured["contestants"].items():
        tokens = f"{measured['tokens'] / x['ms'] * 1e3:9,.0f}" if who != "floor" else ""
        repeats = len(x["foreign"])
        print(f"  {who:26} {x['ms']:9.2f} {x['min_ms']:9.2f} …{x['max_ms']:8.2f} {x['of_base']:9.2f} {x['least_of_least']:6.2f} "
              f"{tokens:>9} "
              f"{x['discarded']:10} {x['disturbed']:5} of {repeats:2}")  # fmt: skip
    if floor:
        print(f"  floor: {measured['flops'] / floor['ms'] * 1e-6:.0f} GFLOP/s; best of {', '.join(floor['libraries'])}"
              + (f"; slower: {', '.join(floor['slower_libraries'])}" if floor["slower_libraries"] else ""))  # fmt: skip
    sys.stdout.flush()


def cpu_name():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")


def find_torch(a):
    python = os.environ.get("LATHE_TORCH_PYTHON", "python3")
    words = [python, "-c", "import torch; print(torch.__version__)"]
    try:
        version = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        print(f"{python} has no torch: its lines are left out ($LATHE_TORCH_PYTHON names another)")
        return None, None
    return python, version


def arguments():
    words = argparse.ArgumentParser(prog="tests/bench/run.sh")
    words.add_argument("--rows", default=",".join(ROWS), help="of " + ", ".join(ROWS) + " (default: all)")
    words.add_argument("--quick", action="store_true", help="5 rounds of short repeats, no torch.compile")
    words.add_argument("--rounds", type=int, default=0, help="at least 5 (default 7, quick 5)")
    words.add_argument("--threads", type=int, default=os.cpu_count(), help="of every contestant (default: all cores)")
    words.add_argument("--disturbed", type=float, default=3.0, metavar="PERCENT", help="of the machine taken by others")
    words.add_argument("--retries", type=int, default=-1, help="of a disturbed repeat (default 5, quick 1)")
    words.add_argument("--blas", action="append", default=[], metavar="LIB.so", help="one more library for the floor")
    words.add_argument("--keep-coretype", action="store_true", help="leave OPENBLAS_CORETYPE and the like as they are set")
    words.add_argument("--passive", action="store_true", help="OMP_WAIT_POLICY=passive for all, as Lathe sets it for itself: "
                       "spinning threads are slow on a machine that others use")  # fmt: skip
    words.add_argument("--no-torch", action="store_true")
    words.add_argument("--out", metavar="FILE", help="JSON (default: results.json in the work folder)")
    words.add_argument("--lathe", default="build/lathe", help=argparse.SUPPRESS)
    words.add_argument("--work", default="build/bench", help=argparse.SUPPRESS)
    a = words.parse_args()
    unknown = [r for r in a.rows.split(",") if r not in ROWS]
    if unknown:
        words.error(f"there is no row {unknown[0]}; rows: {', '.join(ROWS)}")
    a.rounds = max(5, a.rounds or (5 if a.quick else 7))
    a.retries = a.retries if a.retries >= 0 else (1 if a.quick else 5)
    a.seconds = 0.4 if a.quick else 1.0  # of a repeat
    a.compile = not a.quick
    return a


def main():
    a = arguments()
    set_here = sorted(k for k in os.environ if k.startswith("OPENBLAS_"))
    if set_here:
        print(f"{', '.join(set_here)}: {'kept' if a.keep_coretype else 'unset for all, so that each library picks its kernels'}")
    a.python, version = (None, None) if a.no_torch else find_torch(a)
    result = {"cpu": cpu_name(), "cores": os.cpu_count(), "threads": a.threads, "torch": version, "quick": a.quick,
              "disturbed_percent": a.disturbed, "coretype_kept": a.keep_coretype, "passive": a.passive,
              "rows": {}}  # fmt: skip
    print(f"{result['cpu']}, {a.threads} threads; a repeat is disturbed where others take more than {a.disturbed:g} % of "
          "the machine", flush=True)  # fmt: skip
    out = a.out or os.path.join(a.work, "results.json")
    for name in a.rows.split(","):
        measured = measure_row(a, name, ROWS[name])
        result["rows"][name] = measured
        print_row(a, name, measured)
        with open(out, "w") as file:
            json.dump(result, file, indent=1)
    print(f"\n{out}")


if __name__ == "__main__":
    main()
