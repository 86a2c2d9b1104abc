"""rows.py: pictures of digits, as .npy, and the order in which a trainer reads rows; of Python alone."""

import random
from array import array

FONT = "69996 26227 69127 69297 99f11 f8e1e 68e96 f1248 69696 69716".split()  # five lines of four pixels


def pictures(n, seed=1):
    """pixels [n][8][8], label [n]"""
    draw = random.Random(seed)
    pixels, labels = array("f"), array("i")
    for _ in range(n):
        label, down, right = draw.randrange(10), draw.randrange(4), draw.randrange(5)
        labels.append(label)
        for y in range(8):
            line = int(FONT[label][y - down], 16) if 0 <= y - down < 5 else 0
            for x in range(8):
                ink = line >> (3 - (x - right)) & 1 if 0 <= x - right < 4 else 0
                pixels.append(ink + draw.gauss(0, 0.25))
    return pixels, labels


def write_npy(path, numbers, shape):
    head = f"{{'descr': '<{'f' if numbers.typecode == 'f' else 'i'}4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + numbers.tobytes())


def philox(seed, step, site, row):
    """Two words of Salmon et al. 2011's Philox4x32-10."""
    k0, k1, c = seed, site, [0, row, step, 0]
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c[0], c[1]


def order(rows, seed, epoch):
    """Fisher and Yates's shuffle by those words."""
    row = list(range(rows))
    for i in range(rows - 1, 0, -1):
        a, b = philox(seed, epoch, 0x7FFF0002, i)
        k = (a << 32 | b) * (i + 1) >> 64
        row[i], row[k] = row[k], row[i]
    return row


def batches(rows, batch, seed):
    """The rows of each step."""
    epoch, at, now = 0, 0, order(rows, seed, 0)
    while True:
        wanted = []
        while len(wanted) < batch:
            if at == rows:
                epoch, at, now = epoch + 1, 0, order(rows, seed, epoch + 1)
            wanted.append(now[at])
            at += 1
        yield wanted
