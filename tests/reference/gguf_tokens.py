"""gguf_tokens.py: ids of odd texts by vocabularies of GGUF files, beside llama.cpp's.

    gguf_tokens.py LATHE FOLDER [--texts 2000] [NAME ...]

FOLDER has llama.cpp's files ggml-vocab-NAME.gguf.  Each vocabulary is written again as one of a llama, under its own name of how text is
cut (tokenizer.ggml.pre) and, for the smallest, under all names that are read but deepseek-coder: before its class of ideographs, which has
U+2028, llama.cpp makes a tab of that space, and so that class is not the published one.  Ids of drawn texts are compared with
llama-cpp-python's; for tekken, where llama.cpp has no classes of small and capital letters, of texts in ASCII.
"""

import argparse
import json
import os
import random
import sys
import tempfile

import gguf
import llama_cpp

from huggingface import run

REAL = ["gpt-2", "mpt", "llama-bpe", "qwen2", "qwen35", "starcoder", "refact", "command-r", "deepseek-coder", "falcon"]
SPM = ["llama-spm", "phi-3", "baichuan"]  # SentencePiece's byte pairs
NAMES = ("gpt-2 phi-2 mpt olmo jais smollm starcoder refact command-r codeshell exaone llama-bpe llama3 llama-v3 falcon3 dbrx smaug-bpe "
         "chatglm-bpe qwen2 deepseek-r1-qwen stablelm2 hunyuan qwen35 tekken falcon default").split()  # fmt: skip
PARTS = ["the", "Hello", "WORLD", "aB", "don't", "I'LL", "we'Re", "'s", "''ve", "12", "3", "2024", "1234567", "3.14", "1,000", "½", "Ⅳ", "²", "٣٤", "१२",
         " ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b", "!", "?!", "...", "…", "—", "“x”", "$", "+=", "<|>", "`a`",
         "~", "^", "_", "__init__", "foo_bar", "(a)", "[b]", "{c}", "#!", "/path/to", "\\n", "äöü", "Éa", "naïve", "e\u0301", "n\u0303", "ǅ", "ﬁ", "Привет", "мир", "Ελληνικά", "ά",
         "中文", "字。", "，", "日本語", "カナ", "한국어", "العربية", "עברית", "हिन्दी", "ไทย", "ქართული", "ʔ", "ª", "ƻ", "🙂", "👩\u200d👩", "❤\ufe0f", "→", "∑", "€", "©", "\u0001", "\u007f", "\u2581", "x\u2581y"]  # fmt: skip


def vocabulary(theirs, pre, path):
    fields = gguf.GGUFReader(theirs).fields
    get = lambda key: fields[f"tokenizer.ggml.{key}"].contents()  # noqa: E731
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(1), w.add_context_length(64), w.add_embedding_length(64), w.add_feed_forward_length(64), w.add_head_count(1)
    w.add_layer_norm_rms_eps(1e-5), w.add_tokenizer_model(get("model")), w.add_tokenizer_pre(pre)
    w.add_token_list(get("tokens")), w.add_token_types(get("token_type"))
    w.add_token_scores(get("scores")) if get("model") == "llama" else w.add_token_merges(get("merges"))
    w.add_bos_token_id(get("bos_token_id")), w.add_eos_token_id(get("eos_token_id"))
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


def drawn(count):
    r = random.Random(1)
    return ["".join(r.choice(PARTS) + r.choice(["", "", " ", "\n"]) for _ in range(r.randint(1, 14))) for _ in range(count)]


def compare(lathe, theirs, pre, texts, work):
    texts = [text for text in texts if pre != "tekken" or text.isascii()]
    path, lines = os.path.join(work, "vocab.gguf"), os.path.join(work, "texts.jsonl")
    vocabulary(theirs, pre, path)
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    own = [json.loads(line) for line in run(lathe, "tokenize", "encode", "--tokenizer", path, "--json", "--format", "jsonl", lines).splitlines()]
    llama = llama_cpp.Llama(path, vocab_only=True, verbose=False)
    known = [llama.tokenize(text.encode(), add_bos=False, special=True) for text in texts]
    assert len(own) == len(known), (len(own), len(known))
    return len(texts), [(text, a, b) for text, a, b in zip(texts, own, known) if a != b]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("folder")
    p.add_argument("names", nargs="*")
    p.add_argument("--texts", type=int, default=2000)
    a, failed = p.parse_args(), 0
    texts = drawn(a.texts)
    for name, pre in [(n, n) for n in REAL] + [(n, "default") for n in SPM] + [("gpt-2", n) for n in NAMES]:
        if a.names and not {name, pre} & set(a.names):
            continue
        with tempfile.TemporaryDirectory() as work:
            count, wrong = compare(a.lathe, os.path.join(a.folder, f"ggml-vocab-{name}.gguf"), pre, texts, work)
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok'}  vocabulary {name}, cut as {pre}: {count - len(wrong)} of {count} texts the same", flush=True)
        for text, own, known in wrong[:3]:
            print(f"    {text!r}: {own} {known}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
