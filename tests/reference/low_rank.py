"""low_rank.py: records PEFT's first 20 losses with adapters of low rank: rsLoRA, and decomposed (DoRA) with rsLoRA's scale.

    python tests/reference/low_rank.py tests/reference/preference tests/reference/low_rank

The base is the small random Llama of preference.py.  Writes text.txt, for each kind the folder of an adapter whose B is not 0, and
losses.txt.  Row k of a batch reads the k-th stretch of the text, as `--order contiguous` does.  Needs torch, transformers, peft.
"""
import pathlib
import random
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

base, out = sys.argv[1], pathlib.Path(sys.argv[2])
ROWS, SEQ, STEPS = 4, 32, 20
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def batches(ids):
    stretch = (len(ids) - 1) // (ROWS * SEQ)
    for step in range(STEPS):
        at = [(k * stretch + step) * SEQ for k in range(ROWS)]
        yield torch.stack([ids[i : i + SEQ] for i in at]), torch.stack([ids[i + 1 : i + SEQ + 1] for i in at])


def adapter(kind):
    """A folder of PEFT's, with random B, and magnitudes that are not the norms"""
    config = LoraConfig(r=4, lora_alpha=6, use_rslora=True, use_dora=kind == "dora", target_modules=TARGETS, task_type="CAUSAL_LM")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), config)
    draw = torch.Generator().manual_seed(3)
    for name, p in model.named_parameters():
        if "lora_B" in name:
            p.data = 0.1 * torch.randn(p.shape, generator=draw)
        elif "lora_A" in name:
            p.data = 0.2 * torch.randn(p.shape, generator=draw)
        elif "magnitude" in name:
            p.data = p.data * (1 + 0.2 * torch.randn(p.shape, generator=draw))
    model.save_pretrained(out / kind)
    (out / kind / "README.md").unlink(missing_ok=True)


def losses(kind, ids):
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), out / kind, is_trainable=True).train()
    trained = [p for p in model.parameters() if p.requires_grad]
    update = torch.optim.AdamW(trained, 3e-3, (0.9, 0.95), 1e-8, weight_decay=0.0)
    for x, y in batches(ids):
        loss = torch.nn.functional.cross_entropy(model(x).logits.flatten(0, 1), y.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        update.step()
        update.zero_grad()
        yield loss.item()


out.mkdir(exist_ok=True)
words = random.Random(7).choices("the cat sat on a mat dog ran far home sun moon red blue".split(), k=900)
text = " ".join(words)[: ROWS * SEQ * STEPS + 200]
(out / "text.txt").write_text(text)
ids = torch.tensor(AutoTokenizer.from_pretrained(base)(text, add_special_tokens=False)["input_ids"])
with open(out / "losses.txt", "w") as f:
    for kind in ("rslora", "dora"):
        adapter(kind)
        print(kind, *(f"{x:.7f}" for x in losses(kind, ids)), file=f)
