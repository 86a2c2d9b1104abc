"""models.py: language models, recurrent networks and tests/models/library.lua in torch, for record.py: written from the papers, sharing
nothing with the compiler."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out], as in GPT-2's files."""

    def __init__(self, width, out, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, out))
        self.bias = nn.Parameter(torch.empty(out)) if bias else None

    def forward(self, x):
        y = torch.matmul(x, self.weight)
        return y if self.bias is None else y + self.bias


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, width = c, c["width"]
        linear = Conv1D if c["layout"] == "in_out" else nn.Linear
        self.wte, self.wpe = nn.Embedding(c["vocab"], width), nn.Embedding(c["seq"], width)
        self.h = nn.ModuleList()
        for _ in range(c["layers"]):
            self.h.append(nn.ModuleDict({
                "ln_1": nn.LayerNorm(width, bias=c["bias"]),
                "attn": nn.ModuleDict({"c_attn": linear(width, 3 * width, c["attention_bias"]),
                                       "c_proj": linear(width, width, c["attention_bias"])}),
                "ln_2": nn.LayerNorm(width, bias=c["bias"]),
                "mlp": nn.ModuleDict({"c_fc": linear(width, 4 * width, c["bias"]), "c_proj": linear(4 * width, width, c["bias"])}),
            }))
        self.ln_f = nn.LayerNorm(width, bias=c["bias"])
        if not c["tied"]:
            self.lm_head = nn.Linear(width, c["vocab"], bias=False)

    def attention(self, block, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.c["heads"], -1).transpose(1, 2) for y in block["c_attn"](x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return block["c_proj"](y.transpose(1, 2).reshape(B, T, C))

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = x + self.attention(block["attn"], block["ln_1"](x))
            hidden = F.gelu(block["mlp"]["c_fc"](block["ln_2"](x)), approximate="tanh" if self.c["gelu"] == "tanh" else "none")
            x = x + block["mlp"]["c_proj"](hidden)
        x = self.ln_f(x)
        return F.linear(x, self.wte.weight) if self.c["tied"] else self.lm_head(x)


class CharRNN(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed = nn.Embedding(c["vocab"], c["width"])
        self.lstm = nn.LSTM(c["width"], c["hidden"], c.get("layers", 1), batch_first=True)
        self.head = nn.Linear(c["hidden"], c["vocab"])

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0])


class Recurrent(nn.Module):
    """tests/models/recurrent.lua: packed rows, learned first states, the last states in every logit."""

    def __init__(self, c):
        super().__init__()
        self.c, self.kind = c, c["kind"]
        kinds = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
        more = {"nonlinearity": c["activation"]} if "activation" in c else {}
        self.embed = nn.Embedding(c["vocab"], c["width"])
        self.net = kinds[self.kind](c["width"], c["hidden"], c["layers"], bidirectional=c["both"], batch_first=True,
                                    bias=c.get("bias") != "none", **more)
        self.states = ("h", "c") if self.kind == "lstm" else ("h",)
        walks = c["layers"] * (2 if c["both"] else 1)
        for name in self.states:
            setattr(self, "start_" + name, nn.Parameter(torch.empty(walks, 1, c["hidden"])))
        self.head = nn.Linear(c["hidden"] * (2 if c["both"] else 1), c["vocab"])
        self.sum = nn.Linear(c["hidden"] * walks * len(self.states), c["vocab"])

    def forward(self, ids):
        B, T = ids.shape
        lengths = torch.arange(B) * 2 + T - 2 * B + 2 if self.c["ragged"] else torch.full((B,), T)
        x = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        start = tuple(getattr(self, "start_" + name).expand(-1, B, -1).contiguous() for name in self.states)
        ys, last = self.net(x, start if self.kind == "lstm" else start[0])
        ys = nn.utils.rnn.pad_packed_sequence(ys, batch_first=True, total_length=T)[0]
        states = torch.cat(last if self.kind == "lstm" else (last,)).transpose(0, 1).reshape(B, -1)
        return self.head(ys) + self.sum(states).unsqueeze(1)


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, width = c, c["width"]
        keys = width // c["heads"] * c["kv_heads"]

        def linear(width, out):
            return nn.Linear(width, out, bias=False)

        def norm():
            return nn.RMSNorm(width, eps=c["eps"])

        def block():
            return nn.ModuleDict({
                "input_layernorm": norm(), "post_attention_layernorm": norm(),
                "self_attn": nn.ModuleDict({"q_proj": linear(width, width), "k_proj": linear(width, keys),
                                            "v_proj": linear(width, keys), "o_proj": linear(width, width)}),
                "mlp": nn.ModuleDict({"gate_proj": linear(width, c["hidden"]), "up_proj": linear(width, c["hidden"]),
                                      "down_proj": linear(c["hidden"], width)}),
            })

        self.model = nn.ModuleDict({"embed_tokens": nn.Embedding(c["vocab"], width), "norm": norm(),
                                    "layers": nn.ModuleList(block() for _ in range(c["layers"]))})
        if not c["tied"]:
            self.lm_head = linear(width, c["vocab"])

    def rotate(self, x):
        """[B, H, T, D]: the halves of D are real and imaginary parts, turned by position · theta^(-i / (D/2))."""
        T, half = x.shape[2], x.shape[3] // 2
        rate = self.c["rope_theta"] ** (-torch.arange(half, dtype=x.dtype) / half)
        angle = torch.outer(torch.arange(T, dtype=x.dtype), rate)
        y = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([y.real, y.imag], dim=-1)

    def attention(self, block, x):
        B, T, C = x.shape
        q, k, v = (block[n + "_proj"](x).view(B, T, -1, C // self.c["heads"]).transpose(1, 2) for n in "qkv")
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True, enable_gqa=True)
        return block["o_proj"](y.transpose(1, 2).reshape(B, T, C))

    def forward(self, ids):
        x = self.model["embed_tokens"](ids)
        for block in self.model["layers"]:
            x = x + self.attention(block["self_attn"], block["input_layernorm"](x))
            mlp, y = block["mlp"], block["post_attention_layernorm"](x)
            x = x + mlp["down_proj"](F.silu(mlp["gate_proj"](y)) * mlp["up_proj"](y))
        x = self.model["norm"](x)
        return F.linear(x, self.model["embed_tokens"].weight) if self.c["tied"] else self.lm_head(x)


class Additive(nn.Module):
    """Bahdanau, Cho and Bengio 2015, one query at a time; coverage as in See, Liu and Manning 2017."""

    def __init__(self, query, memory, width, bias=False, coverage=False):
        super().__init__()
        self.W_d, self.W_h = nn.Linear(query, width, bias=bias), nn.Linear(memory, width, bias=False)
        self.v = nn.Parameter(torch.empty(width))
        if coverage:
            self.W_c = nn.Parameter(torch.empty(width))

    def forward(self, query, memory, lengths=None, seen=None):
        sums = self.W_h(memory) + self.W_d(query)[:, None]
        if seen is not None:
            sums = sums + seen[:, :, None] * self.W_c
        scores = torch.tanh(sums) @ self.v
        if lengths is not None:
            scores = scores.masked_fill(torch.arange(memory.shape[1])[None] >= lengths[:, None], -torch.inf)
        p = scores.softmax(1)
        return torch.einsum("bs,bsm->bm", p, memory), p


class Library(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, C = c, c["width"]
        self.embed, self.head = nn.Embedding(c["vocab"], C), nn.Linear(C, c["vocab"])
        self.spread, self.single = nn.Conv1d(C, C, 3, dilation=2, groups=2), nn.Conv1d(C, C, 4, groups=C)
        self.point = nn.Conv1d(C, C, 1)
        self.strided, self.pairs = nn.Conv1d(C, 5, 3, stride=2, padding=2, bias=False), nn.Conv1d(C, 2 * C, 2, groups=C)
        self.look, self.walk = Additive(C, 5, 7, bias=True), Additive(C + 5, 5, 4, coverage=True)

    def positions(self, T):
        """Vaswani et al. 2017, section 3.5, with 100 for 10000."""
        C = self.c["width"]
        return torch.tensor([[(math.cos if i % 2 else math.sin)(t / 100 ** ((i - i % 2) / C)) for i in range(C)] for t in range(T)])

    def loss(self, batch, step):
        tokens, targets, B = batch["tokens"], batch["targets"], self.c["batch"]
        x = (self.embed(tokens) + self.positions(tokens.shape[1])).transpose(1, 2)                  # [B, C, T]
        x = x + torch.tanh(self.spread(F.pad(x, (4, 0))))
        x = x + torch.tanh(self.single(F.pad(x, (3, 0))))
        x = self.point(x)
        memory, pairs, x = self.strided(x).transpose(1, 2), self.pairs(x), x.transpose(1, 2)
        logits, T, S = self.head(x), tokens.shape[1], memory.shape[1]
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=self.c["smoothing"], ignore_index=3)
        fed, seen, overlap, waves, spread = torch.zeros(B, 5), torch.zeros(B, S), [], [], []
        lengths = torch.tensor([min(2 * b + 1, S) for b in range(B)])
        for t in range(T):
            fed, p = self.walk(torch.cat([x[:, t], fed], 1), memory, seen=seen)
            overlap.append(torch.minimum(p, seen).sum(1))
            seen = seen + p
            context, p = self.look(x[:, t], memory, lengths)
            s = context.sum(1)
            waves.append(s.cos() + (s / 100).cos() + s.sin() + (s / 100).sin())
            spread.append(-(p * (p + 1e-9).log()).sum(1))
        spread, waves = torch.stack(spread, 1)[targets != 3].mean(), torch.stack(waves, 1)
        rows = sum(w[k].mean() for w, k in zip(waves, tokens < 9) if k.any())
        top = logits.sort(descending=True).values[:, :, :3].mean()
        sums = torch.stack([pairs[:, :, :t + 1].sum(2) for t in range(T - 1)])
        return loss + 0.3 * torch.stack(overlap).mean() + 0.2 * spread + 0.1 * rows + 0.05 * top + 0.1 * (sums ** 2).mean(), logits
