"""llmc.py: GPT-2 weights as llm.c's .bin, written and read here as llm.c's train_gpt2.py and train_gpt2.c do it.

    llmc.py record                  writes tests/reference/llmc/fp32.bin and bf16.bin of tests/reference/hf_gpt2
    llmc.py LATHE                   random small models of transformers': from our file the logits of a trainer and of transformers
                                    (1e-4 of the largest), and the file that export writes, byte by byte; both versions
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
OF_LAYERS = ["ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight", "ln_2.bias",
             "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"]  # fmt: skip


def write(path, model, bf16):
    c, w = model.config, model.state_dict()
    rows = (c.vocab_size + 127) // 128 * 128
    head = np.zeros(256, np.int32)
    head[:8] = 20240326, 5 if bf16 else 3, c.n_positions, c.vocab_size, c.n_layer, c.n_head, c.n_embd, rows
    padded = torch.zeros(rows, c.n_embd)
    padded[: c.vocab_size] = w["transformer.wte.weight"]
    tensors = [padded, w["transformer.wpe.weight"]]
    for name in OF_LAYERS:
        for layer in range(c.n_layer):
            x = w[f"transformer.h.{layer}.{name}"]
            tensors.append(x.T if x.dim() == 2 else x)  # Conv1D is [in, out]
    tensors += [w["transformer.ln_f.weight"], w["transformer.ln_f.bias"]]
    with open(path, "wb") as f:
        f.write(head.tobytes())
        for x in tensors:
            x = x.detach().contiguous()
            f.write(x.to(torch.bfloat16).view(torch.int16).numpy().tobytes() if bf16 else x.float().numpy().tobytes())


def rounded(model):
    for p in model.parameters():
        p.data = p.data.to(torch.bfloat16).float()


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr[-500:]}"
    return done.stdout


def check(lathe, seed, bf16):
    torch.manual_seed(seed)
    heads, layers, vocab, seq = 1 + seed % 4, 1 + seed % 3, 50 + 40 * seed, 6 + seed
    config = transformers.GPT2Config(n_embd=8 * heads, n_head=heads, n_layer=layers, vocab_size=vocab, n_positions=seq)
    model = transformers.GPT2LMHeadModel(config).eval()
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    if bf16:
        rounded(model)
    with tempfile.TemporaryDirectory() as d:
        write(f"{d}/a.bin", model, bf16)
        trainer = run(lathe, "build", "models/gpt.lua", *(f"--set={k}={v}" for k, v in dict(layers=layers, heads=heads, width=8 * heads, vocab=vocab, seq=seq, batch=2, gelu="tanh").items()), "-o", f"{d}/built").strip()  # fmt: skip
        run(trainer, "init", "--init", f"{d}/a.bin", "--out", f"{d}/w.safetensors")
        ids = torch.randint(0, vocab, (2, seq))
        save_file({"tokens": ids.numpy(), "targets": ids.numpy()}, f"{d}/i.safetensors")
        run(trainer, "grad", "--weights", f"{d}/w.safetensors", "--inputs", f"{d}/i.safetensors", "--only", "logits", "--out", f"{d}/o.safetensors")
        with torch.no_grad():
            theirs = model(ids).logits.numpy()
        ours = load_file(f"{d}/o.safetensors")["output.logits"]
        apart = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        run(trainer, "export", "--to", "llmc", "--type", "bf16" if bf16 else "f32", "--weights", f"{d}/w.safetensors", "--ids", str(vocab), "--out", f"{d}/b.bin")
        with open(f"{d}/a.bin", "rb") as a, open(f"{d}/b.bin", "rb") as b:
            same = a.read() == b.read()
    print(f"seed {seed}, {'bf16' if bf16 else 'fp32'}: logits {apart:.1e}, file {'equal' if same else 'DIFFERS'}", flush=True)
    return apart <= 1e-4 and same


def main():
    if sys.argv[1:] == ["record"]:
        model = transformers.GPT2LMHeadModel.from_pretrained(f"{HERE}/hf_gpt2").float()
        os.makedirs(f"{HERE}/llmc", exist_ok=True)
        write(f"{HERE}/llmc/fp32.bin", model, False)
        write(f"{HERE}/llmc/bf16.bin", model, True)
        return
    lathe = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(HERE, "..", ".."))
    sys.exit(not all([check(lathe, seed, bf16) for seed in range(1, 7) for bf16 in (False, True)]))


main()
