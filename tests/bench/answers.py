#!/usr/bin/env python3
"""answers.py: how long one answer takes, and how large what gives it is: Lathe's libraries, ONNX Runtime, PyTorch.

    python3 tests/bench/answers.py [--lathe build/lathe] [--work build/bench/answers] [--rounds 15]

Needs Python with torch, onnx, onnxruntime and numpy.  One thread.  All have the same weights, and their answers are compared.  Each round
times all of them, one after another; the table has the medians of the rounds, in time of the processor.  ONNX Runtime and PyTorch are called from Python: an
empty model called the same way says how much of their time is the call.
"""
import argparse, glob, json, os, statistics, struct, subprocess, sys, time, warnings

import numpy as np
import onnx
import onnxruntime
import torch


def said(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(lathe, work, model, words, define):
    """The library, its program, weights and ONNX file of a model."""
    name = os.path.basename(model)[:-4]
    folder, trainer = f"{work}/{name}", f"{work}/{name}-trainer"
    archive = said(lathe, "build", model, *words, "--library", "--inference", "-o", folder).split()[-1]
    program = said(lathe, "build", model, *words, "-o", trainer).split()[-1]
    weights, graph = f"{work}/{name}.safetensors", f"{work}/{name}.onnx"
    said(program, "init", "--out", weights, "--seed", "1")
    entry = "predict" if define else "decode"
    said(lathe, "export", model, *words, "-o", trainer, "--to", "onnx", "--entry", entry, "--weights", weights, "--out", graph)
    driver = f"{work}/{name}-answers"
    said("cc", "-O2", *(["-DMLP"] if define else []), f"-I{folder}", "tests/bench/answers.c", archive, "-lm", "-lpthread", "-o", driver)
    stripped = f"{work}/{name}.so"
    said("strip", "-o", stripped, f"{folder}/lib{name}.so")
    return {"driver": driver, "weights": weights, "graph": graph, "bytes": os.path.getsize(stripped)}


def tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {k: torch.frombuffer(bytearray(body[slice(*v["data_offsets"])]), dtype=torch.float32).reshape(v["shape"])
            for k, v in header.items() if k != "__metadata__"}


def features(k):
    return np.array([[((k + i) % 7) * 0.25 - 0.5 for i in range(4)]], np.float32)


class Mlp(torch.nn.Module):
    def __init__(self, w):
        super().__init__()
        self.up, self.head = (torch.nn.Linear(*reversed(w[f"{n}.weight"].shape)) for n in ("up", "head"))
        self.load_state_dict(w)

    def forward(self, x):
        return (self.head(torch.relu(self.up(x))),)


class Rnn(torch.nn.Module):
    def __init__(self, w):
        super().__init__()
        vocab, width = w["embed.weight"].shape
        self.embed = torch.nn.Embedding(vocab, width)
        self.lstm = torch.nn.LSTM(width, w["lstm.weight_hh_l0"].shape[1], batch_first=True)
        self.head = torch.nn.Linear(w["lstm.weight_hh_l0"].shape[1], vocab)
        self.load_state_dict(w)

    def forward(self, token, h, c):
        y, (h, c) = self.lstm(self.embed(token), (h, c))
        return self.head(y), h, c


class Torch:
    """A module; what it returns behind the answer is its next state."""

    def __init__(self, of, states, values):
        self.of, self.zeros, self.values = of, states, values
        self.forget()

    def forget(self):
        self.states = self.zeros

    def call(self, k):
        self.scores, *self.states = self.of(self.values[k % len(self.values)], *self.states)

    def answer(self):
        return self.scores.numpy().ravel()


class Onnx:
    """Inputs and outputs stay where they are; states go from outputs to inputs by exchanging two sets of them."""

    def __init__(self, graph, given, values):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.run = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self.given, self.values = given, values
        zeros = lambda of, kind: {x.name: onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(x.shape, kind(x))) for x in of}
        self.put = zeros(self.run.get_inputs(), lambda x: np.int32 if "int32" in x.type else np.float32)
        self.got = zeros(self.run.get_outputs(), lambda x: np.float32)
        self.turns = [self.bound(False), self.bound(True)]

    def bound(self, exchanged):
        binding = self.run.io_binding()
        for n, v in self.put.items():
            binding.bind_ortvalue_input(n, self.got.get(f"{n}.next", v) if exchanged else v)
        for n, v in self.got.items():
            binding.bind_ortvalue_output(n, self.put.get(n.removesuffix(".next"), v) if exchanged else v)
        return binding

    def forget(self):
        for v in self.put.values():
            v.update_inplace(np.zeros_like(v.numpy()))

    def call(self, k):
        self.put[self.given].update_inplace(self.values[k % len(self.values)])
        self.run.run_with_iobinding(self.turns[k % 2])

    def answer(self):
        return self.got["logits"].numpy().ravel()


class Lathe:
    """A program of its own; calls are counted by it."""

    def __init__(self, driver, weights):
        self.words = driver, weights

    def timed(self, calls):
        time_of_one, numbers = said(*self.words, str(calls)).splitlines()
        self.numbers = np.array(numbers.split(), np.float32)
        return float(time_of_one)


def timed(what, calls):
    """Nanoseconds of the processor for a call, so that other programs do not count."""
    for k in range(calls // 10):
        what.call(k)
    began = time.process_time_ns()
    for k in range(calls):
        what.call(k)
    return (time.process_time_ns() - began) / calls


def check_answers(lathe, others):
    lathe.timed(20)
    for name, other in others.items():
        other.forget()
        for k in range(20):
            other.call(k)
        far = np.abs(other.answer() - lathe.numbers).max() / np.abs(lathe.numbers).max()
        if not far < 1e-4:
            sys.exit(f"{name} answers differently: {far:.2g} of the largest number")


def medians(lathe, others, calls, rounds):
    """Microseconds by name."""
    all_times = {"Lathe": [], **{name: [] for name in others}}
    for _ in range(rounds):
        all_times["Lathe"].append(lathe.timed(20 * calls))
        for name, other in others.items():
            all_times[name].append(timed(other, calls))
    return {name: statistics.median(t) / 1000 for name, t in all_times.items()}


def bench(lib, module, states, given, values, calls, rounds):
    lathe = Lathe(lib["driver"], lib["weights"])
    tensors = [torch.from_numpy(v).long() if v.dtype == np.int32 else torch.from_numpy(v) for v in values]
    traced = torch.jit.freeze(torch.jit.trace(module.eval(), (tensors[0], *states)))
    others = {"ONNX Runtime": Onnx(lib["graph"], given, values), "PyTorch": Torch(module, states, tensors),
              "PyTorch, traced": Torch(traced, states, tensors)}
    check_answers(lathe, others)
    return medians(lathe, others, calls, rounds)


def empty_calls(work, rounds, calls):
    of = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["logits"])], "empty", [of("x")], [of("logits")])
    onnx.save(onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 18)]), f"{work}/empty.onnx")
    others = {"ONNX Runtime": Onnx(f"{work}/empty.onnx", "x", [features(0)]),
              "PyTorch": Torch(lambda x: (same(x),), [], [torch.zeros(1, 4)])}
    same = torch.nn.Identity()
    return {name: statistics.median(timed(what, calls) for _ in range(rounds)) / 1000 for name, what in others.items()}


def sizes():
    of_ort = sum(os.path.getsize(f) for f in glob.glob(os.path.dirname(onnxruntime.__file__) + "/capi/*.so*"))
    lib = os.path.dirname(torch.__file__) + "/lib/"
    of_torch = sum(os.path.getsize(lib + f) for f in ("libtorch_cpu.so", "libc10.so") if os.path.exists(lib + f))
    return of_ort, of_torch


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lathe", default="build/lathe")
    p.add_argument("--work", default="build/bench/answers")
    p.add_argument("--rounds", type=int, default=15)
    o = p.parse_args()
    os.makedirs(o.work, exist_ok=True)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    mlp = built(o.lathe, o.work, "models/mlp.lua", ["--set", "batch=1"], True)
    rnn = built(o.lathe, o.work, "models/char_rnn.lua", [], False)
    module = Rnn(tensors(rnn["weights"]))
    with torch.inference_mode():
        rows = bench(mlp, Mlp(tensors(mlp["weights"])), [], "features", [features(k) for k in range(7)], 2000, o.rounds)
        tokens = bench(rnn, module, [torch.zeros(1, 1, module.lstm.hidden_size)] * 2, "tokens",
                       [np.array([[k]], np.int32) for k in range(65)], 500, o.rounds)
        empty = empty_calls(o.work, o.rounds, 2000)
    of_ort, of_torch = sizes()
    print(f"{'microseconds':18}{'mlp, a row':>12}{'char_rnn, a token':>20}{'an empty call':>16}   bytes")
    for name in rows:
        size = {"Lathe": f"{mlp['bytes']:,} and {rnn['bytes']:,}", "ONNX Runtime": f"{of_ort:,}"}.get(name, f"{of_torch:,}")
        call = f"{empty[name.split(',')[0]]:.2f}" if name != "Lathe" else ""
        print(f"{name:18}{rows[name]:12.2f}{tokens[name]:20.2f}{call:>16}   {size}")


main()
