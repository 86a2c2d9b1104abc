"""unigram.py: ids that Hugging Face's tokenizers and SentencePiece give for Unigram models.

    python3 tests/reference/unigram.py TEXT

learns small models from TEXT (tinyshakespeare.txt) and writes tests/reference/unigram/NAME/: tokenizer.json and ids.jsonl, a line
{"text", "ids"} each.  Needs tokenizers, sentencepiece and protobuf; the tests do not, they read the files.

    always, words, never, whole   tokenizers: Metaspace with a blank before each text; words between blanks, each with a blank; no
                                  blank put in, and tokens of bytes; a blank before the first piece, text not cut at blanks
    table                         sentencepiece: ids are its own; it has a table of replacements, and runs of blanks become one
"""

import io
import json
import os
import random
import sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers.pre_tokenizers import Metaspace, Sequence, WhitespaceSplit

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unigram")
SPECIAL = ["<unk>", "</s>"]
ODD = "あ中한ﬁéßΩ😀\u0301\u200d\u3000\u00a0\u00adㄱ①"
RULES = [
    ("①", "1"), ("ﬁ", "fi"), ("e\u0301", "é"), ("\u00ad", ""),
    ("\t", " "), ("\n", " "), ("\u3000", " "), ("\u00a0", " "),
]


def texts(corpus, seed, plain):
    draw = random.Random(seed)
    for i in range(150):
        if i % 2:
            at = draw.randrange(len(corpus) - 200)
            yield corpus[at : at + draw.randrange(120)]
            continue
        some = "  \t\n'.,abcdeE0x4" + ("" if plain else "▁▁<>/s")
        yield "".join(
            draw.choice(some) if draw.random() < 0.7 else draw.choice(ODD) for _ in range(draw.randrange(40))
        )


def save(name, tokenizer, ids_of, corpus, plain=False):
    folder = os.path.join(HERE, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        f.write(tokenizer.to_str() + "\n")
    with open(os.path.join(folder, "ids.jsonl"), "w") as f:
        for text in texts(corpus, len(name), plain):
            f.write(json.dumps({"text": text, "ids": ids_of(text)}) + "\n")


def learn(corpus, pre, size):
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    t.train_from_iterator(corpus.splitlines(keepends=True), trainer)
    return t


def with_bytes(t):
    model = json.loads(t.to_str())["model"]
    vocab = [tuple(p) for p in model["vocab"]] + [("<0x%02X>" % b, 0.0) for b in range(256)]
    out = Tokenizer(models.Unigram(vocab, 0, True))
    out.pre_tokenizer = t.pre_tokenizer
    out.add_special_tokens(SPECIAL)
    return out


def hugging_face(name, corpus, pre, bytes_too=False, split=True):
    t = learn(corpus, pre, 300)
    if not split:
        t.pre_tokenizer = Metaspace(prepend_scheme="first", split=False)
    if bytes_too:
        t = with_bytes(t)
    t.decoder = decoders.Metaspace()
    save(name, t, lambda text: t.encode(text, add_special_tokens=False).ids, corpus)


def table(corpus):
    rules, out = os.path.join(HERE, "rules.tsv"), io.BytesIO()
    with open(rules, "w") as f:
        for a, b in RULES:
            f.write(" ".join("%X" % ord(c) for c in a) + "\t" + " ".join("%X" % ord(c) for c in b) + "\n")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus.splitlines()), model_writer=out, vocab_size=300, num_threads=1,
        normalization_rule_tsv=rules, minloglevel=2,
    )
    os.remove(rules)
    model = proto.ModelProto.FromString(out.getvalue())
    t = Tokenizer(models.Unigram([(p.piece, p.score) for p in model.pieces], 0, False))
    t.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "▁"),
        ]
    )
    t.pre_tokenizer = Metaspace(prepend_scheme="always")
    t.add_special_tokens(["<unk>", "<s>", "</s>"])
    own = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    save("table", t, own.encode, corpus, plain=True)


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        corpus = f.read()[:300000]
    os.makedirs(HERE, exist_ok=True)
    hugging_face("always", corpus, Metaspace(prepend_scheme="always"))
    hugging_face("words", corpus, Sequence([WhitespaceSplit(), Metaspace(prepend_scheme="always")]))
    hugging_face("never", corpus, Metaspace(prepend_scheme="never"), bytes_too=True)
    hugging_face("whole", corpus, Metaspace(prepend_scheme="always"), split=False)
    table(corpus)
