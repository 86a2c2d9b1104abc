"""wordpiece.py: ids of odd texts by WordPiece, as Hugging Face's tokenizers give them.

    wordpiece.py                 writes tests/reference/wordpiece: uncased and cased, each a tokenizer.json that is trained here and ids.jsonl;
                                 bert.json and roberta.json, with other tokens around texts, and rows.jsonl
    wordpiece.py LATHE [N]       compares the ids of N texts (2000) of each with `lathe tokenize encode`
    wordpiece.py pieces LATHE [N]  the same of folders with vocab.txt, with several tokenizer_config.json, which transformers' BertTokenizer
                                 reads
"""

import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
KINDS = {"uncased": dict(lowercase=True), "cased": dict(lowercase=False), "accents": dict(lowercase=True, strip_accents=False),
         "plain": dict(lowercase=False, strip_accents=True, handle_chinese_chars=False, clean_text=False)}  # fmt: skip
WORDS = ["the", "Running", "unaffable", "don't", "naïve", "Café", "ÜBER", "İstanbul", "ẞ", "ﬁne", "漢字", "かな", "한국어", "résumé", "e\u0301", "O\u0308",
         "1,234.5", "$100", "a\u00adb", "[MASK]", "[CLS]", " [SEP]", "[mask]", "a\u200bb", "x" * 101, "y" * 100, "“quoted”", "—", "…", "\u00a0", "\u2028",
         "\t", "\n", "\r\n", "\x00", "\x07", "\ufffd", "\ufeff", "😀", "👍🏽", "Ωμέγα", "ΣΑΣ", "привет", "שלום", "नमस्ते", "ก็", "𝔘", "₿", "ª", "Ǆ", "\u0345",
         "\U00010100", "\U000e0001", "\ue000", "\u0378", "##ing", "#", "a_b", "~`^", "ı", "K", "Å"]  # fmt: skip


def text(r):
    if r.random() < 0.1:
        return "".join(chr(r.choice([r.randrange(32, 127), r.randrange(0x80, 0x3000), r.randrange(0x3000, 0xD800), r.randrange(0xE000, 0x10000), r.randrange(0x10000, 0x20000)]))
                       for _ in range(r.randrange(1, 20)))  # fmt: skip
    return "".join(r.choice(WORDS) + r.choice([" ", " ", "  ", "", ", "]) for _ in range(r.randrange(1, 9)))


def made(how):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(**how), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    corpus = [" ".join(w for w in WORDS if w[0] not in "[#\x00")] * 3 + ["runs running runner the then there a b c x y o u e affable able"] * 3
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
    return t


def record():
    for kind, how in KINDS.items():
        folder, r, t = os.path.join(HERE, "wordpiece", kind), random.Random(kind), made(how)
        os.makedirs(folder, exist_ok=True)
        t.save(os.path.join(folder, "tokenizer.json"))
        with open(os.path.join(folder, "ids.jsonl"), "w") as f:
            for _ in range(150):
                x = text(r)
                f.write(json.dumps({"text": x, "ids": t.encode(x, add_special_tokens=False).ids}) + "\n")
    record_rows()


def roberta(t):
    """The same pieces, with RoBERTa's tokens around texts."""
    t.post_processor = processors.RobertaProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    return t


def bert(t):
    t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    return t


def record_rows():
    """Texts and pairs in rows of `most` ids at most, cut as transformers cuts them."""
    r = random.Random(5)
    with open(os.path.join(HERE, "wordpiece", "rows.jsonl"), "w") as f:
        for name, around in {"template": lambda t: t, "bert": bert, "roberta": roberta}.items():
            t = around(Tokenizer.from_file(os.path.join(HERE, "wordpiece", "uncased", "tokenizer.json")))
            if name != "template":
                t.save(os.path.join(HERE, "wordpiece", f"{name}.json"))
            for _ in range(60):
                two, most = r.random() < 0.7, r.randrange(6, 40)
                texts = [text(r), text(r)] if two else [text(r)]
                t.enable_truncation(most)
                e = t.encode(*texts)
                f.write(json.dumps({"around": name, "texts": texts, "most": most, "ids": e.ids, "types": e.type_ids}) + "\n")


def compare_pieces(lathe, n):
    from transformers import BertTokenizer

    for settings in (None, {"do_lower_case": False}, {"strip_accents": False}, {"do_lower_case": False, "strip_accents": True}, {"tokenize_chinese_chars": False}):
        kind = "cased" if (settings or {}).get("do_lower_case") is False else "uncased"
        vocab = json.load(open(os.path.join(HERE, "wordpiece", kind, "tokenizer.json")))["model"]["vocab"]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/vocab.txt", "w") as f:
                f.writelines(x + "\n" for x in sorted(vocab, key=vocab.get))
            if settings:
                json.dump(settings, open(f"{folder}/tokenizer_config.json", "w"))
            compare_one(lathe, n, f"vocab.txt, {settings}", folder, BertTokenizer.from_pretrained(folder).backend_tokenizer)


def compare(lathe, n):
    for kind in KINDS:
        folder = os.path.join(HERE, "wordpiece", kind)
        compare_one(lathe, n, kind, folder, Tokenizer.from_file(os.path.join(folder, "tokenizer.json")))


def compare_one(lathe, n, kind, folder, t):
    r, texts = random.Random(kind + "!"), []
    while len(texts) < n:
        texts.append(text(r))
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/texts.jsonl", "w") as f:
            for x in texts:
                f.write(json.dumps({"text": x}) + "\n")
        done = subprocess.run([lathe, "tokenize", "encode", "--tokenizer", folder, "--json", "--format", "jsonl", f"{work}/texts.jsonl"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours, wanted = [json.loads(x) for x in done.stdout.splitlines()], [t.encode(x, add_special_tokens=False).ids for x in texts]
    assert len(ours) == n, (len(ours), n)
    other = [(x, a, b) for x, a, b in zip(texts, ours, wanted) if a != b]
    print(f"{kind}: {n - len(other)} of {n} texts have the same ids", *(f"\n  {ascii(x)}: {a}, theirs {b}" for x, a, b in other[:8]))


if __name__ == "__main__":
    words = sys.argv[1:]
    how = compare_pieces if words[:1] == ["pieces"] else compare
    words = words[how is compare_pieces:]
    record() if not words else how(words[0], int(words[1]) if len(words) > 1 else 2000)
