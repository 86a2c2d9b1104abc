"""rouge.py: scores and stems that google-research's rouge_score (0.1.2, with NLTK 3.10) gives.

    python3 tests/reference/rouge.py TEXT

writes tests/reference/rouge.json: cases of texts, references and scores [precision, recall, f1], and stems of words of TEXT
(tinyshakespeare.txt) and of words put together from suffixes.  Needs rouge-score; the tests do not, they read the file.
"""

import json
import os
import random
import re
import sys

from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rouge.json")
KINDS = ["rouge1", "rouge2", "rougeL"]
SUFFIXES = """s es ies ied eed ed ing ational tional enci anci izer bli abli alli entli eli ousli ization ation ator alism iveness
fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment
ent ion sion tion ou ism ate iti ous ive ize e ll y ly ying yed at bl iz""".split()
ODD = ["sky", "skies", "dying", "lying", "tying", "news", "innings", "inning", "outings", "cannings", "howe", "proceed",
       "exceed", "succeed", "dies", "ties", "died", "tied", "yyyyy", "yyyyed", "1155ed", "aaaaing", "ness", "sses", "ying"]
UNFRIENDLY = [
    "", " ", "\n\t", "...!?", "- - -", "a", "A", "1", "the", "The THE the", "\u212a2 and \u0130stanbul", "\u0130", "na\u00efve caf\u00e9 \u00fcber",
    "\u4e2d\u6587 \u30c6\u30ad\u30b9\u30c8", "\U0001f600 yes \U0001f600", "a\u0000b a\u0000c", "don't can't won't", "3.14 3,14 3 14", "x" * 300, "a b " * 40, "b a " * 40,
    "snake_case and kebab-case", "\u017fhort \u0131s \u212b", "one\u2028two\u00a0three",
]


def passage(draw, words):
    return " ".join(draw.choice(words) for _ in range(draw.randrange(1, 40)))


def altered(draw, text, words):
    parts = text.split(" ")
    for _ in range(draw.randrange(1, 8)):
        at = draw.randrange(len(parts) + 1)
        what = draw.randrange(4)
        if what == 0:
            parts.insert(at, draw.choice(words))
        elif what == 1 and parts:
            parts.pop(min(at, len(parts) - 1))
        elif what == 2 and parts:
            parts[at - 1] = parts[at - 1].upper() + draw.choice(["", ",", "s", "ing"])
        elif parts:
            draw.shuffle(parts)
    return " ".join(parts)


def cases(corpus):
    draw = random.Random(7)
    words = corpus.split()
    few = words[:12]
    for text in UNFRIENDLY:
        for _ in range(3):
            yield draw.sample(UNFRIENDLY, draw.randrange(1, 4)), text
    for k in range(120):
        text = passage(draw, few if k % 3 == 0 else words)
        yield [altered(draw, text, words) for _ in range(draw.randrange(1, 4))], text
    start = len(corpus) // 3
    yield [corpus[start : start + 9000]], corpus[start + 700 : start + 8700]


def stem_words(corpus):
    draw = random.Random(8)
    words = sorted(set(re.findall("[a-z0-9]+", corpus.lower())))
    made = {a + b for a in draw.sample(words, 120) for b in draw.sample(SUFFIXES, 5)}
    made |= {draw.choice("bcdefgy") + draw.choice("aeiouy") + a + b for a in SUFFIXES for b in draw.sample(SUFFIXES, 6)}
    made |= {"".join(draw.choice("aeybst1l") for _ in range(draw.randrange(1, 9))) + draw.choice(SUFFIXES) for _ in range(400)}
    return sorted(set(draw.sample(words, 1500)) | made | set(ODD) | set(SUFFIXES))


def main():
    corpus = open(sys.argv[1], encoding="utf-8").read()
    scorers = [rouge_scorer.RougeScorer(KINDS, use_stemmer=stem) for stem in (False, True)]
    stemmer = PorterStemmer()
    out = {"cases": [], "stems": [[w, stemmer.stem(w)] for w in stem_words(corpus)]}
    for references, text in cases(corpus):
        scores = [
            [[s.precision, s.recall, s.fmeasure] for s in (found[k] for k in KINDS)]
            for found in (scorer.score_multi(references, text) for scorer in scorers)
        ]
        out["cases"].append({"references": references, "text": text, "plain": scores[0], "stemmed": scores[1]})
    with open(OUT, "w", encoding="utf-8") as f:
        f.write('{"stems": ' + json.dumps(out["stems"]) + ',\n"cases": [\n')
        f.write(",\n".join(json.dumps(c) for c in out["cases"]) + "\n]}\n")


main()
