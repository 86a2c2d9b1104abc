"""torch_gpt.py: the models of the bench in PyTorch, eager, as a competent user writes them; a process that times steps on request.

    torch_gpt.py MODEL.json --weights W --inputs I --gradients G --threads N [--compile]

MODEL.json has the sizes and options of bench.py's row and the optimizer's numbers.  W are the parameters to start from, I
tokens and targets, G what the other side computed from both: its loss and gradients, which must agree before anything is
timed.  All three are safetensors.  Then, for each line "N" on standard input, N training steps are run, and a line
{"ms": […]} says how long each took.
"""

import argparse
import json
import struct
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class GPTAttention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.heads = m["heads"]
        self.c_attn = nn.Linear(m["width"], 3 * m["width"], bias=m["attention_bias"])
        self.c_proj = nn.Linear(m["width"], m["width"], bias=m["attention_bias"])

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class GPTFeedForward(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.c_fc = nn.Linear(m["width"], m["hidden"], bias=m["bias"])
        self.c_proj = nn.Linear(m["hidden"], m["width"], bias=m["bias"])
        self.approximate = "tanh" if m["gelu"] == "tanh" else "none"

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate=self.approximate))


class GPTBlock(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.ln_1 = nn.LayerNorm(m["width"], bias=m["bias"])
        self.attn = GPTAttention(m)
        self.ln_2 = nn.LayerNorm(m["width"], bias=m["bias"])
        self.mlp = GPTFeedForward(m)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.wte = nn.Embedding(m["vocab"], m["width"])
        self.wpe = nn.Embedding(m["context"], m["width"])
        self.h = nn.ModuleList(GPTBlock(m) for _ in range(m["layers"]))
        self.ln_f = nn.LayerNorm(m["width"], bias=m["bias"])
        self.lm_head = nn.Linear(m["width"], m["vocab"], bias=False)
        if m["tied"]:
            self.lm_head.weight = self.wte.weight

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class LlamaAttention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.heads, self.kv_heads, self.size = m["heads"], m["kv_heads"], m["width"] // m["heads"]
        self.q_proj = nn.Linear(m["width"], m["width"], bias=False)
        self.k_proj = nn.Linear(m["width"], self.kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(m["width"], self.kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(m["width"], m["width"], bias=False)

    def forward(self, x, cos, sin):
        B, T, C = x.shape

        def turned(y):
            a, b = y.chunk(2, dim=-1)
            return y * cos + torch.cat((-b, a), dim=-1) * sin

        q = turned(self.q_proj(x).view(B, T, self.heads, self.size).transpose(1, 2))
        k = turned(self.k_proj(x).view(B, T, self.kv_heads, self.size).transpose(1, 2))
        v = self.v_proj(x).view(B, T, self.kv_heads, self.size).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv_heads != self.heads)
        return self.o_proj(y.transpose(1, 2).reshape(B, T, C))


class LlamaFeedForward(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.gate_proj = nn.Linear(m["width"], m["hidden"], bias=False)
        self.up_proj = nn.Linear(m["width"], m["hidden"], bias=False)
        self.down_proj = nn.Linear(m["hidden"], m["width"], bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.input_layernorm = nn.RMSNorm(m["width"], eps=1e-5)
        self.self_attn = LlamaAttention(m)
        self.post_attention_layernorm = nn.RMSNorm(m["width"], eps=1e-5)
        self.mlp = LlamaFeedForward(m)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class LlamaModel(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.embed_tokens = nn.Embedding(m["vocab"], m["width"])
        self.layers = nn.ModuleList(LlamaBlock(m) for _ in range(m["layers"]))
        self.norm = nn.RMSNorm(m["width"], eps=1e-5)


class Llama(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.model = LlamaModel(m)
        self.lm_head = nn.Linear(m["width"], m["vocab"], bias=False)
        if m["tied"]:
            self.lm_head.weight = self.model.embed_tokens.weight
        size = m["width"] // m["heads"]
        angle = torch.outer(torch.arange(m["seq"]), 10000.0 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
        self.cos, self.sin = angle.cos(), angle.sin()

    def forward(self, tokens, targets):
        x = self.model.embed_tokens(tokens)
        for block in self.model.layers:
            x = block(x, self.cos, self.sin)
        logits = self.lm_head(self.model.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


# ------------------------------------------------------------------ the same start

TYPES = {"F32": torch.float32, "F64": torch.float64, "I32": torch.int32, "I64": torch.int64}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body = memoryview(data)[8 + length :]
    return {
        name: torch.frombuffer(body[slice(*x["data_offsets"])], dtype=TYPES[x["dtype"]]).view(x["shape"])
        for name, x in header.items()
    }


def is_turned(name, m):
    """GPT-2's files have their matrices as [inputs][outputs]."""
    return m["in_out"] and name.startswith("h.") and name.endswith(".weight") and ".ln_" not in name


def load(model, weights, m):
    own = dict(model.named_parameters())
    if set(own) != set(weights):
        sys.exit(f"torch_gpt.py: other parameters: {sorted(set(own) ^ set(weights))[:6]}")
    with torch.no_grad():
        for name, p in own.items():
            p.copy_(weights[name].T if is_turned(name, m) else weights[name])


def check(model, tokens, targets, other, m):
    """The loss within 1e-4, each gradient within 1e-3 of its norm."""
    loss = model(tokens, targets)
    loss.backward()
    theirs = other["loss"].item()
    if not abs(loss.item() - theirs) <= 1e-4 * abs(theirs):
        sys.exit(f"torch_gpt.py: the first losses differ: {loss.item():.6f} here, {theirs:.6f} there")
    for name, p in model.named_parameters():
        g = other["grad." + name]
        g = g.T if is_turned(name, m) else g
        away = ((p.grad - g).norm() / g.norm().clamp(min=1e-12)).item()
        if not away <= 1e-3:
            sys.exit(f"torch_gpt.py: the first gradients of {name} differ by {away:.2e} of their norm")
    model.zero_grad(set_to_none=True)
    return loss.item()


def optimizer(model, m):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": m["decay"]}, {"params": others, "weight_decay": 0.0}]
    options = {"lr": m["lr"], "betas": (m["beta1"], m["beta2"]), "eps": m["eps"]}
    try:
        return torch.optim.AdamW(groups, fused=True, **options)
    except (RuntimeError, TypeError):  # before 2.4 only on a GPU
        return torch.optim.AdamW(groups, foreach=True, **options)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("model")
    for name in ("--weights", "--inputs", "--gradients"):
        words.add_argument(name, required=True)
    words.add_argument("--threads", type=int, required=True)
    words.add_argument("--compile", action="store_true")
    a = words.parse_args()
    torch.set_num_threads(a.threads)
    m = json.load(open(a.model))
    model = Llama(m) if m["model"] == "llama" else GPT(m)
    load(model, read_safetensors(a.weights), m)
    inputs = read_safetensors(a.inputs)
    tokens, targets = inputs["tokens"].long(), inputs["targets"].long()
    loss = check(model, tokens, targets, read_safetensors(a.gradients), m)
    update = optimizer(model, m)
    run = torch.compile(model) if a.compile else model

    def step():
        loss = run(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), m["clip"])
        update.step()
        update.zero_grad(set_to_none=True)
        return loss.item()

    for _ in range(3):
        step()
    print(json.dumps({"loss": loss, "torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        ms = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            step()
            ms.append(1e3 * (time.perf_counter() - begin))
        print(json.dumps({"ms": ms}), flush=True)


if __name__ == "__main__":
    main()
