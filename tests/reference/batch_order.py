"""batch_order.py: which documents, rows and pairs share a step of Lathe's, by the rules that data/pack.h, data/block.c and data/data.c state; for
published.py."""

SEED = 1
ROW_SITE, ORDER_SITE = 0x7FFF0003, 0x7FFF0002  # of the draws that shuffle rows (data/block.c) and pairs (data/data.c)
WORD = 0xFFFFFFFF


def philox(seed, step, site, row):
    """The first two words of Philox4x32-10 with key (seed, site) and counter (0, row, step, 0)"""
    c, k0, k1 = [0, row, step, 0], seed, site
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & WORD, p0 >> 32 ^ c[3] ^ k1, p0 & WORD]
        k0, k1 = k0 + 0x9E3779B9 & WORD, k1 + 0xBB67AE85 & WORD
    return c[:2]


def shuffled(n, epoch, site):
    """Of the first block of an epoch"""
    order, (low, high) = list(range(n)), (epoch, 0) if site == ORDER_SITE else (0, epoch)
    for i in range(n - 1, 0, -1):
        a, b = philox(SEED ^ high, low, site, i)
        k = ((a << 32 | b) * (i + 1)) >> 64
        order[i], order[k] = order[k], order[i]
    return order


def packed(lengths, seq):
    """Rows of items, the longest first, each where it first fits"""
    rows, room = [], []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        row = next((k for k, free in enumerate(room) if free >= lengths[i]), len(rows))
        if row == len(rows):
            rows.append([]), room.append(seq)
        rows[row].append(i)
        room[row] -= lengths[i]
    return rows
