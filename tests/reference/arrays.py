"""arrays.py: small files of arrays by NumPy, safetensors and h5py, for tests/data/test_array_files.c and test_hdf5.c.

    python3 tests/reference/arrays.py        writes tests/reference/arrays/*; needs numpy, safetensors and h5py

Row r, number k of `x` [5][2][3] is (6 r + k) / 4 - 3; of `ids` [5] it is 3 r mod 5.  IDX is written by its description at
yann.lecun.com/exdb/mnist: magic, dimensions, elements, all of it big-endian.
"""

import gzip
import os
import struct

import h5py
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

# HDF5: packed in chunks of two rows; in one piece; in groups; what no trainer reads.
with h5py.File(path("packed.h5"), "w") as f:
    f.create_dataset("x", data=x, chunks=(2, 2, 3), compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("ids", data=ids.astype(np.uint8), chunks=(3,), maxshape=(None,))
    f.create_dataset("truth", data=ids > 2)
with h5py.File(path("groups.hdf5"), "w", libver="latest") as f:
    f.create_dataset("train/x", data=x.astype(np.float16))
    f.create_dataset("train/ids", data=ids.astype(">i2"))
with h5py.File(path("odd.h5"), "w") as f:
    f["text"] = ["a", "b"]
    f["points"] = np.zeros(2, [("x", "f4"), ("y", "f4")])
    f["away"] = h5py.ExternalLink("packed.h5", "/x")
    f.create_dataset("empty", (1 << 40, 3), "f4", chunks=(64, 3), compression="gzip")
    f.create_dataset("large", (1 << 13, 1 << 13), "f4", chunks=(1 << 13, 1 << 13))
    f.create_dataset("lzf", data=np.arange(4000) % 7, chunks=(1000,), compression="lzf")
    f.create_virtual_dataset("virtual", h5py.VirtualLayout((5, 2, 3), "f4"))
with h5py.File(path("zeros.h5"), "w") as f:        # 64 MB, packed a thousandfold
    f.create_dataset("x", data=np.zeros((1 << 14, 1 << 12), np.uint8), chunks=(64, 1 << 12), compression="gzip", compression_opts=9)

# The rows of tests/models/arrays.sh.
row, place = np.arange(83)[:, None], np.arange(36)
label = (7 * row[:, 0]) % 4
quarter = 2 * (place >= 18) + (place % 6 >= 3)
image = 5 * (quarter == label[:, None]) + (31 * row + 17 * place) % 4
with h5py.File(path("rows.h5"), "w") as f:
    f.create_dataset("image", data=image.reshape(83, 6, 6).astype(np.uint8), chunks=(7, 6, 6), compression="gzip", shuffle=True)
    f.create_dataset("label", data=label)
    f.create_dataset("weight", data=np.ones(83, bool))
with h5py.File(path("wide.h5"), "w") as f:         # 1.4 MB in chunks of all rows
    wide = (np.arange(11000)[:, None, None] % 50 + np.arange(64).reshape(8, 8)).astype(">f2")
    f.create_dataset("x", data=wide, chunks=(11000, 2, 2), compression="gzip", shuffle=True)
