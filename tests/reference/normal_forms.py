"""normal_forms.py: records what Hugging Face's tokenizers make of text with each of Unicode's normal forms.

    normal_forms.py TOKENIZER.json OUT.jsonl [--texts 60]

A line has the form, the text and its ids.  TOKENIZER.json is read with that form as its normalizer: a byte-level BPE, so that ids show
every byte.  tests/token/normal_forms.sh compares them; more texts find more.
"""

import argparse
import json
import random

from tokenizers import Tokenizer

# Combining marks, letters that have them, kana, hangul, ligatures, compatibility characters, what composes to nothing.
CODES = [*range(0x300, 0x345), *range(0xE0, 0x180), 0x3042, 0x304B, 0x3099, 0x309A, 0x30AB, 0xAC00, 0x1100, 0x1161, 0x11A8, 0x212B, 0x2126, 0xFB01,
         0x1E9B, 0x323, 0x307, 0x958, 0x2ADC, 0xFF76, 0xFF9E, 0x1D15E, 0x4E00, 0xF900, 0x2F800, 0xAA, 0xB2, 0x2460, 0x3392, 0x1F600]  # fmt: skip


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tokenizer")
    p.add_argument("out")
    p.add_argument("--texts", type=int, default=60)
    a = p.parse_args()
    r = random.Random(5)
    pool = [*"aeouAEOUncs  .,\n'12", *map(chr, CODES)]
    texts = ["".join(r.choice(pool) for _ in range(r.randrange(1, 40))) for _ in range(a.texts)]
    described = json.load(open(a.tokenizer))
    with open(a.out, "w") as out:
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            described["normalizer"] = {"type": form}
            tokenizer = Tokenizer.from_str(json.dumps(described))
            for text in texts:
                out.write(json.dumps({"form": form, "text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}) + "\n")


if __name__ == "__main__":
    main()
