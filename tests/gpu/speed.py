"""speed.py: steps of trainers on a GPU beside PyTorch's, in turns; tests/gpu.sh speed calls it.

    speed.py --until SECONDS NAME=TRAINER…

Both train the same model from the same parameters on random ids; the first losses and gradients must agree, and the losses of ten steps
on that batch are shown side by side (constant rate; dropout, where a model has it, draws differently).  PyTorch 2: torch.compile,
fused AdamW, scaled_dot_product_attention, autocast to bf16.  Lathe chooses its products' algorithms while nothing else is on the GPU;
then all PyTorch rows start at once, and those that do not start start again alone, without torch.compile if they were late.  Only then
anything is timed: in each round each contestant of each row has one repeat of about a second, whose figure is its seconds over its
steps; a repeat that takes more than 5 % longer than the contestant's fastest counts as disturbed and is made again, twice at most; a
row has the median of its rounds.  Rounds and kernel tables end when time is up; the table comes then, with what there is.

MFU: flops of a step / (seconds of a step · the GPU's dense bf16 rate), the flops being 2 for each multiply-add of the contractions of
forward and backward, as `trainer info` has them, for both contestants.  Memory: what Lathe planned, and the most that PyTorch's
allocator held in timed steps; beside it what nvidia-smi says of the process, if it does.  A kernel's floor, as `trainer profile` has
it: the longer of its flops at the rate of one large product and its bytes at that of a copy, both measured there.
"""

import argparse
import json
import math
import os
import signal
import statistics
import struct
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "bench")
sys.path.insert(0, BENCH)
import bench  # noqa: E402  write_inputs, number

# Dense bf16 flop/s, as their makers state them; the first that a name contains counts.
GPUS = {"H100 PCIe": 756e12, "H200": 989e12, "H100": 989e12, "A100": 312e12, "4090": 165e12, "B200": 2250e12, "L40S": 362e12}
ROUNDS, SLACK = 5, 1.05
SHOWN = (1, 5, 10)  # steps whose losses are
SEED = "1"
ONE = 60  # seconds that a call of a trainer, or a repeat, may take
FOR_ROUNDS, FOR_KERNELS = 150, 35  # seconds kept for them, if all PyTorch rows start late


class Failed(Exception):
    """Of one contestant; its text goes into the table."""


class TimeUp(Exception):
    """SIGTERM: the table is printed as it is."""


def gpu_name():
    try:
        words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout.split("\n")[0].strip()
    except (OSError, subprocess.SubprocessError):
        return "no GPU"


def gpu_rate(name):
    return next((rate for key, rate in GPUS.items() if key in name), None)


class MemoryWatch:
    """The most that a process has of the GPU's memory, by nvidia-smi; 0 where it does not tell."""

    def __init__(self, pid):
        self.pid, self.most, self.done = pid, 0, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        words = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
        while not self.done.wait(0.2):
            try:
                out = subprocess.run(words, capture_output=True, text=True, timeout=20).stdout
            except (OSError, subprocess.SubprocessError):
                return
            for line in out.splitlines():
                pid, _, mib = line.partition(",")
                if pid.strip() == str(self.pid) and mib.strip().isdigit():
                    self.most = max(self.most, int(mib) << 20)

    def stop(self):
        self.done.set()
        return self.most


def last_words(text):
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:160] if lines else "without a word"


def output_of(words, limit=ONE, watched=False):
    """What a command prints, and the most memory of the GPU that it had."""
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watch = MemoryWatch(child.pid) if watched else None
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise Failed(f"`{words[1]}` took more than {limit} s") from None
    finally:
        peak = watch.stop() if watch else 0
        if child.poll() is None:
            child.kill()
    if child.returncode:
        raise Failed(f"`{words[1]}` ended with exit code {child.returncode}: {last_words(err)}")
    return out, peak


def json_of(words, **how):
    return json.loads(output_of(words, **how)[0])


class Lathe:
    name = "lathe"

    def __init__(self, row):
        self.trainer, self.tokens, self.rounds, self.discarded, self.parts = row.trainer, row.tokens, [], 0, []
        self.memory = row.info["planned_bytes"]
        words, alone = ["--steps", "8"], row.info["recipe"]["accumulate"] == 1
        if alone:
            words += ["--weights", row.files["weights"], "--inputs", row.files["inputs"], "--set", "warmup=0", "--set", "schedule=constant"]
        run, self.seen = self.bench(words, watched=True)
        self.steps = max(3, round(run["tokens_per_s"] / self.tokens))
        self.losses = run["losses"] if alone else [first_loss(row.files["gradients"])]

    def bench(self, more, **how):
        out, seen = output_of([self.trainer, "bench", "--json", "--seed", SEED] + more, **how)
        return json.loads(out), seen

    def repeat(self):
        """ms of a step"""
        run = self.bench(["--steps", str(self.steps)])[0]
        self.parts.append(run["parts_ms"])
        return 1e3 * self.tokens / run["tokens_per_s"]

    def parts_text(self):
        """Medians of what its repeats say of the parts of a step, in its graph."""
        return ", ".join(f"{part} {statistics.median(p[part] for p in self.parts):.3f}" for part in ("forward", "backward", "update"))

    def stop(self):
        pass


class Torch:
    """A process that has begun to start; it writes what it says beside the row's files."""

    def __init__(self, a, row, compiled):
        self.name, self.rounds, self.discarded = "torch.compile" if compiled else "torch eager", [], 0
        self.losses, self.memory, self.seen, self.late, self.asked = [], 0, 0, "", time.time()
        self.said = os.path.join(a.work, f"{row.name}.torch")
        words = [a.python, os.path.join(BENCH, "torch_step.py"), row.files["model"], "--threads", str(a.cores), "--device", a.device]
        words += ["--compile"] * compiled + ["--bf16"] * row.files["half"]
        for key in ("weights", "inputs", "gradients"):
            words += ["--" + key, row.files[key]]
        with open(self.said, "w") as said:
            self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True)

    def answer(self, seconds):
        """A line of its; it is killed where none comes within the seconds."""
        timer = threading.Timer(max(1, seconds), self.kill_late)
        timer.start()
        line = self.child.stdout.readline()
        timer.cancel()
        if line:
            return json.loads(line)
        self.child.kill()
        self.child.wait()
        with open(self.said) as said:
            raise Failed(f"{self.name} {self.late}" if self.late else f"{self.name}: {last_words(said.read())}")

    def kill_late(self):
        self.late = f"did not answer within {time.time() - self.asked:.0f} s"
        self.child.kill()

    def wait_for_start(self, seconds):
        start = self.answer(seconds)
        self.losses, self.steps = start["losses"], max(3, round(1e3 / start["ms"]))

    def repeat(self):
        self.asked = time.time()
        self.child.stdin.write(f"{self.steps}\n")
        self.child.stdin.flush()
        answer = self.answer(ONE)
        self.memory = answer.get("peak_bytes", 0)
        return statistics.mean(answer["ms"])

    def stop(self):
        self.child.kill()
        self.child.wait()


class Row:
    """A model: files that both sides start from, and who is timed; failures: what to tell of those who are not."""

    def __init__(self, name, trainer):
        self.name, self.trainer, self.lathe, self.torch, self.failures = name, trainer, None, None, []

    def contestants(self):
        return [c for c in (self.lathe, self.torch) if c]

    def fail(self, why, contestant=None):
        print(f"speed.py: {self.name}: {why}", flush=True)
        self.failures.append(str(why))
        if contestant:
            contestant.stop()
        self.lathe = None if contestant is self.lathe else self.lathe
        self.torch = None if contestant is self.torch else self.torch

    def prepare(self, folder):
        try:
            if not self.trainer:
                raise Failed("no trainer: see above")
            self.files, self.info = prepare(folder, self.name, self.trainer)
            self.tokens = math.prod(self.info["entries"]["train"]["inputs"]["tokens"]["shape"])
            self.lathe = Lathe(self)
        except (Failed, KeyError, ValueError) as why:
            self.fail(why)


def prepare(folder, name, trainer):
    """Weights, inputs and the trainer's gradients of them."""
    info = json_of([trainer, "info", "--json"])
    files = {k: os.path.join(folder, f"{name}.{k}.safetensors") for k in ("weights", "inputs", "gradients")}
    built = {k: bench.number(str(v)) for k, v in info["built_with"].items()}
    built.update({k: info[k] for k in ("batch", "seq", "vocab", "model")})
    built.update({k: info["recipe"][k] for k in ("optimizer", "lr", "beta1", "beta2", "eps", "decay", "clip", "accumulate")})
    built.setdefault("hidden", 4 * built.get("width", 0))
    built["context"] = built.get("context") or built["seq"]
    built["in_out"] = built.get("layout") == "in_out"
    built["seed"] = int(SEED)
    files["model"] = os.path.join(folder, f"{name}.json")
    files["half"] = info["precision"] in ("bf16", "fp16")
    with open(files["model"], "w") as file:
        json.dump(built, file)
    bench.write_inputs(files["inputs"], info)
    output_of([trainer, "init", "--seed", SEED, "--out", files["weights"]])
    words = [trainer, "grad", "--seed", SEED, "--weights", files["weights"], "--inputs", files["inputs"], "--out", files["gradients"]]
    output_of(words + ["--only", "loss,gradients"])
    return files, info


def first_loss(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        at = json.loads(file.read(length))["loss"]["data_offsets"][0]
        file.seek(8 + length + at)
        return struct.unpack("<f", file.read(4))[0]


def shown(losses):
    return " ".join(f"{losses[k - 1]:9.5f}" if k <= len(losses) else f"{'-':>9}" for k in SHOWN)


def start_torch(a, rows):
    """All at once; who fails is started once more, alone, without torch.compile if that was late."""
    until = max(time.time() + 20, a.deadline - FOR_ROUNDS - FOR_KERNELS)
    again = []
    for row in rows:
        row.torch = Torch(a, row, not a.eager)
    for row in rows:
        try:
            row.torch.wait_for_start(until - time.time())
        except Failed as why:
            again.append((row, row.torch.late))
            row.fail(why, row.torch)
    for row, late in again:
        if "first losses" in row.failures[-1] or "first gradients" in row.failures[-1] or (late and a.eager):
            continue
        row.torch = Torch(a, row, not late and not a.eager)
        try:
            row.torch.wait_for_start(min(ONE, a.deadline - FOR_KERNELS - time.time()))
        except Failed as why:
            row.fail(why, row.torch)


def quiet(contestant, until):
    """One repeat, or the best of three where it is slower than the contestant has been."""
    tries = [contestant.repeat()]
    while len(tries) < 3 and contestant.rounds and tries[-1] > SLACK * min(contestant.rounds) and time.time() < until:
        contestant.discarded += 1
        tries.append(contestant.repeat())
    contestant.rounds.append(min(tries))


def measure(a, rows):
    """Round after round; the first one until the very end, others while there is time for the kernels' tables."""
    for number in range(a.rounds):
        until = a.deadline - (FOR_KERNELS if number else 0)
        for row in rows:
            for c in row.contestants():
                if time.time() > until:
                    return
                try:
                    quiet(c, until)
                except (Failed, OSError, ValueError) as why:
                    row.fail(why, c)


HEAD = (f"  {'':18} {'':14} {'ms a step':>10} {'tokens/s':>11} {'MFU':>6} {'memory':>9} {'nv-smi':>9} {'of torch':>9} {'rounds':>7} "
        + " ".join(f"{'loss ' + str(k):>9}" for k in SHOWN))  # fmt: skip


def gigabytes(n):
    return f"{n * 1e-9:6.2f} GB" if n else "-"


def lines_of(row, rate):
    """Of the table: a contestant each, then what failed."""
    timed = [c for c in row.contestants() if c.rounds]
    ms = {c: statistics.median(c.rounds) for c in timed}
    name = row.name
    for c in timed:
        mfu = f"{row.info['entries']['train']['flops'] / (1e-3 * ms[c] * rate):6.1%}" if rate else "-"
        of_torch = f"{ms[row.torch] / ms[c]:8.2f}x" if row.torch in ms else "-"
        rounds = f"{len(c.rounds)} (+{c.discarded})"
        yield (f"  {name:18} {c.name:14} {ms[c]:10.3f} {1e3 * row.tokens / ms[c]:11,.0f} {mfu:>6} {gigabytes(c.memory):>9} "
               f"{gigabytes(c.seen):>9} {of_torch:>9} {rounds:>7} {shown(c.losses)}")  # fmt: skip
        name = ""
        if c is row.lathe:
            yield f"  {'':18} {'':14} {c.parts_text()} ms"
    for c in row.contestants():
        if c not in timed:
            yield f"  {name:18} {c.name:14} not timed: time was up"
            name = ""
    for why in row.failures or ([] if name == "" else ["not begun: time was up"]):
        yield f"  {name:18} failed: {why}"
        name = ""


def kernel_table(row, most):
    """The kernels of a step that lose most against their floors."""
    profile = json_of([row.trainer, "profile", "--json", "--steps", "5"])
    print(f"\n{row.name}: kernels by what they lose against their floors ({1e-12 * profile['product_flops_per_s']:.0f} Tflop/s in one large "
          f"product, {1e-12 * profile['copy_bytes_per_s']:.2f} TB/s in a copy)\n  {'lost ms':>9} {'ms':>9} {'floor ms':>9} {'calls':>6}  kernel")  # fmt: skip
    kernels = sorted(profile["kernels"], key=lambda k: k["floor_ms"] - k["ms"])
    for k in kernels[:most]:
        print(f"  {k['lost_ms']:9.3f} {k['ms']:9.3f} {k['floor_ms']:9.3f} {k['calls']:6}  {(k['name'] + '  ' + k['formula'])[:90]}")
    for part in ("forward", "backward", "update", "total"):
        print(f"  {profile[part]['lost_ms']:9.3f} {profile[part]['ms']:9.3f} {profile[part]['floor_ms']:9.3f} {'':6}  {part}", flush=True)


def kernel_tables(a, rows):
    most = 20  # of the first row; others are shorter
    for row in rows:
        if row.lathe and time.time() < a.deadline:
            try:
                kernel_table(row, most)
            except (Failed, KeyError, TypeError, ValueError) as why:
                row.fail(f"kernels: {why}")
            most = 8


def find_torch(a):
    words = [a.python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"]
    try:
        version, gpu = subprocess.run(words, capture_output=True, text=True, check=True, timeout=ONE).stdout.split()
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return version if gpu == "True" or a.device == "cpu" else None


def arguments():
    words = argparse.ArgumentParser()
    words.add_argument("trainers", nargs="+", metavar="NAME=TRAINER", help="no TRAINER: there is none, which the table says")
    words.add_argument("--until", type=float, default=400, help="seconds from now after which nothing begins")
    words.add_argument("--rounds", type=int, default=ROUNDS)
    words.add_argument("--device", default="cuda")
    words.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    words.add_argument("--python", default=os.environ.get("LATHE_TORCH_PYTHON", sys.executable))
    words.add_argument("--work", required=True)
    a = words.parse_args()
    a.deadline = time.time() + a.until
    a.cores = max(1, (os.cpu_count() or 1) // len(a.trainers))
    for name, folder in (("LATHE_CACHE", "cache"), ("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")):
        os.environ.setdefault(name, os.path.join(a.work, folder))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(a.cores))
    return a


def run(a, rows, version):
    for row in rows:
        if time.time() < a.deadline:
            row.prepare(a.work)
    print(f"speed.py: Lathe's rows are ready, {a.deadline - time.time():.0f} s are left", flush=True)
    if version:
        start_torch(a, [row for row in rows if row.lathe])
        print(f"speed.py: PyTorch's rows have started, {a.deadline - time.time():.0f} s are left", flush=True)
    measure(a, rows)
    kernel_tables(a, rows)


def time_up(*_):
    raise TimeUp


def main():
    a = arguments()
    gpu = gpu_name()
    rate, version = gpu_rate(gpu), find_torch(a)
    rows = [Row(*word.partition("=")[::2]) for word in a.trainers]
    signal.signal(signal.SIGTERM, time_up)
    if not version:
        print(f"speed.py: {a.python} has no PyTorch that sees the GPU: Lathe's rows alone", flush=True)
    whole = False
    try:
        run(a, rows, version)
        whole = True
    except TimeUp:
        print("speed.py: time was up", flush=True)
    except Exception:  # ours; the table has what there is
        traceback.print_exc()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lines = [line for row in rows for line in lines_of(row, rate)]
    for row in rows:
        if row.torch:
            row.torch.stop()
    print(f"\n{gpu}; PyTorch {version}; MFU of {rate or 0:.3g} flop/s (2 flop a multiply-add of a step's contractions); medians of rounds "
          f"in turns, discarded repeats in brackets\n{HEAD}")  # fmt: skip
    print("\n".join(lines), flush=True)
    sys.exit(not whole or any(row.failures or not row.lathe or not row.lathe.rounds for row in rows))


if __name__ == "__main__":
    main()
