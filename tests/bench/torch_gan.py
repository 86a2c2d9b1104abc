"""torch_gan.py: models/gan.lua in torch, by the same recipe on scikit-learn's digits, and a figure for samples of both.

    python3 tests/bench/torch_gan.py data DIGITS.npz                    the data: digits in an order drawn once
    trainer train --data DIGITS.npz --out RUN --seed 1; trainer generate --out RUN --seed 1 --samples 1024 --json >A.json
    python3 tests/bench/torch_gan.py train DIGITS.npz SEED B.npy        torch's samples
    python3 tests/bench/torch_gan.py judge DIGITS.npz A.json B.npy …    Frechet distances to the digits held out

The distance is that of two normal distributions, in the first 16 principal components of the training digits.
"""

import json
import sys

import numpy as np

SIDE, WIDTH, NOISE, BATCH, STEPS, SAMPLES = 8, 32, 32, 64, 4000, 1024
TRAINED = 1617  # the other 180 are held out, as by val_fraction = 0.1


def data(path):
    from sklearn.datasets import load_digits

    digits, order = load_digits(), np.random.RandomState(0).permutation(1797)
    np.savez(path, image=digits.images[order].astype("f4")[..., None], label=digits.target[order].astype("i4"))


def networks():
    import torch.nn as nn

    generator = nn.Sequential(
        nn.Linear(NOISE, 8 * WIDTH, bias=False), nn.Unflatten(1, (2 * WIDTH, 2, 2)), nn.BatchNorm2d(2 * WIDTH), nn.ReLU(),
        nn.ConvTranspose2d(2 * WIDTH, WIDTH, 4, 2, 1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(),
        nn.ConvTranspose2d(WIDTH, 1, 4, 2, 1), nn.Tanh())
    discriminator = nn.Sequential(
        nn.Conv2d(1, WIDTH, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(WIDTH, 2 * WIDTH, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(8 * WIDTH, 1))
    for m in [*generator, *discriminator]:
        if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.normal_(m.weight, 0, 0.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
    return generator, discriminator


def statistics_move(generator, yes):
    """As in Lathe, running statistics change in the generator's own turn."""
    for m in generator:
        if hasattr(m, "momentum"):
            m.momentum = 0.1 if yes else 0.0


def train(path, seed, out):
    import torch
    from torch.nn.functional import softplus

    torch.manual_seed(int(seed))
    x = torch.tensor(np.load(path)["image"]).permute(0, 3, 1, 2)[:TRAINED] * 2 / 16 - 1
    g, d = networks()
    of_g = torch.optim.Adam(g.parameters(), 1e-3, betas=(0.5, 0.999))
    of_d = torch.optim.Adam(d.parameters(), 5e-4, betas=(0.5, 0.999))
    order, at = torch.randperm(len(x)), 0
    for _ in range(STEPS):
        if at + BATCH > len(x):
            order, at = torch.randperm(len(x)), 0
        real, at = x[order[at:at + BATCH]], at + BATCH
        statistics_move(g, False)
        with torch.no_grad():
            made = g(torch.randn(BATCH, NOISE))
        of_d.zero_grad()
        (softplus(-d(real)) + softplus(d(made))).mean().backward()
        of_d.step()
        statistics_move(g, True)
        of_g.zero_grad()
        softplus(-d(g(torch.randn(BATCH, NOISE)))).mean().backward()
        of_g.step()
    g.eval()
    with torch.no_grad():
        np.save(out, ((g(torch.randn(SAMPLES, NOISE)) + 1) / 2 * 16 + 0.5).floor().numpy())


def samples_of(file):
    if file.endswith(".npy"):
        return np.load(file).reshape(-1, SIDE * SIDE)
    return np.array([sample["outputs"]["image"]["values"] for sample in json.load(open(file))], float)


def judge(path, *files):
    from scipy.linalg import sqrtm
    from sklearn.decomposition import PCA

    x = np.load(path)["image"].reshape(-1, SIDE * SIDE)
    space = PCA(16).fit(x[:TRAINED])

    def distance(a, b):
        a, b = space.transform(a), space.transform(b)
        apart, of_a, of_b = a.mean(0) - b.mean(0), np.cov(a.T), np.cov(b.T)
        return apart @ apart + np.trace(of_a + of_b - 2 * sqrtm(of_a @ of_b).real)

    print(f"training digits: {distance(x[:TRAINED], x[TRAINED:]):.1f}")
    for file in files:
        print(f"{file}: {distance(samples_of(file), x[TRAINED:]):.1f}")


if __name__ == "__main__":
    {"data": data, "train": train, "judge": judge}[sys.argv[1]](*sys.argv[2:])
