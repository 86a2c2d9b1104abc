"""families.py: random small models of published families, by transformers and by what `lathe new` makes of their folders.

    families.py LATHE [--seeds 1 2 3] [FAMILY ...]

FAMILY is llama, mistral, …, or such a name and a way to stretch rotary positions: llama-yarn, qwen2-dynamic, phi3-longrope.  Where the text is
longer than what the model began with, dynamic goes by the length of each text in transformers and by seq here: greedy text is left out.

For each family and seed a configuration is drawn, with the options that published ones use.  transformers writes the folder; `lathe new`
describes it; a trainer is built.  Compared are logits and the gradient of each parameter (1e-4 of the largest), the folder that export
writes (bytes of tensors), and 200 tokens of greedy text.
"""

import argparse
import json
import os
import random
import sys
import tempfile

import torch
import transformers

from huggingface import draw, read, run, write

VOCAB, ROWS, SEQ = 256, 4, 64
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 128}


def sizes(r, rope):
    heads, head = r.choice([(4, 2), (6, 3), (4, 1), (4, 4)]), r.choice([8, 10, 16])
    theta = {"rope_theta": r.choice([1e4, 5e5, 1e6])}
    return dict(vocab_size=VOCAB, num_attention_heads=heads[0], num_key_value_heads=heads[1], num_hidden_layers=r.choice([1, 2, 3]),
                hidden_size=heads[0] * head, intermediate_size=r.choice([34, 48, 70]), max_position_embeddings=512,
                rms_norm_eps=r.choice([1e-5, 1e-6]), tie_word_embeddings=r.random() < 0.5, rope_parameters={**theta, **r.choice(rope)},
                bos_token_id=None, eos_token_id=None, pad_token_id=None)  # fmt: skip  (the row of a pad token would get no gradient)


def stretched(way, r, pairs):
    """Rotary positions, and max_position_embeddings: the model began with texts shorter or longer than SEQ"""
    if way == "dynamic":
        return {"rope_type": way, "factor": r.choice([1.0, 2.0, 4.5])}, r.choice([24, 48, 512])
    began, own = r.choice([24, 40, 256]), r.random() < 0.5
    if way == "yarn":
        more = {"beta_fast": r.choice([8.0, 20]), "beta_slow": r.choice([0.5, 2])} if r.random() < 0.5 else {}
        more |= {"attention_factor": r.choice([0.8, 1.3])} if own else {}
        return {"rope_type": way, "factor": r.choice([1.0, 4.0, 16.0]), "original_max_position_embeddings": began, **more}, 512
    lists = {name: [r.choice([1, 1.05, 1.5, 3.0]) * (i + 1 if name == "long_factor" else 1) for i in range(pairs)] for name in ("short_factor", "long_factor")}
    more = r.choice([{"attention_factor": 1.2}, {"factor": 3.0}]) if own else {}
    return {"rope_type": way, "original_max_position_embeddings": began, **lists, **more}, 512


def configuration(family, r):
    family, _, way = family.partition("-")
    if not way:
        return plain_configuration(family, r)
    config = plain_configuration(family, r)
    share = config.rope_parameters.get("partial_rotary_factor", 1.0)
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rope, longest = stretched(way, r, int(head * share) // 2)
    rope["rope_theta"] = config.rope_parameters["rope_theta"]
    given = config.to_dict() | {"rope_parameters": rope, "max_position_embeddings": longest}
    if family == "phi3":
        given |= {"original_max_position_embeddings": rope["original_max_position_embeddings"], "partial_rotary_factor": share}
        given["rope_parameters"]["partial_rotary_factor"] = share
    return type(config)(**given)


def plain_configuration(family, r):
    plain, linear = {"rope_type": "default"}, {"rope_type": "linear", "factor": 4.0}
    if family == "llama":
        return transformers.LlamaConfig(**sizes(r, [plain, linear, LLAMA3]))
    if family == "mistral":
        return transformers.MistralConfig(**sizes(r, [plain]), head_dim=r.choice([8, 12, 20]), sliding_window=r.choice([None, 7, 40]))
    if family == "qwen2":
        return transformers.Qwen2Config(**sizes(r, [plain, linear]))
    if family == "qwen3":
        return transformers.Qwen3Config(**sizes(r, [plain, linear]), head_dim=r.choice([8, 12, 20]))
    experts = dict(num_local_experts=r.choice([3, 4, 8]), num_experts_per_tok=r.choice([2, 3]), output_router_logits=r.random() < 0.7,
                   router_aux_loss_coef=r.choice([0.001, 0.02, 0.5]))  # fmt: skip
    if family == "mixtral":
        return transformers.MixtralConfig(**sizes(r, [plain, linear]), **experts, sliding_window=r.choice([None, 7, 40]), head_dim=r.choice([None, 8, 12]))
    if family == "qwen3_moe":
        normalised = r.random() < 0.5  # of one expert alone, a weight of 1 would leave its router without gradient
        experts["num_experts_per_tok"] = r.choice([2, 3] if normalised else [1, 2, 3])
        return transformers.Qwen3MoeConfig(**sizes(r, [plain, linear]), **experts, head_dim=r.choice([8, 12, 20]), moe_intermediate_size=r.choice([17, 24, 34]),
                                           norm_topk_prob=normalised)  # fmt: skip
    if family == "gemma":
        return transformers.GemmaConfig(**{**sizes(r, [plain]), "tie_word_embeddings": True}, head_dim=r.choice([8, 12, 20]), hidden_act=r.choice(["gelu_pytorch_tanh", "gelu"]))
    local = dict(head_dim=r.choice([8, 12, 20]), query_pre_attn_scalar=r.choice([7, 16, 24]), sliding_window=r.choice([5, 17, 40]))
    if family == "gemma2":
        s = {**sizes(r, [plain]), "tie_word_embeddings": True, "num_hidden_layers": r.choice([3, 4, 5])}
        caps = r.choice([{}, dict(attn_logit_softcapping=2.0, final_logit_softcapping=3.0), dict(attn_logit_softcapping=None, final_logit_softcapping=None)])
        return transformers.Gemma2Config(**s, **local, **caps, attn_implementation="eager")
    if family == "gemma3_text":
        s = {**sizes(r, [plain, {"rope_type": "linear", "factor": 8.0}]), "tie_word_embeddings": True, "num_hidden_layers": r.choice([4, 7])}
        s["rope_parameters"] = {"full_attention": s["rope_parameters"], "sliding_attention": {"rope_type": "default", "rope_theta": r.choice([1e3, 1e4])}}
        types = {"layer_types": ["sliding_attention" if (i + 1) % 3 else "full_attention" for i in range(s["num_hidden_layers"])]}
        caps = dict(final_logit_softcapping=r.choice([None, 3.0]))
        return transformers.Gemma3TextConfig(**s, **local, **r.choice([{}, types]), **caps)
    if family == "olmo2":
        return transformers.Olmo2Config(**sizes(r, [plain, linear, LLAMA3]))
    if family == "phi3":
        given = sizes(r, [plain])
        share = r.choice([1.0, 0.4, 0.8] if given["hidden_size"] // given["num_attention_heads"] == 10 else [1.0, 0.5, 0.75])
        given["rope_parameters"]["partial_rotary_factor"] = share
        return transformers.Phi3Config(**given, sliding_window=r.choice([None, 7, 40]))
    if family == "smollm3":
        given = sizes(r, [plain, linear, LLAMA3])
        given["num_hidden_layers"] = r.choice([3, 4, 5])
        return transformers.SmolLM3Config(**given, no_rope_layer_interval=r.choice([2, 3, 4, 9]))
    if family == "gpt_neox":
        heads, head = r.choice([1, 3, 4]), r.choice([8, 16, 20])
        rope = {"rope_type": "default", "rope_theta": r.choice([1e4, 5e5]), "partial_rotary_factor": r.choice([0.25, 0.5, 1.0])}
        return transformers.GPTNeoXConfig(
            vocab_size=VOCAB, hidden_size=heads * head, num_hidden_layers=r.choice([1, 2, 3]), num_attention_heads=heads,
            intermediate_size=r.choice([34, 48, 70]), max_position_embeddings=512, hidden_act=r.choice(["gelu", "gelu", "gelu_fast"]),
            layer_norm_eps=r.choice([1e-5, 1e-6]), use_parallel_residual=r.random() < 0.7, attention_bias=r.random() < 0.7,
            tie_word_embeddings=r.random() < 0.3, rope_parameters=rope, bos_token_id=None, eos_token_id=None)  # fmt: skip
    heads = r.choice([2, 4])
    return transformers.GPT2Config(vocab_size=VOCAB, n_positions=512, n_embd=heads * r.choice([8, 12]), n_layer=r.choice([1, 2]), n_head=heads,
                                   activation_function=r.choice(["gelu_new", "gelu"]), bos_token_id=None, eos_token_id=None)  # fmt: skip


def apart(own, theirs):
    return ((torch.from_numpy(own.copy()).double() - theirs.double()).abs().max() / theirs.abs().max().clamp(min=1e-9)).item()


def of_experts(theirs, mixtral):
    """Gradients by the names of files, in which each expert has tensors of its own; other parameters as they are."""
    gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    for name, p in theirs.items():
        name = name.replace(".mlp.", ".block_sparse_moe.") if mixtral else name
        for e in range(len(p) if ".experts." in name else 0):
            own = name[: name.index("experts.")] + f"experts.{e}."
            parts = {down: p.grad[e]} if name.endswith("down_proj") else dict(zip((gate, up), p.grad[e].chunk(2)))
            yield from ((f"{own}{part}.weight", g) for part, g in parts.items())
        if ".experts." not in name:
            yield name, p


def gradients(model, trainer, own, work):
    """The largest difference over parameters: gradients go out as weights do, by the names and the layout of Hugging Face."""
    write(f"{work}/grads.safetensors", own)
    run(trainer, "export", "--to", "hf", "--weights", f"{work}/grads.safetensors", "--out", f"{work}/grads")
    theirs = dict(model.named_parameters())
    if model.config.model_type == "gpt_neox" and "lm_head.weight" in theirs:  # its name in files
        theirs["embed_out.weight"] = theirs.pop("lm_head.weight")
    if getattr(model.config, "num_local_experts", None):
        theirs = dict(of_experts(theirs, model.config.model_type == "mixtral"))
    grads = read(f"{work}/grads/model.safetensors")
    assert grads.keys() == theirs.keys(), grads.keys() ^ theirs.keys()
    return max(apart(grads[name], p if torch.is_tensor(p) and p.grad is None else p.grad) for name, p in theirs.items())


def compare(lathe, family, seed, work):
    r = random.Random(seed * 7919 + sum(map(ord, family)))
    config = configuration(family, r)
    if hasattr(config, "num_local_experts"):
        config._experts_implementation = "eager"  # the other wants widths of 16 bytes
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    model.generation_config = transformers.GenerationConfig()
    draw(model, seed)
    folder, made = os.path.join(work, "folder"), os.path.join(work, "made")
    model.save_pretrained(folder)
    run(lathe, "new", made, "--from", folder)
    trainer = run(lathe, "build", f"{made}/model.lua", "--set", f"batch={ROWS}", "--set", f"seq={SEQ}", "--set", "pack=false", "-o", f"{made}/built").strip()
    text = torch.randint(0, VOCAB, (ROWS, SEQ + 1), generator=torch.Generator().manual_seed(seed))
    tokens, targets = text[:, :-1], text[:, 1:]
    write(f"{work}/in.safetensors", {"tokens": tokens.int().numpy(), "targets": targets.int().numpy()})
    run(trainer, "grad", "--weights", folder, "--inputs", f"{work}/in.safetensors", "--out", f"{work}/out.safetensors")
    out = read(f"{work}/out.safetensors")
    full = model(tokens)
    logits = full.logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    if getattr(full, "aux_loss", None) is not None:
        loss = loss + model.config.router_aux_loss_coef * full.aux_loss
    loss.backward()
    assert abs(out["loss"].item() / loss.item() - 1) < 1e-5, (out["loss"], loss)
    run(trainer, "export", "--to", "hf", "--weights", folder, "--out", f"{work}/back")
    before, after = read(f"{folder}/model.safetensors"), read(f"{work}/back/model.safetensors")
    same = before.keys() == after.keys() and all((before[k] == after[k]).all() for k in before)
    own = {k.removeprefix("grad."): x for k, x in out.items() if k.startswith("grad.")}
    rope = getattr(model.config, "rope_parameters", {})
    began = rope.get("original_max_position_embeddings", SEQ) if rope.get("rope_type") == "longrope" else SEQ
    prompt = bytes(range(65, 71 if began >= SEQ else 65 + began + 2)).decode()
    said = json.loads(run(trainer, "generate", "--weights", folder, "--tokenizer", "bytes", "--prompt", prompt, "--tokens", "200", "--ignore-eos",
                          "--set", "temperature=0", "--json"))[0]["tokens"]  # fmt: skip
    if rope.get("rope_type") == "dynamic" and model.config.max_position_embeddings < SEQ:
        return apart(out["output.logits"], logits), gradients(model, trainer, own, work), same, None
    with torch.no_grad():
        ids = torch.tensor([list(prompt.encode())])
        theirs = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=200, eos_token_id=[], pad_token_id=0)[0].tolist()
    return apart(out["output.logits"], logits), gradients(model, trainer, own, work), same, said == theirs


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("families", nargs="*", default=["llama", "mistral", "mixtral", "qwen3_moe", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "olmo2", "phi3", "gpt_neox", "smollm3", "gpt2"])
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    a, failed = p.parse_args(), 0
    for family in a.families:
        for seed in a.seeds:
            with tempfile.TemporaryDirectory() as work:
                logits, grads, same, text = compare(a.lathe, family, seed, work)
            good = logits < 1e-4 and grads < 1e-4 and same and text is not False
            failed += not good
            print(f"{'ok' if good else 'FAILED'}  {family} {seed}: logits {logits:.1e}, gradients {grads:.1e}, "
                  f"tensors {'the same' if same else 'DIFFER'}, 200 tokens {'not compared' if text is None else 'the same' if text else 'DIFFER'}", flush=True)  # fmt: skip
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
