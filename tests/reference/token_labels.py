"""token_labels.py: labels of words, by transformers' models for token classification.

    token_labels.py record

writes tests/reference/token_labels: words.jsonl, rows of words with labels; and a folder for each family, a small random model as
save_pretrained() leaves it, with a tokenizer, and beside them
    expected.safetensors   the first 5 rows as transformers' examples make them (is_split_into_words, the first piece of a word has its
                           label): tokens [5][24], lengths, labels I32, logits F64 [5][24][C], loss F64 [1]
    scores.txt             of all rows: loss and accuracy over labelled tokens
    labels.jsonl           of all rows: the label at each word's first piece, null where it has none
RoBERTa's tokenizer needs add_prefix_space=True for lists of words, though its file says false, as roberta-base's does.
"""

import json
import os
import random
import sys

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from encoders import HERE, SEQ
from huggingface import draw, write

ROWS, LABELS = 5, ["B-LOC", "B-ORG", "I-LOC", "I-ORG", "O"]
WORDS = ["EU", "rejects", "Running", "unaffable", "don't", "Café", "ÜBER", "漢字", "1,234.5", "a\u200bb", "\u200b", "the", "then", "running", "affable", "runner",
         "[SEP]", "x-y", "ﬁne", "Ωμέγα", "😀", "of", "there", "."]  # fmt: skip
OPTIONS = {
    "bert": dict(layer_norm_eps=1e-12, max_position_embeddings=32, pad_token_id=0),
    "roberta": dict(layer_norm_eps=1e-5, max_position_embeddings=34, type_vocab_size=1, pad_token_id=1),
    "modernbert": dict(local_attention=6, pad_token_id=0, max_position_embeddings=64, cls_token_id=2, sep_token_id=3),
}


def rows():
    """Some longer than SEQ pieces, and the last batch of 8 part-filled."""
    r = random.Random(44)
    all_rows = []
    for _ in range(43):
        words = [r.choice(WORDS) for _ in range(r.randrange(1, 14))]
        all_rows.append({"tokens": words, "labels": [LABELS[(len(w) + k) % 5] for k, w in enumerate(words)]})
    return all_rows


def tokenizer(family):
    """As BERT's; as RoBERTa's file has it, without a space before texts; as ModernBERT's."""
    if family == "bert":
        return transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(HERE, "wordpiece", "uncased", "tokenizer.json"), unk_token="[UNK]", cls_token="[CLS]",
                                                    sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]")  # fmt: skip
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if family == "roberta" else ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    cls, sep, pad, mask, unk = [names[k] for k in ((0, 2, 1, 4, 3) if family == "roberta" else (2, 3, 0, 4, 1))]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    text = [" ".join(WORDS), " ".join(WORDS[::-1])] * 3
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=330, special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    pair = [(sep, t.token_to_id(sep)), (cls, t.token_to_id(cls))]
    if family == "roberta":
        t.post_processor = processors.RobertaProcessing(*pair, trim_offsets=True, add_prefix_space=False)
    else:
        t.post_processor = processors.TemplateProcessing(single=f"{cls} $A {sep}", pair=f"{cls} $A {sep} $B {sep}", special_tokens=pair)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=t, unk_token=unk, cls_token=cls, sep_token=sep, pad_token=pad, mask_token=mask)


def with_spaces(words):
    """What add_prefix_space=True makes of RoBERTa's."""
    state = json.loads(words.backend_tokenizer.to_str())
    state["pre_tokenizer"]["add_prefix_space"] = True
    return transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(state)), pad_token=words.pad_token)


def aligned(words, all_rows):
    """As tokenize_and_align_labels() of run_ner.py."""
    out = words([x["tokens"] for x in all_rows], is_split_into_words=True, truncation=True, max_length=SEQ, padding="max_length", return_tensors="np")
    labels = np.full(out["input_ids"].shape, -100)
    for i, x in enumerate(all_rows):
        before = None
        for k, word in enumerate(out.word_ids(i)):
            if word is not None and word != before:
                labels[i, k] = LABELS.index(x["labels"][word])
            before = word
    return out["input_ids"], out["attention_mask"], labels


def first_labels(words, all_rows, logits):
    best, out = logits.argmax(-1).numpy(), words([x["tokens"] for x in all_rows], is_split_into_words=True, truncation=True, max_length=SEQ, padding="max_length")
    for i, x in enumerate(all_rows):
        places = out.word_ids(i)
        yield [LABELS[best[i][places.index(k)]] if k in places else None for k in range(len(x["tokens"]))]


def record_family(family, all_rows, top):
    folder, own = os.path.join(top, family), tokenizer(family)
    words = with_spaces(own) if family == "roberta" else own
    config = transformers.AutoConfig.for_model(family, vocab_size=len(own), hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=34, bos_token_id=None,
                                               eos_token_id=None, id2label=dict(enumerate(LABELS)), label2id={x: k for k, x in enumerate(LABELS)}, **OPTIONS[family])  # fmt: skip
    model = transformers.AutoModelForTokenClassification.from_config(config).eval()
    draw(model, 944)
    ids, mask, labels = (torch.from_numpy(np.ascontiguousarray(x)).long() for x in aligned(words, all_rows))
    with torch.no_grad():
        out, few = model.double()(ids, attention_mask=mask, labels=labels), model(ids[:ROWS], attention_mask=mask[:ROWS], labels=labels[:ROWS])
    counts = labels != -100
    model.to(torch.bfloat16).save_pretrained(folder)
    own.save_pretrained(folder)
    write(os.path.join(folder, "expected.safetensors"), {
        "tokens": ids[:ROWS].numpy().astype(np.int32), "lengths": mask[:ROWS].sum(1).numpy().astype(np.int32), "labels": labels[:ROWS].numpy().astype(np.int32),
        "logits": few.logits.numpy(), "loss": np.array([few.loss.item()])})  # fmt: skip
    right = (out.logits.argmax(-1) == labels)[counts].double().mean().item()
    with open(os.path.join(folder, "scores.txt"), "w") as f:
        f.write(f"{out.loss.item():.9f} {right:.9f}\n")
    with open(os.path.join(folder, "labels.jsonl"), "w") as f:
        f.writelines(json.dumps(x, separators=(",", ":")) + "\n" for x in first_labels(words, all_rows, out.logits))
    print(family, len(own), "ids; loss", out.loss.item(), "accuracy", right, "of", int(counts.sum()))


def main():
    if sys.argv[1:] != ["record"]:
        raise SystemExit(__doc__)
    top, all_rows = os.path.join(HERE, "token_labels"), rows()
    os.makedirs(top, exist_ok=True)
    with open(os.path.join(top, "words.jsonl"), "w") as f:
        f.writelines(json.dumps(x, ensure_ascii=False) + "\n" for x in all_rows)
    for family in OPTIONS:
        record_family(family, all_rows, top)


if __name__ == "__main__":
    main()
