"""systems.py: the models of models/*.lua that are not language models of the usual kind, in torch, for record.py.

loss(batch, step) of each gives the loss of a batch, {name: tensor} as record.py draws it, and the logits or None.  They are written from
the equations, one step, block or character after the other where that is the plainest, and share nothing with the compiler.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def cross_entropy(logits, targets):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


# ---------------------------------------------------------------- post-norm decoder

class Attention(nn.Module):
    """Four matrices, heads side by side in their columns."""

    def __init__(self, width, heads, names=("query", "key", "value", "out")):
        super().__init__()
        self.heads, self.names = heads, names
        for name in names:
            setattr(self, name, nn.Linear(width, width, bias=False))

    def forward(self, x, memory, causal):
        def heads(name, y):
            return getattr(self, name)(y).unflatten(2, (self.heads, -1)).transpose(1, 2)
        q, k, v, out = self.names
        y = F.scaled_dot_product_attention(heads(q, x), heads(k, memory), heads(v, memory), is_causal=causal)
        return getattr(self, out)(y.transpose(1, 2).flatten(2))


class PostNorm(nn.Module):
    """A decoder that attends to itself and to the embeddings; norms follow the sums; the head is the embedding."""

    def __init__(self, c):
        super().__init__()
        self.c, d = c, c["width"]
        self.embed = nn.Embedding(c["vocab"], d)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "self": Attention(d, c["heads"]), "self_norm": nn.LayerNorm(d),
            "cross": Attention(d, c["heads"]), "cross_norm": nn.LayerNorm(d),
            "mlp": nn.ModuleDict({"up": nn.Linear(d, c["hidden"]), "down": nn.Linear(c["hidden"], d)}), "mlp_norm": nn.LayerNorm(d),
        }) for _ in range(c["layers"]))

    def loss(self, batch, step):
        x = embedded = self.embed(batch["tokens"])
        causal = self.c["causal"]
        for b in self.layers:
            x = b["self_norm"](x + b["self"](x, x, causal))
            x = b["cross_norm"](x + b["cross"](x, embedded, causal))
            x = b["mlp_norm"](x + b["mlp"]["down"](torch.relu(b["mlp"]["up"](x))))
        logits = x @ self.embed.weight.T
        return cross_entropy(logits, batch["targets"]), logits if causal else None


# ---------------------------------------------------------------- tokens that are 8 x 8 matrices

class SelfAttention(nn.Module):
    """The weights of torch's MultiheadAttention, and its function."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, causal):
        x = x.transpose(0, 1)
        mask = torch.full((len(x), len(x)), -math.inf).triu(1) if causal else None
        y, seen = F.multi_head_attention_forward(x, x, x, x.shape[2], self.heads, self.qkv.weight, self.qkv.bias, None, None, False,
                                                 0.0, self.out.weight, self.out.bias, attn_mask=mask)
        return y.transpose(0, 1), seen                      # seen: [B, T, S], the mean over heads


class Mu(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.embed, self.positions = nn.Embedding(c["vocab"], 64), nn.Embedding(c["seq"], 64)
        self.layers = nn.ModuleList(self.layer() for _ in range(c["layers"]))
        self.ln, self.head = nn.LayerNorm(64), nn.Linear(64, c["vocab"])

    def layer(self):
        s = nn.ModuleDict({"affinity": nn.Embedding(self.c["vocab"], 16), "up": nn.Linear(17, 32), "down": nn.Linear(32, 16)})
        s.base = nn.Parameter(torch.empty(16))
        m = nn.ModuleDict({
            "block": nn.ModuleList(nn.ModuleDict({"attn": SelfAttention(4, 2)}) for _ in range(16)), "attn": SelfAttention(64, 8),
            "ln_1": nn.LayerNorm(64), "up": nn.Linear(64, 256), "down": nn.Linear(256, 64), "ln_2": nn.LayerNorm(64), "sensitivity": s,
        })
        m.interaction = nn.Parameter(torch.empty(16, 16))   # nobody reads it
        return m

    def adjust(self):
        for m in self.layers:
            m["sensitivity"].base.add_(0.5)

    def run(self, m, x, tokens):
        B, T = tokens.shape
        z = torch.empty(B, T, 64)
        for i in range(16):
            r, c = 2 * (i // 4), 2 * (i % 4)
            z[:, :, 4 * i:4 * i + 4] = m["block"][i]["attn"](x[:, :, r:r + 2, c:c + 2].reshape(B, T, 4), self.c["causal"])[0]
        y, seen = m["attn"](z, self.c["causal"])
        z = m["ln_1"](z + y)
        z = m["ln_2"](z + m["down"](F.gelu(m["up"](z)))).view(B, T, 16, 4)
        s = m["sensitivity"]
        entropy = -(seen * (seen + 1e-9).log()).sum(-1, keepdim=True)
        s = torch.sigmoid(s["down"](F.gelu(s["up"](torch.cat([s["affinity"](tokens), entropy], 2))))) * s.base
        if self.c["raster"]:                                # four numbers are half a row here, and a block there
            x = x.reshape(B, T, 16, 4)
            return (x + s[..., None] * (z - x)).view(B, T, 8, 8)
        new = torch.empty(B, T, 8, 8)
        for i in range(16):
            r, c = 2 * (i // 4), 2 * (i % 4)
            old = x[:, :, r:r + 2, c:c + 2]
            new[:, :, r:r + 2, c:c + 2] = old + s[:, :, i, None, None] * (z[:, :, i].view(B, T, 2, 2) - old)
        return new

    def loss(self, batch, step):
        tokens = batch["tokens"]
        x = (self.embed(tokens) + self.positions.weight).view(*tokens.shape, 8, 8)
        for m in self.layers:
            x = self.run(m, x, tokens)
        logits = self.head(self.ln(x.flatten(2)))
        return cross_entropy(logits, batch["targets"]), logits if self.c["causal"] else None


# ---------------------------------------------------------------- characters out of noise

def philox(counter, key):
    """Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): four words of a counter of four and a key of two."""
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * x0, 0xCD9E8D57 * x2
        x0, x1, x2, x3 = (b >> 32) ^ x1 ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ x3 ^ k1, a & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return x0, x1, x2, x3


assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == (0xD16CFE09, 0x94FDCCEB, 0x5001E420,
                                                                                             0x24126EA1)    # of its authors


def uniform(seed, step, site, rows, columns):
    """[rows, columns]: what a description draws is a function of seed, step, the call's number (site), row and place."""
    return torch.tensor([[(philox((i // 4, row, step, 0), (seed, site))[i % 4] >> 8) / 2**24 for i in range(columns)]
                         for row in range(rows)])


class LayerNormWeight(nn.LayerNorm):
    def __init__(self, width):
        super().__init__(width, bias=False)


class Diffusion(nn.Module):
    """Score entropy discrete diffusion, uniform transitions: Lou, Meng and Ermon 2024."""

    def __init__(self, c):
        super().__init__()
        self.c, C, V = c, c["width"], c["vocab"]
        self.noise = nn.ModuleDict({"in": nn.Linear(256, c["cond"]), "out": nn.Linear(c["cond"], c["cond"])})
        self.embed, self.positions = nn.Embedding(V, C), nn.Embedding(c["seq"], C)
        self.h = nn.ModuleList(nn.ModuleDict({
            "modulation": nn.Linear(c["cond"], 6 * C), "ln_1": LayerNormWeight(C), "ln_2": LayerNormWeight(C),
            "attn": nn.ModuleDict({"qkv": nn.Linear(C, 3 * C, bias=False), "out": nn.Linear(C, C, bias=False)}),
            "mlp": nn.ModuleDict({"up": nn.Linear(C, 4 * C, bias=False), "down": nn.Linear(4 * C, C, bias=False)}),
        }) for _ in range(c["layers"]))
        self.ln, self.ln_out = LayerNormWeight(C), LayerNormWeight(C)
        self.modulation, self.head = nn.Linear(c["cond"], 2 * C), nn.Linear(C, V)

    def attention(self, block, x):
        q, k, v = (y.unflatten(2, (self.c["heads"], -1)).transpose(1, 2) for y in block["attn"]["qkv"](x).chunk(3, 2))
        return block["attn"]["out"](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    def score(self, x_t, sigma):
        angle = sigma[:, None] * 10000.0 ** (-torch.arange(128.0) / 128)
        c = F.silu(self.noise["out"](F.silu(self.noise["in"](torch.cat([angle.cos(), angle.sin()], 1)))))
        x = self.embed(x_t) + self.positions.weight
        for b in self.h:
            shift1, scale1, gate1, shift2, scale2, gate2 = b["modulation"](c)[:, None].chunk(6, 2)
            a = self.attention(b, b["ln_1"](x) * (1 + scale1) + shift1)
            if self.c["doubled"]:
                a = self.attention(b, b["ln_1"](a))
            x = x + gate1 * a
            x = x + gate2 * b["mlp"]["down"](F.gelu(b["mlp"]["up"](b["ln_2"](x) * (1 + scale2) + shift2)))
        shift, scale = self.modulation(c)[:, None].chunk(2, 2)
        y = self.head(self.ln_out(self.ln(x)) * (1 + scale) + shift)
        return y.scatter(2, x_t[:, :, None], 0.0)

    def noised(self, x_0, step):
        """Drawn at the description's three calls: times, who moves, where to."""
        (B, T), c = x_0.shape, self.c
        t = uniform(c["seed"], step, 0, B, 1)[:, 0] * (1 - c["least"]) + c["least"]
        sigma = c["least"] ** (1 - t) * c["most"] ** t
        moves = uniform(c["seed"], step, 1, B, T) < ((1 - torch.exp(-sigma)) * (1 - 1 / c["vocab"]))[:, None]
        other = (uniform(c["seed"], step, 2, B, T) * (c["vocab"] - 1)).long()
        other = other + (other >= x_0)
        return torch.where(moves, other, x_0), sigma

    def loss(self, batch, step):
        x_0, N = batch["tokens"], self.c["vocab"]
        x_t, sigma = self.noised(x_0, step)
        l = self.score(x_t, sigma).clamp(max=30)
        E = torch.where(sigma < 0.5, torch.expm1(sigma), torch.exp(sigma) - 1)
        r = (E / (E + N)).clamp(min=1e-12)[:, None]
        l_t, l_0 = (l.gather(2, x[:, :, None])[:, :, 0] for x in (x_t, x_0))
        positive = (l.exp().sum(2) - l_t.exp()) / (N - 1)
        base = (l.sum(2) - l_t) / (N - 1)
        stayed = r * base, r * (r.log() - 1)
        moved = l_0 / (r * (N - 1)) + (N - 2) / (N - 1) * base, ((-r.log() - 1) / r - (N - 2)) / (N - 1)
        negative, constant = (torch.where(x_t == x_0, a, b) for a, b in zip(stayed, moved))
        rate = sigma * math.log(self.c["most"] / self.c["least"])
        return (rate[:, None] * (positive - negative + constant)).mean(), None


# ---------------------------------------------------------------- summaries

class PointerGenerator(nn.Module):
    """models/pointer_generator.lua, step by step as in the paper, the whole distribution at once."""

    def __init__(self, c):
        super().__init__()
        self.c, V, E, H, L = c, c["vocab"], c["width"], c["hidden"], c["layers"]
        self.encoder = nn.ModuleDict({"embed": nn.Embedding(V, E), "lstm": nn.LSTM(E, H, L, bidirectional=True, batch_first=True)})
        attention = nn.ModuleDict({"W_h": nn.Linear(2 * H, H, bias=False), "W_d": nn.Linear(H, H, bias=False)})
        attention.v = nn.Parameter(torch.empty(H))
        if c["coverage"] > 0:
            attention.W_c = nn.Parameter(torch.empty(H))
        self.decoder = nn.ModuleDict({"embed": nn.Embedding(V, E), "lstm": nn.LSTM(E + 2 * H, H, L, batch_first=True), "attention": attention})
        self.out, self.p_gen = nn.Linear(E + 3 * H, V), nn.Linear(E + 3 * H, 1)

    def attend(self, memory, keep, top, seen):
        a = self.decoder["attention"]
        rows = a["W_h"](memory) + a["W_d"](top)[:, None]
        if self.c["coverage"] > 0:
            rows = rows + seen[:, :, None] * a.W_c
        return (torch.tanh(rows) @ a.v).masked_fill(~keep, -1e4).softmax(1)

    def adjust(self):
        a = self.decoder["attention"]
        a.v.mul_(10.0)              # where tanh is nearly linear, W_d moves all scores alike, and its gradient is
        a["W_h"].weight.mul_(6.0)   # what rounding leaves

    def loss(self, batch, step):
        source, lengths, tokens, targets = (batch[n] for n in ("source", "source_lengths", "tokens", "targets"))
        c, (B, S), T = self.c, source.shape, tokens.shape[1]
        keep, counts = torch.arange(S)[None] < lengths[:, None], (targets >= 0).double()
        packed = nn.utils.rnn.pack_padded_sequence(self.encoder["embed"](source), lengths, batch_first=True, enforce_sorted=False)
        memory, last = self.encoder["lstm"](packed)
        memory = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True, total_length=S)[0]
        state = tuple(x[0::2].contiguous() for x in last)
        context, seen, all, overlap = memory.new_zeros(B, memory.shape[2]), memory.new_zeros(B, S), [], []
        for t in range(T):
            x = self.decoder["embed"](tokens[:, t])
            top, state = self.decoder["lstm"](torch.cat([x, context], 1)[:, None], state)
            a = self.attend(memory, keep, top[:, 0], seen)
            overlap.append(torch.minimum(a, seen).sum(1))
            seen = seen + a
            context = (a[:, :, None] * memory).sum(1)
            features = torch.cat([top[:, 0], context, x], 1)
            p_gen = torch.sigmoid(self.p_gen(features))
            p = (p_gen * self.out(features).softmax(1)).scatter_add(1, source, (1 - p_gen) * a)
            all.append(p.clamp(min=1e-8).log())
        logits = torch.stack(all, 1)
        losses = -logits.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0]
        again = (torch.stack(overlap, 1) * counts).sum() / counts.sum()
        return (losses * counts).sum() / counts.sum() + c["coverage"] * again, logits


# ---------------------------------------------------------------- transformer encoder and decoder

class Heads(nn.Module):
    """Projections of queries, keys and values, together or apart, without biases."""

    def __init__(self, width, heads, names):
        super().__init__()
        self.heads, self.names = heads, names
        for name in names:
            setattr(self, name, nn.Linear(width, 3 * width if name == "qkv" else width, bias=False))

    def forward(self, x, memory, mask):
        q, k, v = self.qkv(x).chunk(3, -1) if "qkv" in self.names else (self.q(x), self.k(memory), self.v(memory))
        q, k, v = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (q, k, v))
        scores = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Seq2seq(nn.Module):
    """models/seq2seq.lua with learned positions."""

    def __init__(self, c):
        super().__init__()
        self.c, d = c, c["width"]
        self.embed = nn.Embedding(c["vocab"], d)
        if not c["tied"]:
            self.target, self.head = nn.Embedding(c["vocab"], d), nn.Linear(d, c["vocab"], bias=False)

        def side(length, cross):
            parts = lambda: {"ln_attn": nn.LayerNorm(d), "attn": Heads(d, c["heads"], ("qkv", "out")),
                             **({"ln_cross": nn.LayerNorm(d), "cross": Heads(d, c["heads"], ("q", "k", "v", "out"))} if cross else {}),
                             "ln_mlp": nn.LayerNorm(d), "mlp": nn.ModuleDict({"up": nn.Linear(d, c["hidden"]), "down": nn.Linear(c["hidden"], d)})}
            return nn.ModuleDict({"positions": nn.Embedding(length, d), "ln": nn.LayerNorm(d),
                                  "layer": nn.ModuleList(nn.ModuleDict(parts()) for _ in range(c["layers"]))})
        self.encoder, self.decoder = side(c["source_seq"], False), side(c["seq"], True)

    def walk(self, side, embed, ids, mask, memory=None, seen=None):
        x = embed(ids) * math.sqrt(self.c["width"]) + side["positions"].weight
        for b in side["layer"]:
            x = x + b["attn"](b["ln_attn"](x), None, mask)
            if memory is not None:
                x = x + b["cross"](b["ln_cross"](x), memory, seen)
            x = x + b["mlp"]["down"](torch.relu(b["mlp"]["up"](b["ln_mlp"](x))))
        return side["ln"](x)

    def loss(self, batch, step):
        c, tied, T = self.c, self.c["tied"], batch["tokens"].shape[1]
        seen = (torch.arange(c["source_seq"])[None] < batch["source_lengths"][:, None])[:, None, None]
        memory = self.walk(self.encoder, self.embed, batch["source"], seen)
        earlier = torch.ones(T, T, dtype=torch.bool).tril()
        x = self.walk(self.decoder, self.embed if tied else self.target, batch["tokens"], earlier, memory, seen)
        logits = x @ (self.embed if tied else self.head).weight.T
        return F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten(), ignore_index=-1, label_smoothing=c["smoothing"]), logits
