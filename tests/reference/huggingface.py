"""huggingface.py: Hugging Face's own models against Lathe's export and import.

    python3 tests/reference/huggingface.py record [NAME …]
        writes tests/reference/hf_gpt2, hf_llama, hf_llama3 (stretched rotary positions), hf_mistral (a window), hf_qwen2,
        hf_qwen3, hf_mixtral and hf_qwen3_moe (with the balance loss), hf_gemma, hf_gemma2 and hf_gemma3 (windows in some layers), hf_olmo2, hf_phi3, hf_smollm3, hf_yarn, hf_dynamic and hf_longrope (stretched positions), hf_biases, hf_neox and hf_neox_serial (or those named): folders as transformers' save_pretrained() leaves them, of small random
        models, and in each expected.safetensors: tokens and targets I32 [B][T], logits F64 [B][T][V], loss F64 [1]
    python3 tests/reference/huggingface.py record_ends
        writes tests/reference/hf_ends: a small llama with a tokenizer whose vocabulary is smaller than the model's, a chat
        template and several tokens that end texts; expected.json has what generate() writes for prompts
    python3 tests/reference/huggingface.py compare FOLDER OTHER
        whether transformers reads the same from both: configurations, tokens, chat template, weights
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
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig, GPT2Config, GPT2LMHeadModel
from transformers import Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, GemmaConfig, GemmaForCausalLM
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, PreTrainedTokenizerFast
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
from transformers import Olmo2Config, Olmo2ForCausalLM, Phi3Config, Phi3ForCausalLM
from transformers import SmolLM3Config, SmolLM3ForCausalLM
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CHOSEN = []  # names of folders to record; none: all
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
    centre = 0 if model.config.model_type.startswith("gemma") else 1        # of norms; Gemma's add 1 themselves
    with torch.no_grad():
        for name, p in model.named_parameters():
            x = torch.randn(p.shape, generator=r) / (p.shape[-1] ** 0.5 if p.dim() > 1 else 10)
            p.copy_((x + centre if "ln_" in name and "weight" in name or "norm" in name else x).bfloat16())


def record_one(name, model, T, seed, **how):
    if CHOSEN and name not in CHOSEN:
        return
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    draw(model, seed)
    V = model.config.vocab_size
    text = torch.randint(0, V, (2, T + 1), generator=torch.Generator().manual_seed(seed + 1))
    tokens, targets = text[:, :-1], text[:, 1:]
    kind = how.pop("dtype", torch.float32)
    with torch.no_grad():
        full = model.double()(tokens)               # Llama's norms and angles stay in float32 all the same
        logits, balance = full.logits, getattr(full, "aux_loss", None)
    model.to(kind).save_pretrained(folder, **how)
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, V), targets.reshape(-1))
    if balance is not None:
        loss = loss + model.config.router_aux_loss_coef * balance
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
    sizes = dict(vocab_size=61, hidden_size=24, intermediate_size=34, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 max_position_embeddings=64, rms_norm_eps=1e-5, **none)  # fmt: skip
    rope = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16}  # fmt: skip
    llama = LlamaConfig(**{**sizes, "hidden_size": 64}, tie_word_embeddings=True, rope_parameters=rope)
    record_one("hf_llama3", LlamaForCausalLM(llama).eval(), 12, 610, dtype=torch.bfloat16)
    mistral = MistralConfig(**sizes, head_dim=8, sliding_window=5, rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    record_one("hf_mistral", MistralForCausalLM(mistral).eval(), 12, 620, dtype=torch.bfloat16)
    qwen = Qwen2Config(**sizes, tie_word_embeddings=True, rope_parameters={"rope_type": "linear", "rope_theta": 1e6, "factor": 4.0})
    record_one("hf_qwen2", Qwen2ForCausalLM(qwen).eval(), 12, 630, dtype=torch.bfloat16)
    qwen = Qwen3Config(**sizes, head_dim=10, rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    record_one("hf_qwen3", Qwen3ForCausalLM(qwen).eval(), 12, 640, dtype=torch.bfloat16)
    experts = dict(num_local_experts=5, output_router_logits=True, router_aux_loss_coef=0.5, experts_implementation="eager")
    mixtral = transformers.MixtralConfig(**sizes, **experts, pad_token_id=None, sliding_window=5, rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    record_one("hf_mixtral", transformers.MixtralForCausalLM(mixtral).eval(), 12, 700, dtype=torch.bfloat16)
    qwen = transformers.Qwen3MoeConfig(**sizes, **experts, num_experts_per_tok=3, moe_intermediate_size=18, norm_topk_prob=False, head_dim=10,
                                       rope_parameters={"rope_type": "default", "rope_theta": 1e6})  # fmt: skip
    record_one("hf_qwen3_moe", transformers.Qwen3MoeForCausalLM(qwen).eval(), 12, 710, dtype=torch.bfloat16)
    olmo = Olmo2Config(**sizes, pad_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    record_one("hf_olmo2", Olmo2ForCausalLM(olmo).eval(), 12, 650, dtype=torch.bfloat16)
    rope = {"rope_type": "default", "rope_theta": 5e4, "partial_rotary_factor": 0.75}
    phi = Phi3Config(**{**sizes, "hidden_size": 32}, pad_token_id=None, sliding_window=5, rope_parameters=rope)
    record_one("hf_phi3", Phi3ForCausalLM(phi).eval(), 12, 660, dtype=torch.bfloat16)
    smol = SmolLM3Config(**{**sizes, "num_hidden_layers": 4}, head_dim=10, pad_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": 5e6})
    record_one("hf_smollm3", SmolLM3ForCausalLM(smol).eval(), 12, 690, dtype=torch.bfloat16)
    llama = LlamaConfig(**sizes, attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 1e4})
    record_one("hf_biases", LlamaForCausalLM(llama).eval(), 12, 730, dtype=torch.bfloat16)
    neox = GPTNeoXConfig(vocab_size=61, hidden_size=24, intermediate_size=34, num_hidden_layers=2, num_attention_heads=3, max_position_embeddings=64,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}, **none)  # fmt: skip
    record_one("hf_neox", GPTNeoXForCausalLM(neox).eval(), 12, 670, dtype=torch.bfloat16)
    neox.use_parallel_residual, neox.hidden_act, neox.rope_parameters["rope_theta"] = False, "gelu_fast", 5e4
    record_one("hf_neox_serial", GPTNeoXForCausalLM(neox).eval(), 12, 680, dtype=torch.bfloat16)
    record_stretched({**sizes, "pad_token_id": None})
    record_gemma({**sizes, "pad_token_id": None, "tie_word_embeddings": True})


def record_stretched(sizes):
    """Texts of 12 tokens, of models that began with 8"""
    began = {"original_max_position_embeddings": 8, "rope_theta": 500.0}
    llama = LlamaConfig(**{**sizes, "hidden_size": 64}, tie_word_embeddings=True, rope_parameters={"rope_type": "yarn", "factor": 4.0, **began})
    record_one("hf_yarn", LlamaForCausalLM(llama).eval(), 12, 700, dtype=torch.bfloat16)
    rope = {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 2.0}
    qwen = Qwen2Config(**{**sizes, "max_position_embeddings": 8}, tie_word_embeddings=True, rope_parameters=rope)
    record_one("hf_dynamic", Qwen2ForCausalLM(qwen).eval(), 12, 710, dtype=torch.bfloat16)
    rope = {"rope_type": "longrope", "short_factor": [1.0, 1.25, 1.5], "long_factor": [1.5, 3.0, 5.0], "partial_rotary_factor": 0.75, **began}
    phi = Phi3Config(**{**sizes, "hidden_size": 32}, original_max_position_embeddings=8, rope_parameters=rope)
    record_one("hf_longrope", Phi3ForCausalLM(phi).eval(), 12, 720, dtype=torch.bfloat16)


def record_gemma(sizes):
    plain = {"rope_type": "default", "rope_theta": 1e4}
    gemma = GemmaConfig(**sizes, head_dim=10, rope_parameters=plain)
    record_one("hf_gemma", GemmaForCausalLM(gemma).eval(), 12, 650, dtype=torch.bfloat16)
    windows = {**sizes, "head_dim": 10, "sliding_window": 5}
    gemma = Gemma2Config(**{**windows, "num_hidden_layers": 3}, query_pre_attn_scalar=10, rope_parameters=plain, attn_logit_softcapping=2.0,
                         final_logit_softcapping=3.0, attn_implementation="eager")  # fmt: skip
    record_one("hf_gemma2", Gemma2ForCausalLM(gemma).eval(), 12, 660, dtype=torch.bfloat16)
    rope = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}
    types = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
    gemma = Gemma3TextConfig(**{**windows, "num_hidden_layers": 4}, layer_types=types, query_pre_attn_scalar=10, rope_parameters=rope)
    record_one("hf_gemma3", Gemma3ForCausalLM(gemma).eval(), 12, 670, dtype=torch.bfloat16)


# ---------------------------------------------------------------- where texts end

TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def small_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    text = ["the cat sat on a mat and ran far off to see red", "é ü 漢字"] * 4
    t.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"]))
    return PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<|im_end|>", pad_token="<|endoftext|>",
                                   chat_template=TEMPLATE)


def record_ends():
    torch.set_num_threads(1)
    folder = os.path.join(HERE, "hf_ends")
    shutil.rmtree(folder, ignore_errors=True)
    k = small_tokenizer()
    end = k.convert_tokens_to_ids("<|im_end|>")
    config = LlamaConfig(vocab_size=304, hidden_size=16, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2,
                         num_key_value_heads=1, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
                         bos_token_id=None, eos_token_id=end, pad_token_id=k.pad_token_id)
    model = LlamaForCausalLM(config).eval()
    letters = torch.tensor([[i < len(k) and k.decode([i]).replace(" ", "").isalpha() and k.decode([i]).isascii()]
                            for i in range(304)])

    def write_for(text, **how):
        ids = k(text, return_tensors="pt")["input_ids"]
        made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=24, **how)
        return made[0, ids.shape[1]:].tolist()

    # texts are of letters (other tokens have no logits) and do not repeat themselves at once; a token that comes late
    # enough in one is another end, as the list of a chat model has several
    prompts = ["the cat", "a mat and", "red"]
    for seed in range(700, 800):
        draw(model, seed)
        with torch.no_grad():
            model.lm_head.weight.mul_(letters)
        free = [write_for(p, eos_token_id=[]) for p in prompts]
        others = [x for i, x in enumerate(free[0]) if i >= 4 and x not in free[0][:i]]
        if others and min(len(set(f)) for f in free) > 5:
            break
    other = others[0]
    model.generation_config = GenerationConfig(eos_token_id=[end, other], pad_token_id=k.pad_token_id, temperature=0.7,
                                               top_p=0.9, do_sample=True)
    texts = [k.decode(x) for x in free]
    stop = texts[2][5:9]
    expected = [{"prompt": p, "free": k.decode(f), "text": k.decode([x for x in write_for(p) if x not in (end, other)])}
                for p, f in zip(prompts, free)]
    stopped = k.decode(write_for(prompts[2], eos_token_id=[], stop_strings=[stop], tokenizer=k))
    assert stop in stopped
    model.to(torch.bfloat16).save_pretrained(folder)
    k.save_pretrained(folder)
    with open(os.path.join(folder, "expected.json"), "w") as f:
        json.dump({"texts": expected, "stop": stop, "stopped": stopped[:stopped.index(stop)]}, f, indent=1)
    print(sorted(os.listdir(folder)), expected, repr(stop))


def compare(a, b):
    x, y = AutoConfig.from_pretrained(a).to_dict(), AutoConfig.from_pretrained(b).to_dict()
    apart = [k for k in x.keys() | y.keys() if x.get(k) != y.get(k) and k not in ("_name_or_path", "dtype", "torch_dtype")]
    g, h = GenerationConfig.from_pretrained(a).to_dict(), GenerationConfig.from_pretrained(b).to_dict()
    apart += ["generation: " + k for k in g.keys() | h.keys() if g.get(k) != h.get(k)]
    t, u = AutoTokenizer.from_pretrained(a), AutoTokenizer.from_pretrained(b)
    chat = [{"role": "user", "content": "the cat é"}, {"role": "assistant", "content": "sat"}]
    for name, f in {"ids": lambda k: k("the cat<|im_end|> é 漢")["input_ids"], "length": len,
                    "special tokens": lambda k: k.special_tokens_map,
                    "chat": lambda k: k.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)}.items():
        if f(t) != f(u):
            apart.append(name)
    m, n = AutoModelForCausalLM.from_pretrained(a).state_dict(), AutoModelForCausalLM.from_pretrained(b).state_dict()
    apart += [k for k in m.keys() | n.keys() if k not in m or k not in n or m[k].shape != n[k].shape
              or not torch.equal(m[k].float(), n[k].float())]
    print("the same" if not apart else f"DIFFER: {apart}")
    sys.exit(bool(apart))


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


def main(words):
    if words[:1] == ["record"]:
        CHOSEN.extend(words[1:])
        record()
    elif words == ["record_ends"]:
        record_ends()
    elif words[:1] == ["compare"] and len(words) == 3:
        compare(*words[1:])
    elif words[:1] == ["check"] and len(words) > 2:
        check(words[1], words[2], words[3:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
