"""expert_low_rank.py: records PEFT's first 20 losses with adapters of low rank in the experts of Mixtral and Qwen 3 MoE.

    python tests/reference/expert_low_rank.py tests/reference/preference tests/reference/low_rank/text.txt tests/reference/expert_low_rank
    python tests/reference/expert_low_rank.py --loss BASE ADAPTER tests/reference/preference TEXT   # PEFT's loss with a folder of Lathe's

The tokenizer is that of preference.py.  Writes for each kind a small random model, as transformers publishes them (a tensor for each
expert's matrix), the folder of an adapter with B not 0, in the form that PEFT gives such models with transformers 4 (A and B of each
expert's matrix), and losses.txt.  PEFT with transformers 5 makes of the halves of gate and up one adapter of twice the rank, whose B has
zeros beside the halves; their gradients are dropped here, so that both forms learn the same.  Row k of a batch reads the k-th stretch of
the text, as `--order contiguous` does.  Needs torch, transformers 5, peft 0.19 or later.
"""
import json
import pathlib
import sys

import torch
import transformers
from peft import PeftModel
from safetensors.torch import save_file

ROWS, SEQ, STEPS, RANK, ALPHA, EXPERTS = 4, 32, 20, 2, 3, 4
SIZES = dict(vocab_size=99, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=95, num_experts_per_tok=2, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, pad_token_id=None,
             rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
KINDS = {
    "mixtral": (transformers.MixtralConfig, dict(num_local_experts=EXPERTS, sliding_window=None), "block_sparse_moe.experts.%d.", ("w1", "w3", "w2")),
    "qwen3_moe": (transformers.Qwen3MoeConfig, dict(num_experts=EXPERTS, moe_intermediate_size=32, head_dim=8, norm_topk_prob=True),
                  "mlp.experts.%d.", ("gate_proj", "up_proj", "down_proj")),
}


def batches(ids):
    stretch = (len(ids) - 1) // (ROWS * SEQ)
    for step in range(STEPS):
        at = [(k * stretch + step) * SEQ for k in range(ROWS)]
        yield torch.stack([ids[i : i + SEQ] for i in at]), torch.stack([ids[i + 1 : i + SEQ + 1] for i in at])


def base(kind, out):
    make, more, _, _ = KINDS[kind]
    torch.manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(make(**SIZES, **more))
    draw = torch.Generator().manual_seed(6)
    for p in model.parameters():
        if p.dim() > 1:
            p.data = 0.15 * torch.randn(p.shape, generator=draw)
    model.to(torch.bfloat16).save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)


def adapter(kind, out):
    _, _, experts, names = KINDS[kind]
    draw, tensors, wide = torch.Generator().manual_seed(3), {}, {"q_proj": (32, 32), "k_proj": (32, 16), "v_proj": (32, 16), "o_proj": (32, 32)}
    layers = [f"self_attn.{n}" for n in wide] + [experts % e + n for e in range(EXPERTS) for n in names]
    for i in range(2):
        for layer in layers:
            width, rows = wide.get(layer.split(".")[-1], (32, 32))
            name = f"base_model.model.model.layers.{i}.{layer}"
            tensors[f"{name}.lora_A.weight"] = 0.2 * torch.randn(RANK, width, generator=draw)
            tensors[f"{name}.lora_B.weight"] = 0.1 * torch.randn(rows, RANK, generator=draw)
    out.mkdir(exist_ok=True)
    save_file(tensors, out / "adapter_model.safetensors", {"format": "pt"})
    config = dict(peft_type="LORA", task_type="CAUSAL_LM", r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, bias="none", target_modules=sorted({*wide, *names}))
    (out / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def adapted(base, folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, experts_implementation="eager")
    return PeftModel.from_pretrained(model, folder, is_trainable=True).train()


def loss_of(model, x, y):
    return torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())


def losses(model, ids):
    trained = [p for p in model.parameters() if p.requires_grad]
    own = [(p != 0).float() for p in trained]
    update = torch.optim.AdamW(trained, 3e-3, (0.9, 0.95), 1e-8, weight_decay=0.0)
    for x, y in batches(ids):
        loss = loss_of(model, x, y)
        loss.backward()
        for p, mask in zip(trained, own):
            p.grad *= mask
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        update.step()
        update.zero_grad()
        yield loss.item()


def read_ids(tokenizer, text):
    return torch.tensor(transformers.AutoTokenizer.from_pretrained(tokenizer)(pathlib.Path(text).read_text(), add_special_tokens=False)["input_ids"])


if sys.argv[1] == "--loss":
    ids, model = read_ids(*sys.argv[4:6]), adapted(*sys.argv[2:4]).eval()
    with torch.no_grad():
        print(sum(loss_of(model, x, y).item() for x, y in batches(ids)) / STEPS)
else:
    ids, out = read_ids(*sys.argv[1:3]), pathlib.Path(sys.argv[3])
    out.mkdir(exist_ok=True)
    with open(out / "losses.txt", "w") as f:
        for kind in KINDS:
            base(kind, out / kind)
            adapter(kind, out / f"{kind}_adapter")
            print(kind, *(f"{x:.7f}" for x in losses(adapted(out / kind, out / f"{kind}_adapter"), ids)), file=f)
