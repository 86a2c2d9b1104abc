"""onnx_models.py: models as `lathe export --to onnx` writes them, run by onnxruntime, beside their trainers.

    onnx_models.py LATHE [PATTERN ...]      those whose words match; all: each description of models/, and some of tests/
    onnx_models.py LATHE record             writes tests/reference/onnx/: the files that tests/onnx/export.sh expects of its descriptions, and
                                            of the large one the SHA-256; only after all comparisons of these are good

A trainer is built for each, with drawn weights.  onnx.checker looks at the files of the entries predict and eval; onnxruntime runs them
on drawn rows, and `trainer grad` computes all outputs of the same rows.  Printed is the largest difference, as a share of the largest
number of that output, and for integers the share that differs.  Of texts the entry decode is run as well, token by token, and compared
with predict; samples with those of `trainer generate`.  ONNX's reference evaluator, another program, runs the smaller ones.  It ends with 1 where a difference is above 1e-4.
"""

import fnmatch
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import load_file, save_file

LIMIT, REFERENCE, DRAW_SITE = 1e-4, 3000, 0x7FFF0004  # REFERENCE: operators that the slow evaluator is asked for
GPT = "models/gpt.lua --set layers=2 --set width=24 --set heads=2 --set seq=9 --set batch=2 --set vocab=40"
LLAMA = "models/llama.lua --set layers=3 --set width=24 --set heads=3 --set hidden=34 --set seq=7 --set batch=2 --set vocab=50"
BERT = "models/bert.lua --set layers=2 --set width=24 --set heads=3 --set hidden=34 --set vocab=40 --set seq=7 --set batch=3"
MODELS = [
    "models/mlp.lua", "models/tabular.lua", "models/forecast.lua", "models/vit.lua --set batch=4", "models/convnet.lua --set blocks=1 --set batch=4",
    "models/unet.lua --set side=16 --set width=4 --set batch=2", "models/unet.lua --set side=8 --set width=4 --set batch=2 --set classes=0",
    "models/vae.lua --set batch=4", "models/gan.lua --set width=4 --set batch=4", "models/gnn.lua --set batch=3 --set nodes=6 --set edges=9",
    "models/gnn.lua --set batch=3 --set nodes=6 --set edges=9 --set classes=3", "models/twotower.lua --set batch=6 --set length=12",
    "models/speech.lua --set frames=24 --set letters=5 --set width=16 --set batch=2",
    "models/speech.lua --config classes --set frames=24 --set width=16 --set batch=2", "models/char_rnn.lua --config tiny", GPT,
    GPT + " --set gelu=tanh --set tied=false --set bias=false", LLAMA + " --set kv_heads=1",
    LLAMA + " --set kind=qwen3 --set kv_heads=3 --set head_width=10",
    LLAMA + " --set kind=gemma3_text --set full_every=2 --set window=3 --set kv_heads=1 --set head_width=10 --set rope_local=100.0",
    LLAMA + " --set kind=mixtral --set experts=4 --set balance=0.1 --set kv_heads=1",
    "models/neox.lua --set layers=2 --set width=24 --set heads=3 --set rotary_share=0.5 --set hidden=34 --set seq=7 --set batch=2 --set vocab=50",
    BERT, BERT + " --set kind=modernbert --set window=4 --set full_every=2",
    "models/postnorm.lua --set width=20 --set heads=2 --set hidden=24 --set seq=7 --set batch=3 --set vocab=13",
    "models/mu.lua --config tiny --set seq=6 --set vocab=40",
    "models/diffusion.lua --set layers=1 --set width=24 --set heads=2 --set cond=6 --set seq=9 --set batch=3 --set vocab=20 --set chain=5",
    "models/pointer_generator.lua --config tiny --set coverage=0.5 --set source_seq=9", "models/seq2seq.lua --config tiny --set layers=2",
    "tests/onnx/operations.lua", "tests/models/lstm20.lua", "tests/models/nested.lua --set reverse=true", "tests/models/copies.lua --set dense=false",
    "tests/models/attends.lua", "tests/models/attends.lua --set pack=true", "tests/models/library.lua", "tests/models/batchnorm.lua",
    "tests/models/draws.lua", "tests/models/ids.lua", "tests/models/class_ids.lua", "tests/models/digits.lua",
    "tests/models/covariates.lua", "tests/models/carried.lua", "tests/models/rows.lua", "tests/models/padding.lua",
    GPT + " --lora rank=2", GPT + " --set width=32 --frozen q8_0 --lora rank=2", GPT + " --precision bf16",
]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-600:]}")
    return done.stdout


def drawn_weights(rng, path):
    """Biases are not 0, nor scales 1; variances stay positive."""
    w = {k: np.asarray(x + (0.1 * rng.standard_normal(x.shape)).astype(x.dtype)) if x.dtype in (np.float32, np.float64) else x for k, x in load_file(path).items()}
    save_file({k: np.abs(x) + np.float32(0.5) if "var" in k else x for k, x in w.items()}, path, load_metadata(path))


def load_metadata(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    return head.get("__metadata__")


def drawn_inputs(rng, trainer, weights, folder, entry):
    """grad says which ids it expects: a message about one narrows its range."""
    ranges = {}
    for _ in range(100):
        rows = {}
        for name, x in entry["inputs"].items():
            if x["dtype"] == "i32":
                low, high = ranges.get(name, (1, 2) if "segment" in name else (0, 1000) if x["shape"] else (1, 9))
                rows[name] = np.asarray(rng.integers(low, high + 1, x["shape"]), np.int32)
                if "segment" in name:
                    rows[name].sort(-1)
            else:
                rows[name] = np.asarray(rng.standard_normal(x["shape"]), np.float32)
        save_file(rows, f"{folder}/in.safetensors")
        done = subprocess.run([trainer, "grad", "--weights", weights, "--inputs", f"{folder}/in.safetensors", "--out", f"{folder}/out.safetensors",
                               "--only", ",".join(entry["outputs"])], capture_output=True, text=True)  # fmt: skip
        if done.returncode == 0:
            return rows, load_file(f"{folder}/out.safetensors")
        said = re.search(r"(\w+)(?:\[\d+\])* is -?\d+: expected (?:ids|a length from) (-?\d+) to (\d+)", done.stderr)
        below = re.search(r"input (\w+)\S* is -?\d+.*?(\d+) to (\d+)", done.stderr)
        some = re.search(r"expected ids (-?\d+) to (\d+)", done.stderr)
        if some and not said and not below:  # it does not say of which input: all that are not known
            for name, x in entry["inputs"].items():
                if x["dtype"] == "i32" and x["shape"] and name not in ranges:
                    ranges[name] = (int(some[1]), int(some[2]))
            continue
        found = said or below
        if not found:
            raise RuntimeError(f"grad: {done.stderr.strip()[-600:]}")
        ranges[found[1]] = (int(found[2]), int(found[3]))
    raise RuntimeError("no inputs that grad takes")


def apart(ours, theirs):
    if ours.dtype.kind in "ib":
        return float(np.mean(ours != theirs))
    if not np.isfinite(theirs).all():
        return 0.0 if np.array_equal(ours, theirs, equal_nan=True) else float("inf")
    return float(np.max(np.abs(ours.astype(np.float64) - theirs)) / max(float(np.max(np.abs(theirs))), 1e-30)) if theirs.size else 0.0


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds(model, rows):
    """States begin at 0; inputs that only the trainer has are 0, or 1 (the rows begin)."""
    all = {}
    for x in model.graph.input:
        shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
        kind = {1: np.float32, 6: np.int32, 9: np.bool_}[x.type.tensor_type.elem_type]
        all[x.name] = rows[x.name] if x.name in rows else np.full(shape, 1 if x.name == "begins" else 0, kind)
    return all


def decoded(path, rows, logits):
    """Row after row, token after token; None: it reads more than tokens, or predict saw several documents in a row."""
    s, model = session(path), onnx.load(path)
    names = [x.name for x in model.graph.output]
    if "tokens" not in rows or "segments" in rows or not {x.name for x in model.graph.input} <= {"tokens", "position", "seed", "step"} | {n[:-5] for n in names if n.endswith(".next")}:
        return None
    worst = 0.0
    for row in range(rows["tokens"].shape[0]):
        state = feeds(model, {})
        for t in range(rows["tokens"].shape[1]):
            state["tokens"] = rows["tokens"][row : row + 1, t : t + 1]
            if "position" in state:
                state["position"] = np.asarray(t, np.int32)
            out = dict(zip(names, s.run(None, {x.name: state[x.name] for x in model.graph.input})))
            state.update({n[:-5]: x for n, x in out.items() if n.endswith(".next")})
            worst = max(worst, apart(out["logits"][0, 0], logits[row, t]))
    return worst


def seed_of_batch(seed):
    """The first word of Philox4x32-10, by which `trainer generate` makes its first batch's seed (runtime/text/draw.c)."""
    k, c = [seed, DRAW_SITE], [0, 0, 0, 0]
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0] & 0x7FFFFFFF


def sampled(path, trainer, weights, folder):
    """What `trainer generate` draws by seed 1; nothing where it needs more than a seed."""
    s, model = session(path), onnx.load(path)
    if not {x.name for x in model.graph.input} <= {"seed", "step"}:
        return []
    out = s.run(None, {x.name: np.asarray(seed_of_batch(1) if x.name == "seed" else 0, np.int32) for x in model.graph.input})
    report = []
    for name, x in zip([x.name for x in model.graph.output], out):
        run(trainer, "generate", "--weights", weights, "--seed", "1", "--samples", str(x.shape[0]), "--only", name, "--to", f"{folder}/drawn.npy")
        report.append(("sample", len(model.graph.node), name, apart(x, np.load(f"{folder}/drawn.npy"))))
    return report


def check(lathe, words, folder):
    rng = np.random.default_rng(1)
    built = f"{folder}/built"
    trainer = run(lathe, "build", *words, "-o", built).strip()
    weights = f"{folder}/w.safetensors"
    run(trainer, "init", "--out", weights)
    if "q8_0" not in words:
        drawn_weights(rng, weights)
    info = json.loads(run(trainer, "info", "--json"))
    turn = [k for k in info["entries"] if k.startswith("grad")]
    entry = info["entries"][turn[0]]
    rows, truth = drawn_inputs(rng, trainer, weights, folder, entry)
    report, logits = [], None
    for name in ["predict", "eval", "decode", "sample"]:
        path = f"{folder}/{name}.onnx"
        done = subprocess.run([lathe, "export", *words, "-o", built, "--to", "onnx", "--entry", name, "--weights", weights, "--out", path], capture_output=True, text=True)
        if done.returncode == 2 and "expected one that" in done.stderr:
            continue
        if done.returncode:
            raise RuntimeError(f"export: {done.stderr.strip()[-600:]}")
        onnx.checker.check_model(path, full_check=True)
        model = onnx.load(path)
        operators = len(model.graph.node)
        if name == "sample":
            report += sampled(path, trainer, weights, folder)
            continue
        if name == "decode":
            worst = decoded(path, rows, logits) if logits is not None else None
            if worst is not None:
                report.append((name, operators, "logits", worst))
            continue
        names, fed = [x.name for x in model.graph.output], feeds(model, rows)
        runs = [("", session(path).run(None, fed))]
        if operators < REFERENCE and name == "predict":
            runs.append(("reference ", ReferenceEvaluator(path).run(None, fed)))
        for who, outs in runs:
            for n, x in zip(names, outs):
                ours = truth.get("loss" if n == "loss" else f"output.{n.removesuffix('.out')}")
                if ours is None or (n == "loss" and len(turn) > 1):
                    continue
                report.append((who + name, operators, n, apart(np.asarray(x), ours)))
                logits = x if n == "logits" else logits
    return report


RECORDED = {"mlp.onnx": "models/mlp.lua", "operations.onnx": "tests/onnx/operations.lua"}


def record(lathe):
    """With the weights of `trainer init`, as the test makes them."""
    for name, model in RECORDED.items():
        with tempfile.TemporaryDirectory() as folder:
            trainer = run(lathe, "build", model, "-o", f"{folder}/built").strip()
            run(trainer, "init", "--out", f"{folder}/w.safetensors")
            run(lathe, "export", model, "-o", f"{folder}/built", "--to", "onnx", "--weights", f"{folder}/w.safetensors", "--out", f"{folder}/{name}")
            with open(f"{folder}/{name}", "rb") as f:
                made = f.read()
        os.makedirs("tests/reference/onnx", exist_ok=True)
        whole = len(made) < 1 << 14
        with open(f"tests/reference/onnx/{name if whole else name + '.sha256'}", "wb") as f:
            f.write(made if whole else (hashlib.sha256(made).hexdigest() + "\n").encode())


def main():
    lathe, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    recording = wanted == ["record"]
    wanted = list(RECORDED.values()) if recording else wanted
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    bad, worst_of_all, runs = [], 0.0, 0
    for line in MODELS:
        if wanted and not any(fnmatch.fnmatch(line, f"*{w}*") for w in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                report = check(lathe, line.split(), folder)
            except Exception as problem:
                print(f"{line}\n    failed: {problem}", flush=True)
                bad.append(line)
                continue
        print(line)
        for entry in dict.fromkeys(entry for entry, *_ in report):
            of_entry = [x for x in report if x[0] == entry]
            worst = max(of_entry, key=lambda x: x[3])
            print(f"    {entry:18} {worst[1]:6} operators, {len(of_entry):3} outputs, {worst[2]:12} {worst[3]:.1e}{'   above the limit' if not worst[3] <= LIMIT else ''}", flush=True)
            runs += len(of_entry)
        worst_here = max((w for *_, w in report), default=float("nan"))
        worst_of_all = max(worst_of_all, worst_here)
        if not worst_here <= LIMIT:
            bad.append(line)
    print(f"{runs} comparisons, largest {worst_of_all:.1e}; {len(bad)} models with a fault")
    if recording and not bad:
        record(lathe)
    sys.exit(bool(bad))


main()
