"""huggingface.py: Hugging Face's own models against Lathe's export and import.

    python3 tests/reference/huggingface.py record
        writes tests/reference/hf_gpt2 and hf_llama: folders as transformers' save_pretrained() leaves them, of small random
        models, and in each expected.safetensors: tokens and targets I32 [B][T], logits F64 [B][T][V], loss F64 [1]
    python3 tests/reference/huggingface.py check MODEL.lua FOLDER [lathe build options…]
        builds MODEL.lua with build/lathe, trains it for 60 steps, exports it into FOLDER, loads that with transformers and
        compares logits; gives the folder back to the trainer and compares bytes; compares the tokenizers' ids

Needs torch and transformers; the tests do not, they read the folders.  Recorded in float64 on one thread."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
KINDS = {np.dtype(np.float64): "F64", np.dtype(np.float32): "F32", np.dtype(np.int32): "I32"}


def write(path, tensors):
    """A safetensors file of numpy arrays."""
    header, data = {}, b""
    for name, x in tensors.items():
        begin, data = len(data), data + np.ascontiguousarray(x).tobytes()
        header[name] = {"dtype": KINDS[x.dtype], "shape": list(x.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = int.from_bytes(raw[:8], "little")
    kinds, out = {v: k for k, v in KINDS.items()}, {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            out[name] = np.frombuffer(raw[8 + n + begin:8 + n + end], kinds[t["dtype"]]).reshape(t["shape"])
    return out


# ---------------------------------------------------------------- record

def draw(model, seed):
    """Large enough for every part to matter; exact in 16 bits."""
    r = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            x = torch.randn(p.shape, generator=r) / (p.shape[-1] ** 0.5 if p.dim() > 1 else 10)
            p.copy_((x + 1 if "ln_" in name and "weight" in name or "norm" in name else x).bfloat16())


def record_one(name, model, T, seed, **how):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    draw(model, seed)
    V = model.config.vocab_size
    text = torch.randint(0, V, (2, T + 1), generator=torch.Generator().manual_seed(seed + 1))
    tokens, targets = text[:, :-1], text[:, 1:]
    kind = how.pop("dtype", torch.float32)
    with torch.no_grad():
        logits = model.double()(tokens).logits      # Llama's norms and angles stay in float32 all the same
    model.to(kind).save_pretrained(folder, **how)
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, V), targets.reshape(-1))
    write(os.path.join(folder, "expected.safetensors"), {
        "tokens": tokens.numpy().astype(np.int32), "targets": targets.numpy().astype(np.int32), "logits": logits.numpy(),
        "loss": np.array([loss.item()])})
    os.remove(os.path.join(folder, "generation_config.json"))
    print(name, sorted(os.listdir(folder)))


def record():
    torch.set_num_threads(1)
    none = {"bos_token_id": None, "eos_token_id": None}
    gpt = GPT2Config(vocab_size=61, n_positions=12, n_embd=16, n_layer=2, n_head=2, **none)
    record_one("hf_gpt2", GPT2LMHeadModel(gpt).eval(), 12, 500)
    llama = LlamaConfig(vocab_size=61, hidden_size=24, intermediate_size=34, num_hidden_layers=2, num_attention_heads=4,
                        num_key_value_heads=2, max_position_embeddings=12, rms_norm_eps=1e-5, rope_theta=500.0, **none)
    record_one("hf_llama", LlamaForCausalLM(llama).eval(), 12, 600, dtype=torch.bfloat16, max_shard_size="8KB")


# ---------------------------------------------------------------- check

def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def same(a, b):
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


def check(description, folder, options):
    lathe = os.environ.get("LATHE", os.path.join(TOP, "build", "lathe"))
    work = folder + ".work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(work)
    trainer = run(lathe, "build", description, "-o", f"{work}/build", *options).strip()
    text = os.path.join(TOP, "models", "gpt.lua")
    run(trainer, "train", "--data", text, "--out", f"{work}/run", "--steps", "60", "--eval-every", "60")
    weights = f"{work}/run/model.safetensors"
    run(trainer, "export", "--to", "hf", "--weights", weights, "--out", folder)

    info = json.loads(run(trainer, "info", "--json"))
    ids = json.loads(open(f"{folder}/config.json").read())["vocab_size"]
    B, T = info["entries"]["grad"]["inputs"]["tokens"]["shape"]
    tokens = np.random.default_rng(1).integers(0, ids, (B, T)).astype(np.int32)
    write(f"{work}/in.safetensors", {"tokens": tokens, "targets": tokens})
    run(trainer, "grad", "--weights", weights, "--inputs", f"{work}/in.safetensors", "--out", f"{work}/out.safetensors")
    ours = read(f"{work}/out.safetensors")["output.logits"][..., :ids]

    model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    with torch.no_grad():
        theirs = model.eval()(torch.from_numpy(tokens.astype(np.int64))).logits.numpy()
    apart, size = np.abs(ours - theirs).max(), np.abs(theirs).max()
    lost = {k: list(v) for k, v in report.items() if v}

    run(trainer, "init", "--init", folder, "--out", f"{work}/back.safetensors")
    run(trainer, "export", "--to", "hf", "--weights", folder, "--out", f"{work}/again")
    again = [n for n in sorted(os.listdir(folder)) if not same(f"{folder}/{n}", f"{work}/again/{n}")]
    back = "unchanged" if same(f"{work}/back.safetensors", weights) else "with new padding" if ids < info["vocab"] else "CHANGED"
    model.save_pretrained(f"{work}/theirs")
    run(trainer, "init", "--init", f"{work}/theirs", "--out", f"{work}/by_way_of.safetensors")
    with open(text) as f:
        said = f.read()
    encoded = AutoTokenizer.from_pretrained(folder)
    saved = json.loads(open(f"{work}/run/tokenizer.json").read())
    wanted = list(said.encode()) if saved["type"] == "bytes" else [saved["characters"].index(c) for c in said]
    token_ids = encoded(said)["input_ids"]
    print(f"{description} {' '.join(options)}: {ids} of {info['vocab']} ids; logits apart {apart:.3g} of {size:.3g}; "
          f"loading: {lost or 'every tensor'}; "
          f"weights come back {back}, "
          f"folder {'unchanged' if not again else f'CHANGED: {again}'}, "
          f"by save_pretrained {'unchanged' if same(f'{work}/by_way_of.safetensors', f'{work}/back.safetensors') else 'CHANGED'}; "
          f"token ids {'equal' if token_ids == wanted and encoded.decode(token_ids) == said else 'DIFFER'}")
    shutil.rmtree(work)
    if apart > 1e-4 or lost or again or back == "CHANGED" or token_ids != wanted:
        sys.exit(1)


if sys.argv[1:] == ["record"]:
    record()
elif sys.argv[1:2] == ["check"] and len(sys.argv) > 3:
    check(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    sys.exit(__doc__)
