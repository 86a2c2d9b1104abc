#!/usr/bin/env python3
"""ranks_reckon.py: how long a step of many ranks takes, reckoned from a profile of one and stated figures of a network.

    OMP_NUM_THREADS=1 trainer profile --steps 1 --trace TRACE --json > PROFILE
    python3 tests/bench/ranks_reckon.py NAME:TRACE:BATCH:MICRO[:CPU] …

TRACE says when each gradient was done. A rank's step has MICRO micro-batches, each BATCH times what was profiled.
CPU: the part of the time that the profiled process had a core (1), where others used the machine, too.

Forward and backward pass grow with the batch; the update is divided by the ranks. The rules are those of
runtime/interface/dealt.h and trainer/shared.c: a bucket starts when all its gradients are done; buckets pass the network
one after another. Parameters go back while the next forward pass runs, which waits for a bucket where it first needs it:
as long after its begin as the bucket's gradients were done before the end of the backward pass, in the ratio of the two
passes. No switch is shared: each rank has the bandwidth alone.
Prints the tables of ranks.md, and writes the picture beside it.
"""
import json
import math
import os
import sys

CHUNK, MOST = 16384, 64       # interface/dealt.h
LATENCY = 20e-6                             # s, of a message
MESSAGE = 5e-6                              # s of a rank, for each message sent and received
SUM_RATE = 8e9                              # bytes of arriving gradients added a second, by one thread
NETWORKS = (1e9, 10e9, 100e9)               # bits a second
RANKS = (8, 16, 32, 64, 128, 256, 512, 1024)
FASTER = (1, 32)                            # a rank is as fast as so many of the profiled cores
LOCAL = 50                                  # steps between exchanges, with local steps


class Model:
    def __init__(self, name, trace, batch, micro, cpu):
        with open(trace) as f:
            events = json.load(f)["traceEvents"]
        kernels = [e for e in events if e["ph"] == "X" and e["cat"] != "ranks"]
        part = {p: sum(e["dur"] for e in kernels if e["args"]["part"] == p) * 1e-6 * cpu
                for p in ("forward", "backward", "update")}
        end = max(e["ts"] + e["dur"] for e in kernels if e["args"]["part"] != "update")
        self.name = name
        self.forward, self.backward = batch * micro * part["forward"], batch * micro * part["backward"]
        self.update = part["update"]
        self.ratio = part["forward"] / part["backward"]
        # (first byte, bytes, s before the end of the backward pass): of the last micro-batch
        self.done = [(e["args"]["first"], e["args"]["bytes"], (end - e["ts"]) * 1e-6 * cpu * batch)
                     for e in events if e["name"] == "gradients done"]
        self.bytes = max(first + n for first, n, _ in self.done)

    def compute(self):
        return self.forward + self.backward


def buckets(m, ranks):
    """(bytes, s before the end of the backward pass at which it is done), in that order"""
    chunks = math.ceil(m.bytes / (4 * CHUNK))
    each = min(8 << 20, max(1 << 20, chunks // 16 * 4 * CHUNK)) // (4 * CHUNK)
    each = min(max(each, math.ceil(chunks / MOST), ranks), chunks)
    found = []
    for first in range(0, chunks, each):
        begin, end = first * 4 * CHUNK, min((first + each) * 4 * CHUNK, m.bytes)
        found.append((end - begin, min(t for at, n, t in m.done if at < end and at + n > begin)))
    return sorted(found, key=lambda b: -b[1])


def way(bytes_, ranks, rate):
    """s of an exchange in which each rank sends its part of that many bytes to each other, or gets theirs"""
    return max(bytes_ * (ranks - 1) / ranks * 8 / rate, 2 * MESSAGE * (ranks - 1)) + LATENCY


def step(m, ranks, rate, faster):
    """s of a step"""
    network = added = late = 0
    for bytes_, done in reversed(buckets(m, ranks)):        # parameters of the update before
        network += way(bytes_, ranks, rate)
        late = max(late, network - done * m.ratio / faster)
    computed = m.compute() / faster + late
    for bytes_, done in buckets(m, ranks):
        network = max(network, computed - done / faster) + way(bytes_, ranks, rate)
        added = max(network, added) + bytes_ / ranks * (ranks - 1) / SUM_RATE
    norm = way(0, ranks, rate)
    return max(computed, added) + norm + m.update / ranks / faster


def alone(m, faster):
    return (m.compute() + m.update) / faster


def local(m, ranks, rate, faster):
    """s of a step of which each LOCAL-th is followed by an exchange of all parameters' changes, nothing of it hidden"""
    return alone(m, faster) + (2 * sum(way(b, ranks, rate) for b, _ in buckets(m, ranks)) + 2 * m.update / ranks / faster) / LOCAL


def efficiency(m, ranks, rate, faster, k):
    return alone(m, faster) / (local if k else step)(m, ranks, rate, faster)


# ------------------------------------------------------------------ table, picture

def table(m, faster):
    print(f"\n| ranks | bucket MB | message KB |" + "".join(f" {r / 1e9:g} Gb/s | K = {LOCAL} |" for r in NETWORKS))
    print("|---" * (3 + 2 * len(NETWORKS)) + "|")
    for n in RANKS:
        largest = max(b for b, _ in buckets(m, n))
        cells = "".join(f" {100 * efficiency(m, n, r, faster, k):.0f} % |" for r in NETWORKS for k in (False, True))
        print(f"| {n} | {largest / 2**20:.1f} | {largest / n / 1024:.0f} |{cells}")


COLOURS = ("#c0392b", "#d68910", "#1f618d")


def picture(models, path):
    width, height, gap = 360, 220, 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(FASTER) * (width + gap) + gap}" '
           f'height="{len(models) * (height + gap) + gap}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for row, m in enumerate(models):
        for column, faster in enumerate(FASTER):
            x0, y0 = gap + column * (width + gap), gap + row * (height + gap)
            title = f"{m.name}: a rank of {faster} core{'s' if faster > 1 else ''}"
            out.append(f'<text x="{x0}" y="{y0 - 10}">{title}; efficiency by ranks</text>')
            for p in range(0, 101, 25):
                y = y0 + height * (1 - p / 100)
                out.append(f'<path d="M{x0} {y}h{width}" stroke="#ddd"/><text x="{x0 - 34}" y="{y + 4}">{p} %</text>')
            at = lambda i: x0 + width * i / (len(RANKS) - 1)
            for i, n in enumerate(RANKS):
                out.append(f'<text x="{at(i)}" y="{y0 + height + 16}" text-anchor="middle">{n}</text>')
            for colour, rate in zip(COLOURS, NETWORKS):
                for k, dash in ((False, ""), (True, ' stroke-dasharray="5 4"')):
                    points = " ".join(f"{at(i):.1f},{y0 + height * (1 - efficiency(m, n, rate, faster, k)):.1f}"
                                      for i, n in enumerate(RANKS))
                    out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    y = len(models) * (height + gap) + gap - 20
    for i, (colour, rate) in enumerate(zip(COLOURS, NETWORKS)):
        out.append(f'<text x="{gap + i * 110}" y="{y}" fill="{colour}">{rate / 1e9:g} Gb/s</text>')
    out.append(f'<text x="{gap + 340}" y="{y}">dashed: an exchange each {LOCAL} steps</text></svg>')
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")


def main():
    models = []
    for word in sys.argv[1:]:
        name, trace, batch, micro, cpu = (word.split(":") + ["1"])[:5]
        models.append(Model(name, trace, float(batch), float(micro), float(cpu)))
    if not models:
        sys.exit(__doc__)
    for m in models:
        for faster in FASTER:
            print(f"\n### {m.name}, a rank of {faster} core{'s' if faster > 1 else ''}\n\n"
                  f"Parameters {m.bytes / 4e6:.1f} million, {m.bytes / 1e6:.0f} MB of gradients. One rank: "
                  f"forward {m.forward / faster:.2f} s, backward {m.backward / faster:.2f} s, "
                  f"update {m.update / faster:.3f} s.")
            table(m, faster)
    picture(models, os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks.svg"))


main()
