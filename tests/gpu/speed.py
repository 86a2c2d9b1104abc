"""speed.py: steps of trainers on a GPU beside PyTorch's, in turns; tests/gpu.sh speed calls it.

    speed.py --until SECONDS NAME=TRAINER…

Both train the same model from the same parameters on random ids; the first losses and gradients must agree, and the losses of ten steps
on that batch are shown side by side (constant rate; dropout, where a model has it, draws differently).  PyTorch 2: torch.compile,
fused AdamW, scaled_dot_product_attention, autocast to bf16.  In each round each contestant has one repeat of about a second, whose
figure is its seconds over its steps; a repeat that takes more than 5 % longer than the contestant's fastest counts as disturbed and
is made again, twice at most; a row has the median of its rounds.

MFU: flops of a step / (seconds of a step · the GPU's dense bf16 rate), the flops being 2 for each multiply-add of the contractions of
forward and backward, as `trainer info` has them, for both contestants.  A kernel's floor, as `trainer profile` has it: the longer of its
flops at the rate of one large product and its bytes at that of a copy, both measured there.
"""

import argparse
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "bench")
sys.path.insert(0, BENCH)
import bench  # noqa: E402  write_inputs, number

# Dense bf16 flop/s, as their makers state them.
GPUS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "4090": 165e12, "B200": 2250e12}
ROUNDS, SLACK = 5, 1.05
SHOWN = (1, 5, 10)  # steps whose losses are


def gpu_name():
    try:
        words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\n")[0].strip()
    except (OSError, subprocess.CalledProcessError):
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
                out = subprocess.run(words, capture_output=True, text=True).stdout
            except OSError:
                return
            for line in out.splitlines():
                pid, _, mib = line.partition(",")
                if pid.strip() == str(self.pid) and mib.strip().isdigit():
                    self.most = max(self.most, int(mib) << 20)

    def stop(self):
        self.done.set()
        return self.most


def output_of(words):
    """What a command prints; None, with its last words, where it fails."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        print(f"speed.py: exit code {done.returncode} of {' '.join(words[:2])}: {done.stderr.strip()[-600:]}", flush=True)
        return None
    return done.stdout


def json_of(words):
    out = output_of(words)
    return None if out is None else json.loads(out)


class Lathe:
    name = "lathe"

    def __init__(self, trainer, tokens):
        self.trainer, self.tokens, self.steps, self.peak = trainer, tokens, 3, 0
        first = self.repeat()
        if first:
            self.steps = max(3, round(1e3 / first))

    def repeat(self):
        """ms of a step"""
        words = [self.trainer, "bench", "--json", "--steps", str(self.steps)]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watch = MemoryWatch(child.pid)
        out, err = child.communicate()
        self.peak = max(self.peak, watch.stop())
        if child.returncode:
            print(f"speed.py: {self.trainer} bench: {err.strip()[-600:]}", flush=True)
            return None
        return 1e3 * self.tokens / json.loads(out)["tokens_per_s"]


class Torch:
    def __init__(self, a, files, compiled):
        self.name, self.steps, self.peak = "torch.compile" if compiled else "torch eager", 1, 0
        words = [a.python, os.path.join(BENCH, "torch_step.py"), files["model"], "--threads", str(os.cpu_count()), "--device", a.device]
        words += ["--compile"] * compiled + ["--bf16"] * files["half"]
        for key in ("weights", "inputs", "gradients"):
            words += ["--" + key, files[key]]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.start = None

    def wait_for_start(self, seconds):
        late = threading.Timer(seconds, self.child.kill)
        late.start()
        line = self.child.stdout.readline()
        late.cancel()
        self.start = json.loads(line) if line else None
        if self.start:
            self.steps = max(3, round(1e3 / self.repeat()))
        return self.start

    def repeat(self):
        self.child.stdin.write(f"{self.steps}\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            return None
        answer = json.loads(line)
        self.peak = answer.get("peak_bytes", 0)
        return statistics.mean(answer["ms"])

    def stop(self):
        self.child.stdin.close()
        self.child.wait()


def prepare(folder, name, trainer):
    """Weights, inputs and the trainer's gradients of them; None where it cannot."""
    info = json_of([trainer, "info", "--json"])
    if not info:
        return None
    files = {k: os.path.join(folder, f"{name}.{k}.safetensors") for k in ("weights", "inputs", "gradients")}
    built = {k: bench.number(str(v)) for k, v in info["built_with"].items()}
    built.update({k: info[k] for k in ("batch", "seq", "vocab", "model")})
    built.update({k: info["recipe"][k] for k in ("optimizer", "lr", "beta1", "beta2", "eps", "decay", "clip", "accumulate")})
    built.setdefault("hidden", 4 * built.get("width", 0))
    built["context"] = built.get("context") or built["seq"]
    built["in_out"] = built.get("layout") == "in_out"
    files["model"] = os.path.join(folder, f"{name}.json")
    files["half"] = info["precision"] in ("bf16", "fp16")
    with open(files["model"], "w") as file:
        json.dump(built, file)
    bench.write_inputs(files["inputs"], info)
    if output_of([trainer, "init", "--out", files["weights"]]) is None:
        return None
    words = [trainer, "grad", "--weights", files["weights"], "--inputs", files["inputs"], "--out", files["gradients"], "--only", "loss,gradients"]
    return (files, info) if output_of(words) is not None else None


def first_losses(trainer, files):
    """Of ten steps on one batch; of the first alone where the batch of a step is another than that of `grad`."""
    words = [trainer, "bench", "--json", "--steps", "8", "--weights", files["weights"], "--inputs", files["inputs"]]
    words += ["--set", "warmup=0", "--set", "schedule=constant"]
    run = json_of(words)
    return run["losses"] if run else [first_loss(files["gradients"])]


def first_loss(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        at = json.loads(file.read(length))["loss"]["data_offsets"][0]
        file.seek(8 + length + at)
        return struct.unpack("<f", file.read(4))[0]


def shown(losses):
    return " ".join(f"{losses[k - 1]:9.5f}" if k <= len(losses) else f"{'-':>9}" for k in SHOWN)


def quiet(contestant):
    """One repeat, or the best of three where it is slower than the contestant has been."""
    tries = [contestant.repeat()]
    while tries[-1] is not None and len(tries) < 3 and contestant.rounds and tries[-1] > SLACK * min(contestant.rounds):
        contestant.discarded += 1
        tries.append(contestant.repeat())
    if tries[-1] is not None:
        contestant.rounds.append(min(tries))
    return tries[-1] is not None


def measure(a, name, contestants):
    for c in contestants:
        c.rounds, c.discarded = [], 0
    for _ in range(a.rounds):
        for c in contestants:
            if not quiet(c):
                return False
        if time.time() > a.deadline:
            print(f"speed.py: {name}: {len(contestants[0].rounds)} rounds, then time was up", flush=True)
            break
    return True


HEAD = f"  {'':18} {'':14} {'ms a step':>10} {'tokens/s':>11} {'MFU':>6} {'planned':>9} {'peak':>9} {'of torch':>9} {'rounds':>7} " + " ".join(f"{'loss ' + str(k):>9}" for k in SHOWN)


def gigabytes(n):
    return f"{n * 1e-9:6.2f} GB" if n else "-"


def rows_of(name, info, tokens, contestants, losses, rate):
    ms = {c.name: statistics.median(c.rounds) for c in contestants}
    torch = next((ms[c.name] for c in contestants if c.name != "lathe"), None)
    flops = info["entries"]["train"]["flops"]
    for c in contestants:
        mfu = f"{flops / (1e-3 * ms[c.name] * rate):6.1%}" if rate else "-"
        planned = gigabytes(info["planned_bytes"]) if c.name == "lathe" else "-"
        of_torch = f"{torch / ms[c.name]:8.2f}x" if torch else "-"
        rounds = f"{len(c.rounds)} (+{c.discarded})"
        yield (f"  {name:18} {c.name:14} {ms[c.name]:10.3f} {1e3 * tokens / ms[c.name]:11,.0f} {mfu:>6} {planned:>9} {gigabytes(c.peak):>9} "
               f"{of_torch:>9} {rounds:>7} {shown(losses[c.name])}")  # fmt: skip
        name = ""


def kernel_table(trainer, name):
    """The kernels of a step that lose most against their floors."""
    profile = json_of([trainer, "profile", "--json", "--steps", "5"])
    if not profile:
        return
    print(f"\n{name}: kernels by what they lose against their floors ({1e-12 * profile['product_flops_per_s']:.0f} Tflop/s in one large product, "
          f"{1e-12 * profile['copy_bytes_per_s']:.2f} TB/s in a copy)\n  {'lost ms':>9} {'ms':>9} {'floor ms':>9} {'calls':>6}  kernel")  # fmt: skip
    rows = sorted(profile["kernels"], key=lambda k: k["floor_ms"] - k["ms"])
    for k in rows[:20]:
        print(f"  {k['lost_ms']:9.3f} {k['ms']:9.3f} {k['floor_ms']:9.3f} {k['calls']:6}  {(k['name'] + '  ' + k['formula'])[:90]}")
    for part in ("forward", "backward", "update", "total"):
        print(f"  {profile[part]['lost_ms']:9.3f} {profile[part]['ms']:9.3f} {profile[part]['floor_ms']:9.3f} {'':6}  {part}")


def find_torch(a):
    words = [a.python, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"]
    try:
        version, gpu = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None
    return version if gpu == "True" or a.device == "cpu" else None


def arguments():
    words = argparse.ArgumentParser()
    words.add_argument("trainers", nargs="+", metavar="NAME=TRAINER")
    words.add_argument("--until", type=float, default=400, help="seconds from now after which no round begins")
    words.add_argument("--rounds", type=int, default=ROUNDS)
    words.add_argument("--device", default="cuda")
    words.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    words.add_argument("--python", default=os.environ.get("LATHE_TORCH_PYTHON", sys.executable))
    words.add_argument("--work", required=True)
    a = words.parse_args()
    a.deadline = time.time() + a.until
    return a


def main():
    a = arguments()
    gpu = gpu_name()
    rate, version = gpu_rate(gpu), find_torch(a)
    if not version:
        print(f"{a.python} has no PyTorch that sees the GPU: Lathe's rows alone", flush=True)
    prepared, started = {}, {}
    for word in a.trainers:
        name, _, trainer = word.partition("=")
        found = prepare(a.work, name, trainer)
        if not found:
            continue
        prepared[name] = (trainer, *found)
        with open(found[0]["model"]) as file:
            known = json.load(file)["model"] in ("gpt", "llama", "char_rnn", "mu", "pointer_generator")
        if version and known:
            started[name] = Torch(a, found[0], not a.eager)  # all of them compile at once
    table, failed = [], len(prepared) < len(a.trainers)
    for name, (trainer, files, info) in prepared.items():
        if time.time() > a.deadline:
            table.append(f"  {name:18} not run: time was up")
            failed = True
            continue
        tokens = math.prod(info["entries"]["train"]["inputs"]["tokens"]["shape"])
        lathe, torch = Lathe(trainer, tokens), started.get(name)
        losses = {"lathe": first_losses(trainer, files)}
        contestants = [lathe]
        if torch and torch.wait_for_start(max(30, a.deadline - time.time())):
            contestants.append(torch)
            losses[torch.name] = torch.start["losses"]
        if not measure(a, name, contestants):
            failed = True
            continue
        if not table:
            kernel_table(trainer, name)
        table += rows_of(name, info, tokens, contestants, losses, rate)
        if torch:
            torch.stop()
            if not torch.start:
                table.append(f"  {'':18} {torch.name:14} does not do what Lathe does, or did not start in time")
                failed = True
    for torch in started.values():
        if torch.child.poll() is None:
            torch.child.kill()
    print(f"\n{gpu}; PyTorch {version}; MFU of {rate or 0:.3g} flop/s (2 flop a multiply-add of a step's contractions); medians of rounds "
          f"in turns, discarded repeats in brackets\n{HEAD}")  # fmt: skip
    print("\n".join(table), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
