"""attends.py: tests/models/attends.lua in torch, for record.py: biases on scores, soft cap, norms of q and k, as the papers have them.
Scores are written out where torch has no word for what is done to them."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def bucket(distance, buckets, most):
    """Raffel et al. 2020, of a decoder: distance = how far back the key is, not negative."""
    exact = buckets // 2
    large = exact + (torch.log(distance.float().clamp(min=1) / exact) / math.log(most / exact) * (buckets - exact)).long()
    return torch.where(distance < exact, distance, large.clamp(max=buckets - 1))


def rotate(x, base):
    """[B, H, T, D]: the halves of D are real and imaginary parts."""
    T, half = x.shape[2], x.shape[3] // 2
    angle = torch.outer(torch.arange(T, dtype=x.dtype), base ** (-torch.arange(half, dtype=x.dtype) / half))
    y = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([y.real, y.imag], dim=-1)


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads=None, fused=True, qkv_bias=True, out_bias=True, qk_norm=None, rotary=None, scale=None,
                 cap=None, window=None):
        super().__init__()
        D, G = width // heads, kv_heads or heads
        self.heads, self.G, self.D, self.fused, self.wide = heads, G, D, fused, qk_norm == "wide"
        self.rotary, self.scale, self.cap, self.window = rotary, scale or 1 / math.sqrt(D), cap, window
        if fused:
            self.qkv = nn.Linear(width, (heads + 2 * G) * D, bias=qkv_bias)
        else:
            self.q, self.k, self.v = (nn.Linear(width, n * D, bias=qkv_bias) for n in (heads, G, G))
        self.out = nn.Linear(width, width, bias=out_bias)
        if qk_norm == "layer":
            self.q_norm, self.k_norm = nn.LayerNorm(D), nn.LayerNorm(D)
        elif qk_norm:
            self.q_norm, self.k_norm = (nn.RMSNorm(n * D if self.wide else D, eps=1e-6) for n in (heads, G))
        self.normed = bool(qk_norm)

    def forward(self, x, bias=None):
        B, T, C = x.shape
        q, k, v = self.qkv(x).split([self.heads * self.D, self.G * self.D, self.G * self.D], 2) if self.fused else \
            (self.q(x), self.k(x), self.v(x))
        if self.normed and self.wide:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (y.view(B, T, -1, self.D).transpose(1, 2) for y in (q, k, v))
        if self.normed and not self.wide:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rotary:
            q, k = rotate(q, self.rotary), rotate(k, self.rotary)
        k, v = (y.repeat_interleave(self.heads // self.G, 1) for y in (k, v))
        back = torch.arange(T)[:, None] - torch.arange(T)
        seen = (back >= 0) & (back < (self.window or T))
        if self.cap is None:
            mask = torch.where(seen, 0.0 if bias is None else bias, -torch.inf)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale)
        else:
            scores = torch.tanh(q @ k.transpose(2, 3) * self.scale / self.cap) * self.cap
            y = torch.where(seen, scores + (0.0 if bias is None else bias), -torch.inf).softmax(3) @ v
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, **options):
        super().__init__()
        self.rmsnorm, self.rmsnorm_2 = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.attn = Attention(width, heads, **options)
        self.mlp = nn.ModuleDict({"up": nn.Linear(width, 2 * width), "down": nn.Linear(2 * width, width)})

    def forward(self, x, bias=None):
        x = x + self.attn(self.rmsnorm(x), bias)
        return x + self.mlp["down"](torch.tanh(self.mlp["up"](self.rmsnorm_2(x))))


class OffsetNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x):
        return x / (x * x).mean(2, keepdim=True).add(1e-6).sqrt() * (1 + self.weight)


class Gated(Block):
    """Norms with 1 + weight, a gate of gelu"""

    def __init__(self, width, heads, **options):
        super().__init__(width, heads, **options)
        self.rmsnorm, self.rmsnorm_2 = OffsetNorm(width), OffsetNorm(width)
        del self.mlp
        self.swiglu = nn.ModuleDict({name: nn.Linear(width, width, bias=False) for name in ("gate", "up", "down")})

    def forward(self, x):
        x, m = x + self.attn(self.rmsnorm(x)), self.swiglu
        h = self.rmsnorm_2(x)
        return x + m["down"](F.gelu(m["gate"](h), approximate="tanh") * m["up"](h))


class Attends(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, (C, H) = c, (c["width"], c["heads"])
        self.embed, self.head, self.relative = nn.Embedding(c["vocab"], C), nn.Linear(C, c["vocab"]), nn.Embedding(6, H)
        self.t5 = nn.ModuleList(Block(C, H, scale=1.0, qkv_bias=False, out_bias=False) for _ in range(2))
        self.qwen3 = Block(C, H, rotary=100.0, qk_norm="rms", kv_heads=1, fused=False, out_bias=False)
        self.olmo2 = Block(C, H, rotary=100.0, qk_norm="wide", qkv_bias=False)
        self.vit = Block(C, H, qk_norm="layer", rotary=100.0)
        self.gemma2 = Block(C, H, rotary=50.0, cap=1.5, window=4, kv_heads=1)
        self.both = Block(C, H, cap=0.7, window=6, kv_heads=1)
        self.gemma3 = nn.ModuleList(Gated(C, H, rotary=50.0, window=3 if i % 2 == 0 else None) for i in range(3))
        self.slope = nn.Parameter(torch.empty(H, 1, 1))
        self.q, self.k, self.v = (nn.Linear(C, C) for _ in range(3))

    def forward(self, ids):
        (B, T), C, H = ids.shape, self.c["width"], self.c["heads"]
        x, back = self.embed(ids), torch.arange(T)[:, None] - torch.arange(T)
        relative = self.relative(bucket(back.clamp(min=0), 6, 7)).permute(2, 0, 1)
        for block in self.t5:
            x = block(x, relative)
        x = self.olmo2(self.qwen3(x))
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)])[:, None, None]
        x = self.gemma2(self.vit(x, -slopes * back))
        x = self.both(x, self.slope * torch.div(back, 3, rounding_mode="floor"))
        for block in self.gemma3:
            x = block(x)
        x = x + F.pad(x, (0, 0, 2, 0))[:, :T] + 0.1 * x.cumsum(1)
        q, k, v = (f(x).view(B, T, H, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        seen = (back >= 0) & (back < 5)
        y = F.scaled_dot_product_attention(rotate(q, 10.0), rotate(k, 10.0), v, attn_mask=seen)
        return self.head(x + y.transpose(1, 2).reshape(B, T, C))
