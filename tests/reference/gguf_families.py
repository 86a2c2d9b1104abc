"""gguf_families.py: GGUF files of random small models of published families, in and out, beside llama.cpp and transformers.

    gguf_families.py LATHE LLAMA_CPP [--seeds 1 2 3] [FAMILY ...]
    gguf_families.py record LLAMA_CPP [FAMILY ...]
                                            writes llama3, qwen2, qwen3, gemma, gemma2, gemma3, olmo2, phi3, neox, smollm3, yarn, longrope and gpt2 .gguf in tests/reference/gguf/, of the folders
                                            hf_* (of Gemma with a byte-level tokenizer, which is smaller); and
                                            (if none is named) hf_spm and spm.gguf, with a tokenizer of SentencePiece, and the ids of odd
                                            texts by both

LLAMA_CPP is a folder of llama.cpp's sources, whose convert_hf_to_gguf.py makes a file of what transformers saved.  `lathe new` describes the
file, and a trainer is built for it.  Compared are logits with transformers' (1e-4 of the largest); the file that export writes with the
converter's, tensor by tensor and key by key (llama.cpp leaves a yarn_attn_factor out, so we write attn_factor); and, of that file, greedy text of 20 prompts with llama.cpp's (llama-cpp-python).
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import gguf
import llama_cpp
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from families import ROWS, SEQ, apart, configuration
from gguf_tokens import drawn
from huggingface import draw, read, run, write

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "README.md")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")  # fmt: skip
CUTS = {"llama": ("llama-bpe", LLAMA3), "mistral": ("smollm", None), "qwen2": ("qwen2", LLAMA3.replace("{1,3}", "")), "qwen3": ("qwen2", LLAMA3.replace("{1,3}", "")),
        "mixtral": ("llama-bpe", LLAMA3), "qwen3_moe": ("qwen2", LLAMA3.replace("{1,3}", "")), "gemma": (None, None), "gemma2": (None, None), "gemma3_text": (None, None),
        "olmo2": ("dbrx", LLAMA3), "phi3": ("dbrx", LLAMA3), "gpt_neox": ("gpt-2", None), "smollm3": ("llama-bpe", LLAMA3),
        "gpt2": ("gpt-2", None), "spm": (None, None)}  # fmt: skip
CONVERT = """
import sys
sys.path.insert(0, sys.argv[1])
import conversion.base, convert_hf_to_gguf
pre, load = sys.argv[2], conversion.base.ModelBase.load_hparams

def load_hparams(*given, **named):
    all = load(*given, **named)
    if all["model_type"] == "gpt_neox":     # as older releases of transformers have it
        all["rotary_pct"] = all["rope_parameters"]["partial_rotary_factor"]
    return all

conversion.base.ModelBase.load_hparams = staticmethod(load_hparams)
conversion.base.TextModel.get_vocab_base_pre = lambda self, tokenizer: pre
import conversion.gemma
gemma3 = conversion.gemma.Gemma3Model
numbers = gemma3.set_gguf_parameters
def with_layers(self):              # the converter says no layers, and llama.cpp then takes every sixth
    numbers(self)
    self.gguf_writer.add_sliding_window_pattern([t == "sliding_attention" for t in self.hparams["layer_types"]])
gemma3.set_gguf_parameters = with_layers
if pre != "default":
    for model in (conversion.gemma.GemmaModel, conversion.gemma.Gemma2Model):
        model.set_vocab = conversion.base.TextModel._set_vocab_gpt2
sys.argv = ["convert"] + sys.argv[3:]
convert_hf_to_gguf.main()
"""
# What a file may say or leave unsaid, or what export cannot know
TOLD = {"general.name", "general.file_type", "general.quantization_version", "general.architecture", "general.type", "tokenizer.chat_template",
        "gemma3.attention.sliding_window_pattern"}  # fmt: skip  (a list there, a number here)


def untrained(pre, pattern):
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    digits = [pre_tokenizers.Digits(individual_digits=True)]
    first = [pre_tokenizers.Split(Regex(pattern), "isolated")] if pattern else digits if pre == "smollm" else []
    words = ["<|endoftext|>"] + sorted(pre_tokenizers.ByteLevel.alphabet())[:59] + ["AB"]
    t = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, [("A", "B")], ignore_merges=pre == "llama-bpe"))
    t.pre_tokenizer = pre_tokenizers.Sequence(first + [bytes_])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<|endoftext|>"])
    return t


def fast(t):
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<|endoftext|>", bos_token="<|endoftext|>")


def tokenizer(pre, pattern):
    t = untrained(pre, pattern)
    with open(TEXT, encoding="utf-8") as file:
        t.train_from_iterator([file.read()], trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))  # fmt: skip
    return fast(t)


def sentencepiece(folder):
    """As Llama 2's, in `folder`: tokenizer.model for the converter, tokenizer.json for transformers"""
    import sentencepiece

    os.makedirs(folder)
    sentencepiece.SentencePieceTrainer.train(input=TEXT, model_prefix=f"{folder}/tokenizer", vocab_size=500, model_type="bpe", byte_fallback=True, minloglevel=2)
    t = transformers.LlamaTokenizer.from_pretrained(folder)
    t.save_pretrained(folder)
    return t


def convert(folder, llama_cpp_folder, pre, path):
    if read_json(folder, "config")["model_type"] == "phi3" and os.path.exists(os.path.join(folder, "tokenizer_config.json")):
        edit(os.path.join(folder, "tokenizer_config.json"), tokenizer_class="GPT2Tokenizer")  # as Phi-4 says it is byte-level
    subprocess.run([sys.executable, "-c", CONVERT, llama_cpp_folder, pre or "default", folder, "--outtype", "f32", "--outfile", path],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def record(llama_cpp_folder, names):
    for name in names or ("llama3", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "olmo2", "phi3", "neox", "smollm3", "yarn", "longrope", "gpt2"):
        pre, pattern = CUTS["qwen2" if name.startswith("gemma") else {"llama3": "llama", "neox": "gpt_neox", "yarn": "llama", "longrope": "phi3"}.get(name, name)]
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, name)  # the file has this name
            shutil.copytree(os.path.join(HERE, f"hf_{name}"), folder)
            os.remove(os.path.join(folder, "expected.safetensors"))
            fast(untrained(pre, pattern)).save_pretrained(folder)
            if name == "gpt2":
                edit(os.path.join(folder, "config.json"), n_ctx=12)
            convert(folder, llama_cpp_folder, pre, os.path.join(HERE, "gguf", f"{name}.gguf"))


def record_spm(llama_cpp_folder):
    path, made = os.path.join(HERE, "hf_spm"), os.path.join(HERE, "gguf", "spm.gguf")
    shutil.rmtree(path, ignore_errors=True)
    t = sentencepiece(path)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(t), hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        max_position_embeddings=64, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2))  # fmt: skip
    draw(model, 1)
    model.save_pretrained(path)
    convert(path, llama_cpp_folder, "default", made)
    for name in ("tokenizer.model", "tokenizer.vocab", "generation_config.json"):
        os.remove(os.path.join(path, name))
    texts = drawn(150) + ["<s>a b</s> c", " <s> x", "a<s>b </s>", "</s>\u2581a", "\u2581", " ", "  a"]
    llama, own = llama_cpp.Llama(made, vocab_only=True, verbose=False), Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
    lines(os.path.join(path, "texts.jsonl"), [{"text": text} for text in texts])
    lines(os.path.join(path, "ids.jsonl"), [own.encode(text, add_special_tokens=False).ids for text in texts])
    lines(os.path.join(path, "llama_cpp.jsonl"), [llama.tokenize(text.encode(), add_bos=False, special=True) for text in texts])


def lines(path, all):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one, separators=(",", ":")) + "\n" for one in all)


def read_json(folder, name):
    with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


def edit(path, **keys):
    with open(path, encoding="utf-8") as file:
        all = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**all, **keys}, file)


def contents(path):
    reader = gguf.GGUFReader(path)
    keys = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    return keys, {t.name: t.data for t in reader.tensors}


def differences(theirs, own):
    (keys, tensors), (own_keys, own_tensors) = contents(theirs), contents(own)
    for name in tensors.keys() | own_tensors.keys():
        a, b = tensors.get(name), own_tensors.get(name)
        exact = 0 if name != "rope_freqs.weight" else 1e-5
        if a is None or b is None or a.shape != b.shape or abs(a - b).max() > exact * abs(a).max():
            yield name
    for key in (keys.keys() - TOLD) & own_keys.keys():
        if keys[key] != own_keys[key]:
            yield f"{key} {str(keys[key])[:60]} {str(own_keys[key])[:60]}"
    for key in keys.keys() - own_keys.keys() - TOLD:
        if not key.startswith("general."):
            print(f"    not written: {key} {str(keys[key])[:60]}")


def own_texts(trainer, path, prompts, count):
    out = run(trainer, "generate", "--weights", path, "--prompt", *prompts, "--tokens", str(count), "--ignore-eos", "--set", "temperature=0", "--json")
    return [one["tokens"] for one in json.loads(out)]


def texts_differ(trainer, path, prompts, count=24):
    llama = llama_cpp.Llama(path, n_ctx=256, verbose=False, type_k=0, type_v=0, n_threads=1, seed=1)
    wrong, end = 0, llama.token_eos()

    def without_end(ids, logits):  # as --ignore-eos
        logits[end] = -float("inf")
        return logits

    for prompt, own in zip(prompts, own_texts(trainer, path, prompts, count)):
        ids = []
        start = llama.tokenize(prompt.encode(), add_bos=True, special=True)
        for id in llama.generate(start, temp=0.0, logits_processor=llama_cpp.LogitsProcessorList([without_end])):
            ids.append(id)
            if len(ids) == count:
                break
        wrong += own != start + ids
        if own != start + ids:
            print(f"    {prompt!r}: {own} {start + ids}")
    return wrong


def as_llama_cpp(config):
    """What its converter leaves out of a file, or llama.cpp would compute otherwise"""
    config.pad_token_id = None
    if config.model_type != "gemma3_text":
        config.rope_parameters["rope_theta"] = 1e4
    if config.model_type == "gemma2":
        config.attn_logit_softcapping, config.final_logit_softcapping = 5.0, 6.0
    config.query_pre_attn_scalar = config.head_dim


def compare(lathe, llama_cpp_folder, family, seed, work):
    r = random.Random(seed * 7919 + sum(map(ord, family)))
    given, (family, _, way) = family, family.partition("-")
    pre, pattern = CUTS[family]
    folder, made, theirs, own = (os.path.join(work, name) for name in ("folder", "made", "theirs.gguf", "own.gguf"))
    t = sentencepiece(folder) if pre is None else tokenizer(pre, pattern)
    config = configuration("llama" if family == "spm" else given, r)
    config.vocab_size, config.bos_token_id, config.eos_token_id = len(t), t.bos_token_id, t.eos_token_id
    if family == "gpt2":
        config.activation_function, config.n_ctx = "gelu_new", config.n_positions
    if family in ("mistral", "mixtral", "phi3"):
        config.sliding_window = None
    if family in ("mixtral", "qwen3_moe"):
        config.norm_topk_prob, config._experts_implementation = True, "eager"
    unread = {"longrope": ("factor", "attention_factor"), "yarn": ("beta_fast", "beta_slow")}.get(way, ())  # by the converter, or llama.cpp
    config.rope_parameters = {k: v for k, v in config.rope_parameters.items() if k not in unread} if unread else config.rope_parameters
    if family.startswith("gemma"):
        as_llama_cpp(config)
    if family == "gpt_neox":  # llama.cpp has no others; the converter does not write rope_theta
        config.tie_word_embeddings, config.attention_bias, config.hidden_act = False, True, "gelu"
        config.rope_parameters["rope_theta"] = 1e4
    if family == "smollm3":
        config.no_rope_layers = [int((i + 1) % 4 > 0) for i in range(config.num_hidden_layers)]
    if family in ("olmo2", "smollm3"):
        config.tie_word_embeddings &= family != "olmo2"
        if config.rope_parameters["rope_type"] == "llama3":
            config.rope_parameters = {"rope_type": "default", "rope_theta": 1e4}
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    draw(model, seed)
    model.save_pretrained(folder), t.save_pretrained(folder)
    convert(folder, llama_cpp_folder, pre, theirs)
    run(lathe, "new", made, "--from", theirs)
    trainer = run(lathe, "build", f"{made}/model.lua", "--set", f"batch={ROWS}", "--set", f"seq={SEQ}", "--set", "pack=false", "-o", f"{made}/built").strip()
    tokens = torch.randint(0, len(t), (ROWS, SEQ), generator=torch.Generator().manual_seed(seed))
    write(f"{work}/in.safetensors", {"tokens": tokens.int().numpy(), "targets": tokens.int().numpy()})
    run(trainer, "grad", "--weights", theirs, "--inputs", f"{work}/in.safetensors", "--out", f"{work}/out.safetensors")
    with torch.no_grad():
        far = apart(read(f"{work}/out.safetensors")["output.logits"], model(tokens).logits)
    run(trainer, "export", "--to", "gguf", "--weights", theirs, "--out", own)
    words = open(TEXT, encoding="utf-8").read().split()
    prompts = ["So " + " ".join(r.sample(words, r.randint(1, 6))) for _ in range(20)]
    return far, list(differences(theirs, own)), texts_differ(trainer, own, prompts)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("llama_cpp")
    p.add_argument("families", nargs="*")
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    a, failed = p.parse_args(), 0
    if a.lathe == "record":
        record(a.llama_cpp, a.families)
        return a.families or record_spm(a.llama_cpp)
    for family in a.families or CUTS:
        for seed in a.seeds:
            with tempfile.TemporaryDirectory() as work:
                far, differ, texts = compare(a.lathe, a.llama_cpp, family, seed, work)
            good = far < 1e-4 and not differ and not texts
            failed += not good
            print(f"{'ok' if good else 'FAILED'}  {family} {seed}: logits {far:.1e}, file {differ or 'as the converter writes it'}, "
                  f"{20 - texts} of 20 texts as llama.cpp's", flush=True)  # fmt: skip
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
