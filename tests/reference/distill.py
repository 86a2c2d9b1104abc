"""distill.py: records the first 20 losses of a student that imitates a teacher, in PyTorch: of all weights, and of adapters (PEFT).

    python tests/reference/distill.py tests/reference/preference tests/reference/distill

The student is the small random Llama of preference.py, the teacher a larger one, written here.  Writes it, batch.safetensors (the
batch of every step, some of whose targets are -1 and do not count; parts.safetensors: as micro-batches), an adapter, and losses.txt.  Needs torch, transformers, peft.
"""
import pathlib
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy, kl_div, log_softmax
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

base, out = sys.argv[1], pathlib.Path(sys.argv[2])
ROWS, SEQ, STEPS, VOCAB = 6, 24, 20, 99
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def student():
    return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)


def losses(model, teacher, batch, lr, alpha, temperature):
    """(1 - alpha) CE + alpha T² KL(teacher || student), as Hinton, Vinyals and Dean have it, over the targets that count"""
    trained = [p for p in model.parameters() if p.requires_grad]
    update = torch.optim.AdamW(trained, lr, (0.9, 0.95), 1e-8, weight_decay=0.0)
    tokens, targets = batch["tokens"].long(), batch["targets"].long()
    counts = targets >= 0
    with torch.no_grad():
        theirs = teacher(tokens).logits[counts]
    for _ in range(STEPS):
        own = model(tokens).logits[counts]
        hard = cross_entropy(own, targets[counts])
        soft = kl_div(log_softmax(own / temperature, -1), log_softmax(theirs / temperature, -1), log_target=True, reduction="batchmean")
        loss = (1 - alpha) * hard + alpha * temperature**2 * soft
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        update.step()
        update.zero_grad()
        yield loss.item()


out.mkdir(exist_ok=True)
torch.manual_seed(11)
LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=6,
                             num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=True,
                             initializer_range=0.2, bos_token_id=None, eos_token_id=98, pad_token_id=None)).save_pretrained(out)
(out / "generation_config.json").unlink(missing_ok=True)
teacher = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32).eval()
tokens = torch.randint(VOCAB, (ROWS, SEQ + 1))
targets = tokens[:, 1:].clone()
targets[torch.rand(targets.shape) < 0.3] = -1
batch = {"tokens": tokens[:, :-1].int().contiguous(), "targets": targets.int().contiguous()}
save_file(batch, out / "batch.safetensors")
save_file({k: v.reshape(3, 2, SEQ).contiguous() for k, v in batch.items()}, out / "parts.safetensors")
low = get_peft_model(student(), LoraConfig(r=4, lora_alpha=8, target_modules=TARGETS, task_type="CAUSAL_LM"))
low.save_pretrained(out / "adapter")
(out / "adapter" / "README.md").unlink(missing_ok=True)
with open(out / "losses.txt", "w") as f:
    for name, alpha, temperature in (("half", 0.5, 2.0), ("soft", 1.0, 1.0)):
        print(name, *(f"{x:.9g}" for x in losses(student(), teacher, batch, 3e-3, alpha, temperature)), file=f)
    low = PeftModel.from_pretrained(student(), out / "adapter", is_trainable=True).train()
    print("low", *(f"{x:.9g}" for x in losses(low, teacher, batch, 1e-2, 0.3, 4.0)), file=f)
