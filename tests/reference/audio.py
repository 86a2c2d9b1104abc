"""audio.py: small recordings, and their log-mel features, for tests/data/test_recordings.c.

    python3 tests/reference/audio.py      writes tests/reference/audio/*; needs torchaudio (2.11), soundfile (0.13), numpy

Each recording is a formula.  `features` has, of every file of FILES and every form of FORMS in this order, log-mel
features [frames][n_mels], computed here in float64 from the definitions, as float32 bytes.  torchaudio computes them too
(from float32), and the script stops if it says something else.  libsndfile decodes what soundfile has written, so the
samples are taken before they are written.
"""

import os

import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "audio")
# sample_rate, n_fft, win_length, hop_length, n_mels, f_min, f_max, mel_scale
FORMS = [(16000, 400, 400, 160, 20, 0.0, 8000.0, "htk"), (8000, 256, 200, 100, 12, 100.0, 3800.0, "slaney")]
FLOOR = 1e-10


def wave(rate, seconds, seed):
    t = np.arange(int(rate * seconds)) / rate
    noise = np.random.default_rng(seed).standard_normal(len(t))
    return 0.5 * np.sin(2 * np.pi * (200 * t + 2500 * t * t)) * np.exp(-3 * t) + 0.02 * noise


def rounded(x, bits):
    return np.round(x * 2 ** (bits - 1)) / 2 ** (bits - 1)


FILES = {  # name: rate, samples [n] or [n, channels], subtype
    "mono.wav": (16000, rounded(wave(16000, 0.2, 1), 16), "PCM_16"),
    "stereo.wav": (16000, rounded(np.stack([wave(16000, 0.15, 2), wave(16000, 0.15, 3)], 1), 24), "PCM_24"),
    "phone.wav": (8000, rounded(wave(8000, 0.2, 4), 16), "PCM_16"),
    "short.wav": (16000, rounded(wave(16000, 0.004, 5), 16), "PCM_16"),   # 64 samples: mirrored several times
    "odd.wav": (11025, wave(11025, 0.15, 6).astype(np.float32).astype(float), "FLOAT"),
    "music.flac": (22050, rounded(wave(22050, 0.2, 7), 16), "PCM_16"),
}


# ---- the definitions

def resampled(x, old, new):
    """torchaudio.functional.resample's sinc under a Hann window: each output a sum over the inputs around it"""
    if old == new:
        return x
    zeros, base = 6, 0.99 * min(old, new)
    n = -(-len(x) * new // old)
    y = np.empty(n)
    for m in range(n):
        t = (np.arange(len(x)) / old - m / new) * base
        near = np.abs(t) < zeros
        weight = np.sinc(t[near]) * np.cos(t[near] * np.pi / zeros / 2) ** 2 * base / old
        y[m] = weight @ x[near]
    return y


def mel(hz, scale):
    if scale == "htk":
        return 2595 * np.log10(1 + hz / 700)
    return np.where(hz < 1000, hz * 3 / 200, 15 + 27 * np.log(np.maximum(hz, 1) / 1000) / np.log(6.4))


def hertz(m, scale):
    if scale == "htk":
        return 700 * (10 ** (m / 2595) - 1)
    return np.where(m < 15, m * 200 / 3, 1000 * np.exp((m - 15) * np.log(6.4) / 27))


def filters(rate, n_fft, n_mels, low, high, scale):
    points = hertz(np.linspace(mel(np.array(low), scale), mel(np.array(high), scale), n_mels + 2), scale)
    hz = np.arange(n_fft // 2 + 1) * rate / n_fft
    rise = (hz[:, None] - points[:-2]) / np.diff(points)[:-1]
    fall = (points[2:] - hz[:, None]) / np.diff(points)[1:]
    bank = np.maximum(0, np.minimum(rise, fall))
    return bank * (2 / (points[2:] - points[:-2])) if scale == "slaney" else bank


def log_mel(x, rate, n_fft, win, hop, n_mels, low, high, scale):
    window = np.zeros(n_fft)
    window[(n_fft - win) // 2:(n_fft - win) // 2 + win] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(win) / win)
    padded = np.pad(x, n_fft // 2, mode="reflect")
    frames = np.stack([padded[i * hop:i * hop + n_fft] for i in range(1 + len(x) // hop)])
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    return np.log(np.maximum(power @ filters(rate, n_fft, n_mels, low, high, scale), FLOOR))


def by_torchaudio(x, old, rate, n_fft, win, hop, n_mels, low, high, scale):
    import torch
    import torchaudio

    x = torchaudio.functional.resample(torch.tensor(x, dtype=torch.float64), old, rate)
    spectrum = torchaudio.transforms.MelSpectrogram(
        rate, n_fft, win, hop, low, high, n_mels=n_mels, mel_scale=scale,
        norm="slaney" if scale == "slaney" else None).double()  # fmt: skip
    return spectrum(x).clamp(min=FLOOR).log().T.numpy()


def main():
    import soundfile

    os.makedirs(HERE, exist_ok=True)
    os.chdir(HERE)
    with open("features", "wb") as out:
        for name, (rate, x, subtype) in FILES.items():
            soundfile.write(name, x, rate, subtype=subtype)
            mono = x.mean(1) if x.ndim == 2 else x
            for form in FORMS:
                y = log_mel(resampled(mono, rate, form[0]), *form)
                if name != "short.wav":  # torch mirrors once only
                    other = by_torchaudio(mono, rate, *form)
                    assert y.shape == other.shape and np.abs(y - other).max() < 1e-3, (name, form, np.abs(y - other).max())
                out.write(y.astype("<f4").tobytes())
    soundfile.write("mono.ogg", FILES["mono.wav"][1], 16000, format="OGG", subtype="VORBIS")


if __name__ == "__main__":
    main()
