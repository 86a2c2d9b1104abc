"""gguf_encoders.py: GGUF files of random small encoders, in and out, beside llama.cpp and transformers.

    gguf_encoders.py LATHE LLAMA_CPP [--seeds 1 2 3] [FAMILY:HEAD ...]     heads: mean, cls (one vector of a text), classes
    gguf_encoders.py record LLAMA_CPP       writes tests/reference/gguf_encoders: for bert, roberta and modernbert a folder of transformers,
                                            the file that the converter makes of it, and of odd texts the ids by both and the result:
                                            of bert the vector by llama.cpp, of the others probabilities by transformers

LLAMA_CPP is a folder of llama.cpp's sources, whose convert_hf_to_gguf.py makes a file of what transformers saved.  `lathe new` describes the
file, and a trainer is built for it.  Compared are: its parameters with those of the folder, bit by bit; what it computes of odd texts with
transformers (1e-4 of the largest); the file that export writes with the converter's, tensor by tensor and key by key; and of that file
ids (at most 3 of 300 texts differ: rare signs of Indic letters) and results in llama.cpp (llama-cpp-python): with transformers' and with what that gives with llama.cpp's gelu, which is by tanh
and from a table in 16 bits (1e-3 of the largest); in F16 and Q8_0 (told).
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
import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from huggingface import draw, read, run
from wordpiece import WORDS, text

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, "..", "..", "README.md")
SEQ, CLASSES = 64, 3
MODELS = {"bert": "Bert", "roberta": "Roberta", "modernbert": "ModernBert"}
PRES = {"bert": "bert-bge", "roberta": "roberta-bpe", "modernbert": "modern-bert"}
CONVERT = """
import sys
sys.path.insert(0, sys.argv[1])
import conversion.base, convert_hf_to_gguf
pre = sys.argv[2]
conversion.base.TextModel.get_vocab_base_pre = lambda self, tokenizer: pre
sys.argv = ["convert"] + sys.argv[3:]
convert_hf_to_gguf.main()
"""
# What export cannot know, or says where the converter leaves it to llama.cpp
TOLD = {"general.name", "general.file_type", "general.quantization_version"}
FIRST = "".join(chr(c) for c in range(33, 127))


def wordpiece(r):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(**r.choice([dict(lowercase=True), dict(lowercase=False), dict(lowercase=True, strip_accents=False)]))
    t.pre_tokenizer, t.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    corpus = [open(TEXT, encoding="utf-8").read()] + [" ".join(w for w in WORDS if w[0] not in "[#\x00")] * 3
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    around = [(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")]
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=around)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]")


def byte_level(special, post):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    with open(TEXT, encoding="utf-8") as file:
        t.train_from_iterator([file.read()], trainers.BpeTrainer(vocab_size=300, special_tokens=special, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = post(t)
    return t


def tokenizer(family, r):
    if family == "bert":
        return wordpiece(r)
    if family == "roberta":
        t = byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                       lambda t: processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), add_prefix_space=False))  # fmt: skip
        return transformers.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>", cls_token="<s>", sep_token="</s>",
                                                    pad_token="<pad>", mask_token="<mask>")  # fmt: skip
    t = byte_level(["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"], lambda t: processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")]))  # fmt: skip
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]")


def configuration(family, r, vocab, classes):
    heads, width = r.choice([1, 2, 4]), r.choice([8, 16, 32])
    sizes = dict(vocab_size=vocab, num_attention_heads=heads, num_hidden_layers=r.choice([2, 3, 4]), hidden_size=heads * width,
                 intermediate_size=r.choice([32, 64, 96]), bos_token_id=0, eos_token_id=2, num_labels=classes)  # fmt: skip
    if family == "modernbert":
        bases = r.choice([{}, {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 8e4}, "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}}])
        eps = r.choice([1e-5, 1e-6])
        return transformers.ModernBertConfig(**sizes, max_position_embeddings=128, local_attention=r.choice([6, 10, 16]), norm_eps=eps, layer_norm_eps=eps, pad_token_id=2,
                                             cls_token_id=0, sep_token_id=1, classifier_pooling=r.choice(["cls", "mean"]), hidden_activation=r.choice(["gelu", "gelu", "silu"]), **bases)  # fmt: skip
    sizes.update(layer_norm_eps=r.choice([1e-12, 1e-5]), max_position_embeddings=r.choice([66, 130]))
    if family == "bert":
        return transformers.BertConfig(**sizes, pad_token_id=0, hidden_act=r.choice(["gelu", "gelu_new"]))
    return transformers.RobertaConfig(**sizes, pad_token_id=1, type_vocab_size=r.choice([1, 2]))


def pools(folder, how):
    """As sentence-transformers says it, where its converter looks."""
    os.makedirs(f"{folder}/1_Pooling")
    with open(f"{folder}/modules.json", "w") as f:
        json.dump([{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}], f)
    with open(f"{folder}/1_Pooling/config.json", "w") as f:
        json.dump({"pooling_mode_cls_token": how == "cls", "pooling_mode_mean_tokens": how == "mean"}, f)


def saved(family, head, r, seed, folder):
    words = tokenizer(family, r)
    config = configuration(family, r, len(words), CLASSES if head == "classes" else 2)
    model = getattr(transformers, MODELS[family] + ("ForSequenceClassification" if head == "classes" else "Model"))(config).eval()
    draw(model, seed)
    if family == "modernbert" and head == "classes":
        model.config.id2label = {i: f"class {i}" for i in range(CLASSES)}
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    if head != "classes":
        pools(folder, head)
    return model, words


def convert(family, folder, llama_cpp_folder, path):
    subprocess.run([sys.executable, "-c", CONVERT, llama_cpp_folder, PRES[family], folder, "--outtype", "f32", "--outfile", path],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def by_transformers(model, ids, head):
    with torch.no_grad():
        if head == "classes":
            return model(torch.tensor([ids])).logits[0].double().numpy()
        x = model(torch.tensor([ids])).last_hidden_state[0].double()
    x = x.mean(0) if head == "mean" else x[0]
    return (x / x.norm()).numpy()


class Gelu(torch.nn.Module):
    """llama.cpp's: by tanh, of x in 16 bits, to 16 bits."""

    def forward(self, x):
        y = torch.nn.functional.gelu(x.half().float(), approximate="tanh").half().float()
        return torch.where(x <= -10, 0, torch.where(x >= 10, x, y))


def with_gelu(model):
    for part in model.modules():
        for name, inner in part.named_children():
            if "GELU" in type(inner).__name__:
                setattr(part, name, Gelu())
        for name, inner in list(vars(part).items()):
            if "GELU" in type(inner).__name__:
                setattr(part, name, Gelu())
    return model


class Llama:
    """Pools as the file says."""

    def __init__(self, path):
        self.own = llama_cpp.Llama(path, embedding=True, n_ctx=0, verbose=False, flash_attn=False, n_threads=1)

    def ids(self, text):
        return self.own.tokenize(text.encode(), add_bos=True, special=True)

    def result(self, ids, n):
        """n numbers; `embed` would read as many as the model is wide."""
        o = self.own
        o._batch.reset()
        o._batch.add_sequence(ids, 0, True)
        o._ctx.kv_cache_clear()
        o._ctx.decode(o._batch)
        return np.array(llama_cpp.llama_get_embeddings_seq(o._ctx.ctx, 0)[:n], float)


def contents(path):
    r = gguf.GGUFReader(path)
    return ({k: f.contents() for k, f in r.fields.items() if not k.startswith("GGUF.")},
            {t.name: gguf.dequantize(t.data, t.tensor_type) for t in r.tensors})  # fmt: skip


def differences(theirs, own):
    (keys, tensors), (own_keys, own_tensors) = contents(theirs), contents(own)
    for name in tensors.keys() | own_tensors.keys():
        a, b = tensors.get(name), own_tensors.get(name)
        if a is None or b is None or a.shape != b.shape or (a != b).any():
            yield name
    for key in (keys.keys() & own_keys.keys()) - TOLD:
        if keys[key] != own_keys[key]:
            yield f"{key} {str(keys[key])[:60]} {str(own_keys[key])[:60]}"
    left = [k for k in keys.keys() - own_keys.keys() if not k.startswith("general.") and not k.endswith("layer_norm_rms_epsilon")]
    if left:
        print("    not written:", *left)


def worst(own, theirs):
    return max(abs(a - b).max() / abs(b).max() for a, b in zip(own, theirs))


def unlike(a, b):
    return sum(x != y for x, y in zip(a, b))


def predicted(trainer, weights, texts, work, head):
    with open(f"{work}/texts.jsonl", "w") as f:
        f.writelines(json.dumps({"text": x}) + "\n" for x in texts)
    run(trainer, "predict", "--weights", weights, "--data", f"{work}/texts.jsonl", "--only", "logits" if head == "classes" else "embedding", "--out", f"{work}/out.safetensors")
    (x,) = (v for k, v in read(f"{work}/out.safetensors").items() if v.ndim == 2)
    return [row.astype(float) for row in x]


def plain(words, x):
    """Texts that llama.cpp reads as transformers does: without words over 100 characters, which WordPiece gives up and it does not,
    without Hangul, of which it keeps the first of two or three letters where accents go, and where accents stay without \u0130, which it
    makes an i without its dot."""
    if "\u0130" in x and words.backend_tokenizer.normalizer and len(words.backend_tokenizer.normalizer.normalize_str("\u0130")) > 1:
        return False
    return len(words.encode(x)) <= SEQ - 2 and all(len(w) < 100 for w in x.split()) and not any("\uac00" <= c <= "\ud7a3" for c in x)


def odd_texts(words, count, seed):
    r, all = random.Random(seed), []
    while len(all) < count:
        x = text(r)
        if "\0" not in x and plain(words, x):
            all.append(x)
    return all


def unit(x, head):
    return x if head == "classes" else x / np.linalg.norm(x)


def compare(lathe, llama_cpp_folder, family, head, seed, work):
    r = random.Random(seed * 7919 + sum(map(ord, family + head)))
    folder, theirs, made = f"{work}/folder", f"{work}/theirs.gguf", f"{work}/made"
    model, words = saved(family, head, r, seed, folder)
    from_file = not (family == "bert" and head == "classes")    # whose pooler the converter leaves out
    convert(family, folder, llama_cpp_folder, theirs)
    run(lathe, "new", made, "--from", theirs if from_file else folder)
    act = model.config.hidden_activation if family == "modernbert" else model.config.hidden_act     # of bert the file does not say it
    trainer = run(lathe, "build", f"{made}/model.lua", "--set", f"activation={act}", "--set", f"seq={SEQ}", "--set", "batch=4", "-o", f"{work}/built").strip()
    weights = theirs if from_file else folder
    run(trainer, "init", "--init", folder, "--out", f"{work}/a.safetensors")
    run(trainer, "init", "--init", weights, "--out", f"{work}/b.safetensors")
    a, b = read(f"{work}/a.safetensors"), read(f"{work}/b.safetensors")
    lead = 2 if family == "roberta" else 0
    same = a.keys() == b.keys() and all((x[lead * ("position" in k):] == b[k][lead * ("position" in k):]).all() for k, x in a.items())
    found = {"parameters": 0 if same else "DIFFER"}
    texts = odd_texts(words, 300, seed)
    ids = [words.encode(x) for x in texts]
    known = [by_transformers(model, i, head) for i in ids]
    found["lathe"] = worst(predicted(trainer, weights, texts, work, head), known)
    found["ids of the file"] = unlike([json.loads(x) for x in tokenized(lathe, theirs, texts, work)], [words.encode(x, add_special_tokens=False) for x in texts])
    for kind in ("f32", "f16", "q8_0"):
        run(trainer, "export", "--to", "gguf", "--weights", weights, "--type", kind, "--out", f"{work}/{kind}.gguf")
        other = Llama(f"{work}/{kind}.gguf")
        own_ids = [other.ids(x) for x in texts]
        if kind == "f32":
            found["ids unlike"] = unlike(own_ids, ids)
            their_gelu = [by_transformers(with_gelu(model), i, head) for i in ids]
            found["with its gelu"] = worst([unit(other.result(i, len(known[0])), head) for i in ids], their_gelu)
        found[kind] = worst([unit(other.result(i, len(known[0])), head) for i in ids], known)
    found["file"] = list(differences(theirs, f"{work}/f32.gguf"))
    run(trainer, "export", "--to", "gguf", "--weights", f"{work}/f32.gguf", "--out", f"{work}/again.gguf")
    found["again"] = list(differences(f"{work}/f32.gguf", f"{work}/again.gguf"))
    return found


def tokenized(lathe, tokenizer, texts, work):
    with open(f"{work}/texts.jsonl", "w") as f:
        f.writelines(json.dumps({"text": x}) + "\n" for x in texts)
    return run(lathe, "tokenize", "encode", "--tokenizer", tokenizer, "--json", "--format", "jsonl", f"{work}/texts.jsonl").splitlines()


RECORDED = {  # sizes that are small, and a head each
    "bert": ("mean", dict(hidden_size=32, intermediate_size=64)),
    "roberta": ("classes", dict(hidden_size=16, intermediate_size=32)),
    "modernbert": ("classes", dict(hidden_size=16, intermediate_size=32, max_position_embeddings=128, local_attention=6, pad_token_id=2, cls_token_id=0, sep_token_id=1,
                                   classifier_pooling="cls", hidden_activation="silu")),
}  # fmt: skip


def record(llama_cpp_folder):
    for family, (head, sizes) in RECORDED.items():
        out, r = os.path.join(HERE, "gguf_encoders", family), random.Random(family)
        shutil.rmtree(out, ignore_errors=True)
        words = tokenizer(family, r)
        if family != "modernbert":
            sizes.update(layer_norm_eps=1e-5, max_position_embeddings=34, pad_token_id=0 if family == "bert" else 1)
        config = transformers.AutoConfig.for_model(family, vocab_size=len(words), num_attention_heads=2, num_hidden_layers=2, bos_token_id=0, eos_token_id=2, **sizes,
                                                   num_labels=CLASSES if head == "classes" else 2)  # fmt: skip
        if family == "modernbert":
            config.layer_norm_eps = config.norm_eps
            config.id2label = {i: name for i, name in enumerate(("first", "second", "third"))}
        model = getattr(transformers, MODELS[family] + ("ForSequenceClassification" if head == "classes" else "Model"))(config).eval()
        draw(model, 950)
        if family == "roberta":     # rows that no text reads, and that a GGUF file lacks
            model.roberta.embeddings.position_embeddings.weight.data[:2] = 0
        model.to(torch.bfloat16).save_pretrained(out)
        words.save_pretrained(out)
        if head != "classes":
            pools(out, head)
        convert(family, out, llama_cpp_folder, out + ".gguf")
        other, model = Llama(out + ".gguf"), type(model).from_pretrained(out, dtype=torch.float32).eval()     # rotary rates are not kept in 16 bits
        with open(out + ".jsonl", "w") as f:
            for x in [x for x in odd_texts(words, 400, 1) if len(words.encode(x)) <= 30][:40]:
                ids = words.encode(x)
                rank = head == "classes"    # which the converter does not say
                found = by_transformers(model, ids, head) if rank else unit(other.result(ids, config.hidden_size), head)
                assert other.ids(x) == ids
                if rank:
                    found = np.exp(found) / np.exp(found).sum()
                f.write(json.dumps({"text": x, "ids": ids[1:-1], "result": [round(v, 9) for v in found.tolist()]}) + "\n")
        print(family, os.path.getsize(out + ".gguf"), sorted(os.listdir(out)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("llama_cpp")
    p.add_argument("cases", nargs="*", default=[f"{f}:{h}" for f in MODELS for h in ("mean", "cls", "classes")])
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    a, failed = p.parse_args(), 0
    if a.lathe == "record":
        return record(a.llama_cpp)
    for case in a.cases:
        for seed in a.seeds:
            with tempfile.TemporaryDirectory() as work:
                found = compare(a.lathe, a.llama_cpp, *case.split(":"), seed, work)
            left_out = case == "bert:classes" and set(found["file"]) <= {"cls.weight", "cls.bias"}
            good = not found["parameters"] and found["lathe"] < 1e-4 and not found["ids of the file"] and found["ids unlike"] <= 3 and found["with its gelu"] < 1e-3 and not found["again"] and (not found["file"] or left_out)
            failed += not good
            print("ok" if good else "FAILED", case, seed, *(f"{k} {v:.1e}," if isinstance(v, float) else f"{k} {v}," for k, v in found.items()), flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
