"""torch_gpt.py: gpt and llama in PyTorch, as a competent user writes them; torch_step.py runs them.

tokens, targets [B, T]; m has the sizes and options of bench.py's row.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GPTAttention(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.heads, self.p = m["heads"], m.get("dropout", 0.0)
        self.c_attn = nn.Linear(m["width"], 3 * m["width"], bias=m["attention_bias"])
        self.c_proj = nn.Linear(m["width"], m["width"], bias=m["attention_bias"])

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, C // self.heads).transpose(1, 2) for y in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p if self.training else 0.0)
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
        self.drop = nn.Dropout(m.get("dropout", 0.0))

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.mlp(self.ln_2(x)))


class GPT(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.wte = nn.Embedding(m["vocab"], m["width"])
        self.wpe = nn.Embedding(m["context"], m["width"])
        self.h = nn.ModuleList(GPTBlock(m) for _ in range(m["layers"]))
        self.ln_f = nn.LayerNorm(m["width"], bias=m["bias"])
        self.drop = nn.Dropout(m.get("dropout", 0.0))
        self.lm_head = nn.Linear(m["width"], m["vocab"], bias=False)
        if m["tied"]:
            self.lm_head.weight = self.wte.weight

    def forward(self, tokens, targets):
        x = self.drop(self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1])))
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
