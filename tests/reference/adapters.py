"""adapters.py: adapters of low rank that PEFT makes over random small models, and what Lathe makes of their folders.

    adapters.py LATHE [--dora] [--seeds 1 2 3] [FAMILY ...]

The models are those of families.py.  Compared are logits and the gradients of A and B with `--adapter` (1e-4 of the largest), the logits of
the merged folder that `export --to hf` writes, in transformers, and the bytes of the folder that `export --to peft` writes.
"""

import argparse
import random
import sys
import tempfile

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model

from families import ROWS, SEQ, VOCAB, apart, configuration
from huggingface import draw, read, run, write

KEY = "base_model.model."


TARGETS = {"gpt2": ["c_attn", "c_proj", "c_fc"], "phi3": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
           "gpt_neox": ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]}  # fmt: skip


def adapted(model, r, family, dora):
    """PEFT's model over this one, with random A and B."""
    targets = TARGETS.get(family, ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    peft = get_peft_model(model, LoraConfig(r=r.choice([2, 3, 5]), lora_alpha=r.choice([4, 7]), use_rslora=r.random() < 0.5, use_dora=dora,
                                            target_modules=targets, fan_in_fan_out=family == "gpt2", task_type="CAUSAL_LM"))  # fmt: skip
    generator = torch.Generator().manual_seed(r.randrange(1000))
    for name, p in peft.named_parameters():
        if "magnitude" in name:
            p.data = p.data * (1 + 0.3 * torch.randn(p.shape, generator=generator))
        elif "lora_" in name:
            p.data = 0.3 * torch.randn(p.shape, generator=generator)
    return peft.eval()


def compare(lathe, family, seed, work, dora):
    r = random.Random(seed * 104729 + sum(map(ord, family)))
    model = transformers.AutoModelForCausalLM.from_config(configuration(family, r)).eval()
    draw(model, seed)
    model.save_pretrained(f"{work}/base")
    peft = adapted(model, r, family, dora)
    peft.save_pretrained(f"{work}/adapter")
    config = peft.peft_config["default"]
    lora = f"rank={config.r},alpha={config.lora_alpha}" + (",rslora" if config.use_rslora else "") + (",dora" if dora else "")
    run(lathe, "new", f"{work}/made", "--from", f"{work}/base")
    trainer = run(lathe, "build", f"{work}/made/model.lua", "--set", f"batch={ROWS}", "--set", f"seq={SEQ}", "--set", "pack=false",
                  "--lora", lora, "-o", f"{work}/built").strip()  # fmt: skip
    text = torch.randint(0, VOCAB, (ROWS, SEQ + 1), generator=torch.Generator().manual_seed(seed))
    tokens, targets = text[:, :-1], text[:, 1:]
    write(f"{work}/in.safetensors", {"tokens": tokens.int().numpy(), "targets": targets.int().numpy()})
    both = ("--weights", f"{work}/base", "--adapter", f"{work}/adapter")
    run(trainer, "grad", *both, "--inputs", f"{work}/in.safetensors", "--out", f"{work}/out.safetensors")
    run(trainer, "export", "--to", "hf", *both, "--out", f"{work}/merged")
    run(trainer, "export", "--to", "peft", *both, "--out", f"{work}/back")
    out = read(f"{work}/out.safetensors")
    logits = peft(tokens).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    theirs = {name.replace(".default", "").replace("vector.weight", "vector"): p.grad for name, p in peft.named_parameters() if "lora_" in name}
    own = {k.removeprefix("grad."): x for k, x in out.items() if "lora_" in k}
    grads = max(apart(x, theirs[next(t for t in theirs if t.endswith("." + k.removeprefix("model.")))]) for k, x in own.items())
    assert len(own) == len(theirs), own.keys() ^ theirs.keys()
    before, after = read(f"{work}/adapter/adapter_model.safetensors"), read(f"{work}/back/adapter_model.safetensors")
    same = before.keys() == after.keys() and all((before[k] == after[k]).all() for k in before)
    with torch.no_grad():
        merged = transformers.AutoModelForCausalLM.from_pretrained(f"{work}/merged", dtype=torch.float32).eval()(tokens).logits
        base = transformers.AutoModelForCausalLM.from_pretrained(f"{work}/base", dtype=torch.float32)
        again = PeftModel.from_pretrained(base, f"{work}/back").eval()(tokens).logits
    return apart(out["output.logits"], logits), grads, apart(merged.numpy(), logits), same and torch.equal(again, logits)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("families", nargs="*", default=["llama", "mistral", "qwen2", "qwen3", "gpt2"])
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    p.add_argument("--dora", action="store_true", help="decomposed adapters")
    a, failed = p.parse_args(), 0
    for family in a.families:
        for seed in a.seeds:
            with tempfile.TemporaryDirectory() as work:
                logits, grads, merged, same = compare(a.lathe, family, seed, work, a.dora)
            good = max(logits, grads, merged) < 1e-4 and same
            failed += not good
            print(f"{'ok' if good else 'FAILED'}  {family} {seed}: logits {logits:.1e}, gradients {grads:.1e}, merged {merged:.1e}, "
                  f"PEFT's folder {'the same' if same else 'DIFFERS'}", flush=True)  # fmt: skip
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
