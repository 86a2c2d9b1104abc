"""coded.py: AdamW with moments in 8 bits (runtime/step/coded.h), for tests/step/test_coded.c.

    python3 tests/reference/record.py coded

Updates are written out here in NumPy, in float64 but for the largest magnitudes, which are float32: torch's AdamW, whose moments
go through block-wise dynamic 8-bit codes after each update, as in bitsandbytes (Dettmers et al. 2022).  The package has no
update for a processor, but it has codes for one: --check and the recording hold the tables and the codes of this file to it.

w [40][130], v [4096], b [33] begin with numbers(n, 100), and update s has the gradients numbers(n, s): of n elements,
whatever the tensor.  w and b decay; w and v are in 8 bits, b keeps its type; the rate of update s is 0.001 (1 + s mod 5).
last.NAME: after all updates; every.NAME [20][…]: every 37th element after each.
blocks [8][256], F32: what codes.* are made of, by the package; signed, unsigned: F32 [256], its tables.
codes.signed, codes.unsigned [8][256]: codes of blocks, and of their magnitudes; largest [8].
"""

import numpy as np

BLOCK, LEAST, STEPS = 256, 4096, 20
BETA1, BETA2, EPS, DECAY = 0.9, 0.95, 1e-8, 0.1


def table(signed):
    """By the published rule: the middles of equal parts of 0.1 … 1, a decade each, twice as many in each higher one."""
    values = [0.0, 1.0]
    for i in range(7):
        parts = 2**i * (1 if signed else 2)
        middles = 10.0 ** (i - 6) * (0.1 + 0.9 * (np.arange(parts) + 0.5) / parts)
        values += list(middles) + (list(-middles) if signed else [])
    return np.sort(np.array(values)).astype(np.float32)


SIGNED, SQUARES = table(True), table(False)


def coded(x, values):
    """x after it was stored: cut into blocks, in 8 bits."""
    flat, out = x.reshape(-1), np.zeros(x.size)
    middles = ((values[:-1] + values[1:]) / np.float32(2)).astype(np.float64)
    for at in range(0, flat.size, BLOCK):
        part = flat[at:at + BLOCK]
        largest = float(np.float32(np.abs(part).max()))
        code = np.searchsorted(middles, part / largest)
        if values[0] < 0:
            code[(part < 0) & (values[code] == 0)] -= 1         # as the package's kernels for GPUs have it
        else:
            assert not ((part > 0) & (code == 0)).any()         # where this optimizer and the package's differ
        out[at:at + BLOCK] = values[code].astype(np.float64) * largest
    return out.reshape(x.shape)


def numbers(n, step):
    """± (1 … 2) 2^-2 … 2^5: exact in float32, and no square is too small for a code beside the largest."""
    x = np.arange(n, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(step * 340573321 % 2**32)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x2C1B3C6D)
    x ^= x >> np.uint32(12)
    parts = (2**20 + (x >> np.uint32(4) & np.uint32(2**20 - 1))).astype(np.float64) * 2.0**-22
    sign = np.where(x >> np.uint32(25) & np.uint32(1), -1.0, 1.0)
    return sign * parts * 2.0 ** ((x >> np.uint32(29)).astype(np.float64) - 5 + step % 3)


def trajectory(start, grads, decay):
    p, m, v, all_p = start.copy(), np.zeros_like(start), np.zeros_like(start), []
    for s, g in enumerate(grads):
        rate = 0.001 * (1 + s % 5)
        m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
        c1, c2 = 1 - BETA1 ** (s + 1), 1 - BETA2 ** (s + 1)
        p = p * (1 - rate * decay) - rate / c1 * m / (np.sqrt(v) / np.sqrt(c2) + EPS)
        if start.size >= LEAST:
            m, v = coded(m, SIGNED), coded(v, SQUARES)
        all_p.append(p.copy())
    return np.stack(all_p)


def package_codes(blocks, signed):
    import torch
    from bitsandbytes.functional import create_dynamic_map
    values = create_dynamic_map(signed=signed)
    # In float64, for which it looks for the nearest value, as its kernels for GPUs do; that for float32 on a processor is
    # coarser near zero: of 2,048 codes here about 950 are not the nearest.
    codes, largest = torch.ops.bitsandbytes.quantize_blockwise(torch.from_numpy(blocks).double(), values, BLOCK)
    return values.numpy(), codes.numpy(), largest.numpy()


def coded_moments():
    out = {}
    for name, shape in {"w": (40, 130), "v": (4096,), "b": (33,)}.items():
        n = int(np.prod(shape))
        all_p = trajectory(numbers(n, 100), [numbers(n, s) for s in range(STEPS)], 0.0 if name == "v" else DECAY)
        out |= {f"last.{name}": all_p[-1].reshape(shape), f"every.{name}": all_p[:, ::37]}
    r = np.random.default_rng(8)
    blocks = (r.standard_normal((8, BLOCK)) * 10.0 ** r.uniform(-7, 1, (8, BLOCK))).astype(np.float32)
    for signed in (True, False):
        word = "signed" if signed else "unsigned"
        values, codes, largest = package_codes(blocks if signed else np.abs(blocks), signed)
        assert np.allclose(values, table(signed), rtol=2e-7, atol=0)
        out |= {word: values, f"codes.{word}": codes.astype(np.int32).reshape(8, BLOCK)}
    return out | {"blocks": blocks, "largest": largest}, {}
