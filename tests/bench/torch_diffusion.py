"""torch_diffusion.py: diffusion in PyTorch, as a competent user writes it; torch_step.py runs it.

Parameters have the names that Lathe gives them.  m has the configuration.  What a step draws comes from outside: of Lathe's generator
where losses are compared, of PyTorch's where steps are timed.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

WORD = 0xFFFFFFFF


def philox(seed, step, site, rows, places):
    """Philox4x32-10: uniform numbers [rows, places], 24 bits each, of key (seed, site) and counters (place / 4, row, step, 0)."""
    place = torch.arange(places).expand(rows, places)
    c0, c1 = place >> 2, torch.arange(rows).unsqueeze(-1).expand(rows, places)
    c2, c3 = torch.full_like(place, step), torch.zeros_like(place)
    k0, k1 = seed, site
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32 & WORD) ^ c1 ^ k0, p1 & WORD, (p0 >> 32 & WORD) ^ c3 ^ k1, p0 & WORD
        k0, k1 = k0 + 0x9E3779B9 & WORD, k1 + 0xBB67AE85 & WORD
    word = torch.stack((c0, c1, c2, c3), -1).gather(-1, (place & 3).unsqueeze(-1)).squeeze(-1)
    return (word >> 8).float() * 2.0**-24


def shifted(x, scale, shift):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Attention(nn.Module):
    def __init__(self, m, bias=False):
        super().__init__()
        self.heads, self.p = m["heads"], m["dropout"]
        self.qkv = nn.Linear(m["width"], 3 * m["width"], bias)
        self.out = nn.Linear(m["width"], m["width"], bias)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in self.qkv(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class FeedForward(nn.Module):
    def __init__(self, m, bias=False):
        super().__init__()
        self.up = nn.Linear(m["width"], 4 * m["width"], bias)
        self.down = nn.Linear(4 * m["width"], m["width"], bias)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.modulation = nn.Linear(m["cond"], 6 * m["width"])
        self.ln_1, self.ln_2 = (nn.LayerNorm(m["width"], bias=False) for _ in range(2))
        self.attn, self.mlp = Attention(m), FeedForward(m)
        self.drop, self.doubled = nn.Dropout(m["dropout"]), m["doubled"]

    def forward(self, x, cond):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(cond).chunk(6, -1)
        a = self.drop(self.attn(shifted(self.ln_1(x), scale1, shift1)))
        if self.doubled:
            a = self.drop(self.attn(self.ln_1(a)))
        x = x + gate1.unsqueeze(1) * a
        h = self.mlp(shifted(self.ln_2(x), scale2, shift2))
        return x + gate2.unsqueeze(1) * self.drop(h)


class Diffusion(nn.Module):
    def __init__(self, m):
        super().__init__()
        width, cond = m["width"], m["cond"]
        self.vocab, self.least, self.range, self.seed = m["vocab"], m["least"], m["most"] / m["least"], m["seed"]
        self.noise = nn.ModuleDict({"in": nn.Linear(256, cond), "out": nn.Linear(cond, cond)})
        self.embed, self.positions = nn.Embedding(m["vocab"], width), nn.Embedding(m["seq"], width)
        self.h = nn.ModuleList(Block(m) for _ in range(m["layers"]))
        self.ln, self.ln_out = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.modulation, self.head = nn.Linear(cond, 2 * width), nn.Linear(width, m["vocab"])
        self.drop = nn.Dropout(m["dropout"])

    def draw(self, tokens, step=None):
        """Uniform numbers of a step: how noisy each text is, which characters move, and where to; of Lathe's step of that number."""
        shapes = {"time": (len(tokens), 1), "moves": tokens.shape, "others": tokens.shape}
        if step is None:
            return {name: torch.rand(shape) for name, shape in shapes.items()}
        return {name: philox(self.seed, step, site, *shape) for site, (name, shape) in enumerate(shapes.items())}

    def conditioning(self, sigma):
        """[B, 1]  ->  [B, cond]"""
        angle = sigma * torch.exp(torch.arange(128) * (-math.log(10000) / 128))
        h = torch.cat((angle.cos(), angle.sin()), -1).to(self.head.weight.dtype)
        return F.silu(self.noise["out"](F.silu(self.noise["in"](h))))

    def scores(self, tokens, sigma):
        """[B, T], [B, 1]  ->  [B, T, V], and one-hot at the tokens, whose scores are 0"""
        cond = self.conditioning(sigma)
        x = self.drop(self.embed(tokens) + self.positions.weight)
        for block in self.h:
            x = block(x, cond)
        shift, scale = self.modulation(cond).chunk(2, -1)
        logits = self.head(shifted(self.ln_out(self.ln(x)), scale, shift))
        here = torch.arange(self.vocab) == tokens.unsqueeze(-1)
        return logits.masked_fill(here, 0), here

    def forward(self, tokens, time, moves, others):
        N = self.vocab
        time = time * (1 - self.least) + self.least
        sigma = torch.exp(math.log(self.least) + time * math.log(self.range))
        other = (others * (N - 1)).long().clamp(max=N - 2)
        noised = torch.where(moves < (1 - torch.exp(-sigma)) * (1 - 1 / N), other + (tokens <= other), tokens)
        log_scores, here = self.scores(noised, sigma)
        log_scores = log_scores.float() if log_scores.dtype != torch.float64 else log_scores
        return (sigma * math.log(self.range) * self.entropy(log_scores.clamp(max=30), here, tokens, noised, sigma)).mean()

    def entropy(self, log_scores, here, tokens, noised, sigma):
        """Score entropy [B, T]; means are over the other characters."""
        N = self.vocab
        E = torch.where(sigma < 0.5, torch.expm1(sigma), torch.exp(sigma) - 1)
        r = (E / (E + N)).clamp(min=1e-12)
        positive = log_scores.exp().masked_fill(here, 0).sum(-1) / (N - 1)
        base = log_scores.masked_fill(here, 0).sum(-1) / (N - 1)
        original = log_scores.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        same = tokens == noised
        negative = torch.where(same, r * base, original / (r * (N - 1)) + (N - 2) / (N - 1) * base)
        constant = torch.where(same, r * (r.log() - 1), ((-r.log() - 1) / r - (N - 2)) / (N - 1))
        return positive - negative + constant
