"""torch_systems.py: char_rnn, mu and pointer_generator in PyTorch, as a competent user writes them; torch_step.py runs them.

Parameters have the names that Lathe gives them.  m has the configuration.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CharRNN(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.embed = nn.Embedding(m["vocab"], m["width"])
        self.lstm = nn.LSTM(m["width"], m["hidden"], m["layers"], batch_first=True, dropout=m["dropout"])
        self.head = nn.Linear(m["hidden"], m["vocab"])
        self.drop = nn.Dropout(m["dropout"])

    def forward(self, tokens, targets):
        h, _ = self.lstm(self.embed(tokens))
        return F.cross_entropy(self.head(self.drop(h)).flatten(0, 1), targets.flatten())


# ------------------------------------------------------------------ mu


class Projections(nn.Module):
    """What one attention has; the sixteen of the blocks are stacked and computed as one."""

    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = Projections(4)


class Sensitivity(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.affinity = nn.Embedding(m["vocab"], 16)
        self.up = nn.Linear(17, 32)
        self.down = nn.Linear(32, 16)
        self.base = nn.Parameter(torch.empty(16))
        self.drop = nn.Dropout(m["dropout"])

    def forward(self, tokens, seen):
        entropy = -(seen * (seen + 1e-9).log()).sum(-1, keepdim=True)
        h = F.gelu(self.up(torch.cat((self.affinity(tokens), entropy), -1)))
        return torch.sigmoid(self.down(self.drop(h))) * self.base


class MULayer(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.block = nn.ModuleList(Block() for _ in range(16))
        self.attn = Projections(64)
        self.ln_1, self.ln_2 = nn.LayerNorm(64), nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)
        self.sensitivity = Sensitivity(m)
        self.interaction = nn.Parameter(torch.empty(16, 16))
        self.drop, self.p, self.causal, self.raster = nn.Dropout(m["dropout"]), m["dropout"], m["causal"], m["raster"]

    def blocks(self, x):
        """[B, T, 64], row by row  ->  [16, B, T, 4]"""
        B, T, _ = x.shape
        return x.view(B, T, 4, 2, 4, 2).permute(2, 4, 0, 1, 3, 5).reshape(16, B, T, 4)

    def of_blocks(self, x):
        """The sixteen attentions, two heads of width 2 each: [16, B, T, 4]  ->  [16, B, T, 4]"""
        _, B, T, _ = x.shape
        weight, bias, out_weight, out_bias = (
            torch.stack([f(b.attn) for b in self.block])
            for f in (lambda a: a.qkv.weight, lambda a: a.qkv.bias, lambda a: a.out.weight, lambda a: a.out.bias)
        )
        qkv = torch.baddbmm(bias.unsqueeze(1), x.reshape(16, B * T, 4), weight.transpose(1, 2))
        q, k, v = (y.view(16 * B, T, 2, 2).transpose(1, 2) for y in qkv.split(4, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, dropout_p=self.p if self.training else 0.0)
        y = y.transpose(1, 2).reshape(16, B * T, 4)
        return torch.baddbmm(out_bias.unsqueeze(1), y, out_weight.transpose(1, 2)).view(16, B, T, 4)

    def across(self, x, mask):
        """Eight heads of width 8, and what they looked at, after dropout, as their mean: [B, T, 64], [B, T, T]"""
        B, T, C = x.shape
        q, k, v = (y.view(B, T, 8, 8).transpose(1, 2) for y in self.attn.qkv(x).split(C, -1))
        scores = q @ k.transpose(-1, -2) * 8**-0.5
        if self.causal:
            scores = scores.masked_fill(mask, float("-inf"))
        seen = self.drop(scores.softmax(-1))
        return self.attn.out((seen @ v).transpose(1, 2).reshape(B, T, C)), seen.mean(1)

    def forward(self, x, tokens, mask):
        B, T, _ = x.shape
        z = self.of_blocks(self.blocks(x)).permute(1, 2, 0, 3).reshape(B, T, 64)
        y, seen = self.across(z, mask)
        z = self.ln_1(z + y)
        z = self.ln_2(z + self.down(self.drop(F.gelu(self.up(z)))))
        s = self.sensitivity(tokens, seen).unsqueeze(-1)
        before = x.view(B, T, 16, 4) if self.raster else self.blocks(x).permute(1, 2, 0, 3)
        after = before + s * (z.view(B, T, 16, 4) - before)
        if self.raster:
            return after.reshape(B, T, 64)
        return after.view(B, T, 4, 4, 2, 2).permute(0, 1, 2, 4, 3, 5).reshape(B, T, 64)


class MU(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.embed = nn.Embedding(m["vocab"], 64)
        self.positions = nn.Embedding(m["seq"], 64)
        self.layers = nn.ModuleList(MULayer(m) for _ in range(m["layers"]))
        self.ln = nn.LayerNorm(64)
        self.head = nn.Linear(64, m["vocab"])
        mask = torch.ones(m["seq"], m["seq"], dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens) + self.positions.weight
        for layer in self.layers:
            x = layer(x, tokens, self.mask)
        return F.cross_entropy(self.head(self.ln(x)).flatten(0, 1), targets.flatten())


# ------------------------------------------------------------------ pointer_generator


class Encoder(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.embed = nn.Embedding(m["vocab"], m["width"])
        self.lstm = nn.LSTM(m["width"], m["hidden"], m["layers"], batch_first=True, dropout=m["dropout"], bidirectional=True)
        self.drop = nn.Dropout(m["dropout"])

    def forward(self, source, lengths):
        x = self.drop(self.embed(source))
        if bool((lengths == source.shape[1]).all()):
            return self.lstm(x)
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        memory, last = self.lstm(packed)
        return nn.utils.rnn.pad_packed_sequence(memory, batch_first=True, total_length=source.shape[1])[0], last


class Decoder(nn.Module):
    """Attention by v · tanh(W_h memory + W_d h), W_h of all places before the loop."""

    def __init__(self, m):
        super().__init__()
        width, hidden, self.layers = m["width"], m["hidden"], m["layers"]
        self.embed = nn.Embedding(m["vocab"], width)
        self.lstm = nn.LSTM(width + 2 * hidden, hidden, self.layers)        # holds the parameters of the cells
        self.attention = nn.ModuleDict({"W_h": nn.Linear(2 * hidden, hidden, bias=False), "W_d": nn.Linear(hidden, hidden, bias=False)})
        self.attention.v = nn.Parameter(torch.empty(hidden))
        self.drop = nn.Dropout(m["dropout"])

    def cells(self, x, h, c):
        for k in range(self.layers):
            p = [getattr(self.lstm, f"{n}_l{k}") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            h[k], c[k] = torch.lstm_cell(x if k == 0 else self.drop(x), (h[k], c[k]), *p)
            x = h[k]
        return x

    def forward(self, tokens, memory, outside, last):
        x, keys = self.drop(self.embed(tokens)), self.attention["W_h"](memory)
        h, c = ([s[2 * k] for k in range(self.layers)] for s in last)       # of the forward direction
        context = memory.new_zeros(memory.shape[0], memory.shape[2])
        tops, contexts, attentions = [], [], []
        for t in range(tokens.shape[1]):
            top = self.cells(torch.cat((x[:, t], context), -1), h, c)
            scores = torch.tanh(keys + self.attention["W_d"](top).unsqueeze(1)) @ self.attention.v
            a = scores.masked_fill(outside, -1e4).softmax(-1)
            context = torch.bmm(a.unsqueeze(1), memory).squeeze(1)
            tops.append(top), contexts.append(context), attentions.append(a)
        features = torch.cat((torch.stack(tops, 1), torch.stack(contexts, 1), x), -1)
        return features, torch.stack(attentions, 1)


class PointerGenerator(nn.Module):
    def __init__(self, m):
        super().__init__()
        features = 3 * m["hidden"] + m["width"]
        self.encoder, self.decoder = Encoder(m), Decoder(m)
        self.out, self.p_gen = nn.Linear(features, m["vocab"]), nn.Linear(features, 1)

    def forward(self, source, source_lengths, tokens, targets):
        memory, last = self.encoder(source, source_lengths)
        outside = torch.arange(source.shape[1]) >= source_lengths.unsqueeze(-1)
        features, attention = self.decoder(tokens, memory, outside, last)
        counts = targets >= 0
        wanted = targets.clamp(min=0)
        losses = F.cross_entropy(self.out(features).flatten(0, 1), wanted.flatten(), reduction="none").view_as(targets)
        p = torch.sigmoid(self.p_gen(features)).squeeze(-1)
        copied = (attention * (source.unsqueeze(1) == wanted.unsqueeze(-1))).sum(-1)
        losses = -(p * (-losses).exp() + (1 - p) * copied).clamp(min=1e-8).log()
        return (losses * counts).sum() / counts.sum()
