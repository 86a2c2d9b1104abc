"""arrays.py: small files of arrays by NumPy and safetensors, for tests/data/test_array_files.c.

    python3 tests/reference/arrays.py        writes tests/reference/arrays/*; needs numpy and safetensors

Row r, number k of `x` [5][2][3] is (6 r + k) / 4 - 3; of `ids` [5] it is 3 r mod 5.  IDX is written by its description at
yann.lecun.com/exdb/mnist: magic, dimensions, elements, all of it big-endian.
"""

import gzip
import os
import struct

import numpy as np
from safetensors.numpy import save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "arrays")
x = (np.arange(30).reshape(5, 2, 3) / 4 - 3).astype(np.float32)
ids = 3 * np.arange(5) % 5


def path(name):
    return os.path.join(HERE, name)


os.makedirs(HERE, exist_ok=True)
np.savez(path("stored.npz"), x=x, ids=ids)
np.savez_compressed(path("packed.npz"), x=x.astype(np.float64), ids=ids.astype(np.uint8), y=np.bool_(True))
save_file({"x": x.astype(np.float16), "ids": ids.astype(np.int16)}, path("both.safetensors"))
big = struct.pack(">BBBB3I", 0, 0, 13, 3, *x.shape) + x.astype(">f4").tobytes()
open(path("x.idx"), "wb").write(big)
open(path("x-idx3-ubyte.gz"), "wb").write(gzip.compress(big, mtime=0))
open(path("ids.idx"), "wb").write(struct.pack(">BBBBI", 0, 0, 11, 1, 5) + ids.astype(">i2").tobytes())
