"""layer.py: times a recurrent layer inside a PyTorch model: lathe.torch.wrap beside eager PyTorch and torch.compile.

    PYTHONPATH=compiler/python python3 tests/bench/layer.py [ROUNDS [THREADS]]

A step: a linear layer, the recurrent layer, a linear layer, a loss; backward; AdamW.  The three take turns, and medians are of
the ratios of a turn.  Times are the processor's, of all threads, so that other programs disturb them less.
"""

import statistics
import sys
import time

import torch

import lathe.torch

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
if len(sys.argv) > 2:
    torch.set_num_threads(int(sys.argv[2]))
B, T, W, H = 32, 64, 64, 128


class Cell(torch.nn.Module):
    """One step of time."""

    def __init__(self):
        super().__init__()
        self.hh = torch.nn.Linear(H, 4 * H, bias=False)
        self.ln_gates, self.ln_cell = torch.nn.LayerNorm(4 * H), torch.nn.LayerNorm(H)

    def forward(self, gates, h, c):
        i, f, o, u = self.ln_gates(gates + self.hh(h)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(self.ln_cell(c)), c


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ih, self.cell = torch.nn.Linear(W, 4 * H, bias=False), Cell()
        self.step = self.cell

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], H)
        gates, ys = self.ih(x), []
        for t in range(x.shape[1]):
            h, c = self.step(gates[:, t], h, c)
            ys.append(h)
        return torch.stack(ys, 1)


def stepper(recurrent):
    model = torch.nn.Sequential(torch.nn.Linear(8, W), recurrent, torch.nn.Linear(H, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(x, y):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def milliseconds(step, x, y, n=3):
    began = time.process_time()
    for _ in range(n):
        step(x, y)
    return (time.process_time() - began) / n * 1e3


torch.manual_seed(0)
eager = Recurrent()
ours = lathe.torch.wrap("tests/bench/lnlstm.lua")
compiled = Recurrent()
compiled.load_state_dict(eager.state_dict())
compiled.step = torch.compile(compiled.cell)  # of all steps at once takes minutes, and more memory
ours.load_state_dict({name.removeprefix("cell."): p for name, p in eager.state_dict().items() if not name.startswith("step.")})
x, y = torch.randn(B, T, 8), torch.randn(B, T, 8)
between = torch.randn(B, T, W)
print(f"largest difference of outputs: {float((eager(between) - ours(between)).abs().max().detach()):.1e}")
began = time.perf_counter()
steps = {"lathe": stepper(ours), "eager": stepper(eager), "torch.compile": stepper(compiled)}
for step in steps.values():
    milliseconds(step, x, y)
print(f"ready in {time.perf_counter() - began:.0f} s; {torch.get_num_threads()} threads, torch {torch.__version__}")
turns = [{name: milliseconds(step, x, y) for name, step in steps.items()} for _ in range(ROUNDS)]
for name in steps:
    print(f"{name:14} {statistics.median(t[name] for t in turns):7.1f} ms, {statistics.median(t[name] / t['lathe'] for t in turns):5.2f} times lathe's")
