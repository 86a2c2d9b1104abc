"""pictures.py: small pictures and what Pillow makes of them, for tests/data/test_pictures.c.

    python3 tests/reference/pictures.py      writes tests/reference/pictures/*; needs Pillow (10.4) and numpy

Each picture is a formula.  `resized` has, of every file and every form of the table FORMS, in this order: the picture,
converted, resized by Image.BILINEAR and cropped from the middle, [height][width][channels] bytes.  `resized_bicubic` and
`resized_nearest` have the same of the PNG files.
"""

import os

import numpy as np
from PIL import Image

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
FORMS = [(12, 10, 3, 0), (12, 10, 1, 0), (20, 20, 3, 22), (26, 34, 3, 0)]  # height, width, channels, shorter side
os.makedirs(HERE, exist_ok=True)
os.chdir(HERE)

y, x = np.mgrid[0:23, 0:31]
wave = np.stack([(x * 8 + y * 3) % 256, 128 + 100 * np.sin(x * y / 40), (x * x + 5 * y) % 256], -1).astype(np.uint8)
rgb = Image.fromarray(wave)
clear = Image.fromarray(np.concatenate([wave, (x * y % 256).astype(np.uint8)[..., None]], -1))
tall = Image.fromarray(np.ascontiguousarray(wave.transpose(1, 0, 2)))

rgb.save("wave.png")
tall.save("tall.png")
clear.save("clear.png")
rgb.convert("L").save("grey.png")
rgb.quantize(16).save("palette.png", transparency=3)
rgb.convert("1").save("bits.png")
rgb.save("wave.jpg", quality=90)
tall.save("progressive.jpg", quality=80, progressive=True, subsampling=0)
rgb.convert("L").save("grey.jpg", quality=85)
rgb.convert("CMYK").save("ink.jpg", quality=95)
FILES = ["wave.png", "tall.png", "clear.png", "grey.png", "palette.png", "bits.png", "wave.jpg", "progressive.jpg",
         "grey.jpg", "ink.jpg"]


def sizes(w, h, width, height, side):
    if side:
        w2, h2 = (side, side * h // w) if w <= h else (side * w // h, side)
    else:
        w2, h2 = (width, width * h // w) if width * h >= height * w else (height * w // h, height)
    return max(w2, width), max(h2, height)


def record(path, files, by):
    with open(path, "wb") as out:
        for name in files:
            for height, width, channels, side in FORMS:
                picture = Image.open(name).convert("L" if channels == 1 else "RGB")
                w2, h2 = sizes(*picture.size, width, height, side)
                picture = picture.resize((w2, h2), by)
                left, top = (w2 - width) // 2, (h2 - height) // 2
                out.write(picture.crop((left, top, left + width, top + height)).tobytes())


record("resized", FILES, Image.BILINEAR)
record("resized_bicubic", FILES[:6], Image.BICUBIC)
record("resized_nearest", FILES[:6], Image.NEAREST)
