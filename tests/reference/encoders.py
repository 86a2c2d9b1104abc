"""encoders.py: random small encoders by transformers, and what `lathe new` makes of their folders.

    encoders.py LATHE [--seeds 1 2 3] [FAMILY:HEAD ...]

For each family, head and seed a configuration is drawn, with the options that published ones use.  transformers writes the folder; `lathe
new` describes it; a trainer is built.  Rows are padded, of unequal lengths.  Compared are the outputs, the loss and the gradient of each
parameter (1e-4 of the largest), and the folder that export writes (bytes of tensors).

    encoders.py record

writes tests/reference/encoders: base, as BERT is trained first, with a tokenizer; and a folder for each family, as save_pretrained() leaves it, and in each expected.safetensors: tokens [B][T],
lengths, label I32 [B] (of bert types [B][T], too), logits F64 [B][C], loss F64 [1].
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile

import numpy as np
import torch
import transformers

from families import apart
from huggingface import draw, read, run, write

VOCAB, ROWS, SEQ, CLASSES = 96, 5, 24, 4
CLS, SEP, MASK = 1, 2, 3
TASKS = {"classes": "AutoModelForSequenceClassification", "tokens": "AutoModelForTokenClassification", "masked": "AutoModelForMaskedLM", "embedding": "AutoModel"}


def configuration(family, head, r):
    heads, width = r.choice([1, 2, 3]), r.choice([8, 10, 16])
    sizes = dict(vocab_size=VOCAB, num_attention_heads=heads, num_hidden_layers=r.choice([1, 2, 3]), hidden_size=heads * width,
                 intermediate_size=r.choice([34, 48, 70]), bos_token_id=None, eos_token_id=None,
                 num_labels=r.choice([2, CLASSES]) if head in ("classes", "tokens") else 2)  # fmt: skip
    if family in ("bert", "roberta"):
        sizes.update(max_position_embeddings=r.choice([40, 64]), layer_norm_eps=r.choice([1e-12, 1e-5]), hidden_dropout_prob=r.choice([0.0, 0.1]),
                     attention_probs_dropout_prob=r.choice([0.0, 0.1]), classifier_dropout=r.choice([None, 0.2]), pad_token_id=0,
                     hidden_act=r.choice(["gelu", "gelu", "gelu_new", "relu"]))  # fmt: skip
        if family == "bert":
            return transformers.BertConfig(**sizes, type_vocab_size=2)
        return transformers.RobertaConfig(**{**sizes, "pad_token_id": 1}, type_vocab_size=r.choice([1, 2]))
    if family == "modernbert":
        layers = r.choice([2, 3, 5])
        types = {"layer_types": ["sliding_attention" if i % 2 else "full_attention" for i in range(layers)]}
        bases = r.choice([{}, {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 8e4}, "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}}])
        return transformers.ModernBertConfig(
            **{**sizes, "num_hidden_layers": layers}, max_position_embeddings=512, local_attention=r.choice([6, 10, 16]), norm_eps=r.choice([1e-5, 1e-6]),
            norm_bias=r.random() < 0.2, attention_bias=r.random() < 0.2, mlp_bias=r.random() < 0.2, classifier_bias=r.random() < 0.3, decoder_bias=r.random() < 0.7,
            classifier_pooling=r.choice(["cls", "mean"]), pad_token_id=0, cls_token_id=1, sep_token_id=2, **r.choice([{}, types]), **bases)  # fmt: skip
    raise SystemExit(f"no family {family}")


def batch(r, vocab, pad):
    """Rows of unequal lengths, the first full: ids [ROWS][SEQ], lengths [ROWS]."""
    lengths = np.array([SEQ] + [r.randint(3, SEQ) for _ in range(ROWS - 1)], np.int32)
    tokens = np.full((ROWS, SEQ), pad, np.int32)
    for row, n in enumerate(lengths):
        tokens[row, :n] = [CLS] + [r.randint(4, vocab - 1) for _ in range(n - 2)] + [SEP]
    if pad == 1:                            # RoBERTa's first token is 0
        tokens[:, 0] = 0
    return tokens, lengths


def mask_of(lengths):
    return torch.arange(SEQ)[None] < torch.from_numpy(lengths.astype(np.int64))[:, None]


def embeddings(model, tokens, lengths):
    """As sentence-transformers' pooling by the mean, and its normalising."""
    real = mask_of(lengths)
    x = model(torch.from_numpy(tokens.astype(np.int64)), attention_mask=real.long()).last_hidden_state
    mean = (x * real[..., None]).sum(1) / real.sum(1, keepdim=True)
    return torch.nn.functional.normalize(mean, dim=1)


def theirs(head, model, inputs, out):
    """Their outputs by name, with padding left out, and the loss."""
    tokens, lengths = inputs["tokens"], inputs["lengths"]
    real, how = mask_of(lengths), {}
    if "types" in inputs:
        how["token_type_ids"] = torch.from_numpy(inputs["types"].astype(np.int64))
    if head == "embedding":
        a, b = embeddings(model, tokens, lengths), embeddings(model, inputs["second"], inputs["second_lengths"])
        return {"embedding": a}, torch.nn.functional.cross_entropy(a @ b.T / 0.05, torch.arange(ROWS)), None
    if head == "masked":
        tokens = out["output.read"]
        targets = torch.from_numpy(out["output.targets"].astype(np.int64))
        logits = model(torch.from_numpy(tokens.astype(np.int64)), attention_mask=real.long()).logits
        return {"logits": logits}, torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1), real
    if head == "tokens":
        done = model(torch.from_numpy(tokens.astype(np.int64)), attention_mask=real.long(), labels=torch.from_numpy(inputs["labels"].astype(np.int64)))
        return {"logits": done.logits}, done.loss, real
    done = model(torch.from_numpy(tokens.astype(np.int64)), attention_mask=real.long(), labels=torch.from_numpy(inputs["label"].astype(np.int64)), **how)
    return {"logits": done.logits}, done.loss, None


def gradients(model, trainer, own, work):
    """The largest difference over parameters, by Hugging Face's names: of the largest element of each parameter, and of all of them.  A
    parameter without a gradient there has zeros here."""
    write(f"{work}/grads.safetensors", own)
    run(trainer, "export", "--to", "hf", "--weights", f"{work}/grads.safetensors", "--out", f"{work}/grads")
    ours, worst, of_all = read(f"{work}/grads/model.safetensors"), 0, 0
    named = {n: p.grad if p.grad is not None else torch.zeros_like(p) for n, p in model.named_parameters()}
    assert ours.keys() == named.keys(), ours.keys() ^ named.keys()
    largest = max(g.abs().max().item() for g in named.values())
    for name, g in named.items():
        off = (torch.from_numpy(ours[name].copy()).double() - g.double()).abs().max().item()
        of_all = max(of_all, off / largest)
        # A bias of keys moves all scores alike, so its gradient is 0 but for rounding, in fp32 above 1e-14: of_all alone bounds it.
        if g.abs().max().item() > 1e-14 * largest and not name.endswith("key.bias"):
            worst = max(worst, off / g.abs().max().item())
    return worst, of_all


def labels_of(r, lengths, classes):
    """Of some tokens between the first and the last, as of words' first pieces; -100 of the others."""
    labels = np.full((ROWS, SEQ), -100, np.int32)
    for row, n in enumerate(lengths):
        labels[row, 1:n - 1] = [r.randrange(classes) if r.random() < 0.7 else -100 for _ in range(n - 2)]
    return labels


def drawn_masks(out, inputs):
    """15 % of the tokens between the first and the last are targets, and others stay as they are."""
    targets, seen, tokens = out["output.targets"], out["output.read"], inputs["tokens"]
    inner = mask_of(inputs["lengths"]).numpy() & (tokens != CLS) & (tokens != SEP)
    assert ((targets == -1) | (targets == tokens)).all() and (seen[targets == -1] == tokens[targets == -1]).all()
    assert not ((targets >= 0) & ~inner).any()


def put_config(folder, said):
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(said, indent=2) + "\n")


def made_of(said, head, folder):
    """A model of a config.json as it is published, and that file in `folder`."""
    os.makedirs(folder)
    put_config(folder, said)
    model = getattr(transformers, TASKS[head]).from_config(transformers.AutoConfig.from_pretrained(folder)).eval()
    put_config(folder, {**said, "architectures": [type(model).__name__]})
    return model


def compare(lathe, family, head, seed, work, said=None):
    """said: a config.json; None: one is drawn."""
    r = random.Random(seed * 7919 + sum(map(ord, family + head)))
    folder, made = os.path.join(work, "folder"), os.path.join(work, "made")
    if said:
        model = made_of(said, head, folder)
    else:
        model = getattr(transformers, TASKS[head]).from_config(configuration(family, head, r)).eval()
    draw(model, seed)
    model.save_pretrained(os.path.join(work, "now") if said else folder)
    if said:
        shutil.copy(os.path.join(work, "now", "model.safetensors"), folder)
    pair = head == "classes" and r.random() < 0.5
    run(lathe, "new", made, "--from", folder, "--head", head)
    sets = [f"batch={ROWS}", f"seq={SEQ}", f"mask={MASK}", f"cls={CLS}", f"sep={SEP}", f"pair={str(pair).lower()}"] + (["second=second"] if pair else [])
    inputs = dict(zip(["tokens", "lengths"], batch(r, VOCAB, model.config.pad_token_id)))
    if pair and getattr(model.config, "type_vocab_size", 1) > 1:
        places = np.arange(SEQ)[None]
        inputs["types"] = ((places >= inputs["lengths"][:, None] // 2) & (places < inputs["lengths"][:, None])).astype(np.int32)
    if head == "classes":
        inputs["label"] = np.array([r.randrange(model.config.num_labels) for _ in range(ROWS)], np.int32)
    if head == "tokens":
        inputs["labels"] = labels_of(r, inputs["lengths"], model.config.num_labels)
    if head == "embedding":
        inputs.update(zip(["second", "second_lengths"], batch(r, VOCAB, model.config.pad_token_id)))
    write(f"{work}/in.safetensors", inputs)
    found, grads = {}, {}
    for precision in ("fp32", "fp64"):
        words = [x for s in sets for x in ("--set", s)] + ["--precision", precision]
        trainer = run(lathe, "build", f"{made}/model.lua", *words, "-o", f"{made}/{precision}").strip()
        run(trainer, "grad", "--weights", folder, "--inputs", f"{work}/in.safetensors", "--out", f"{work}/out.safetensors")
        out = read(f"{work}/out.safetensors")
        if head == "masked":
            drawn_masks(out, inputs)
        model = model.double() if precision == "fp64" else model
        model.zero_grad()
        wanted, loss, real = theirs(head, model, inputs, out)
        loss.backward()
        outputs = max(apart(out["output." + k][real.numpy()] if real is not None else out["output." + k], (x[real] if real is not None else x).detach()) for k, x in wanted.items())
        off = abs(float(out["loss"].reshape(-1)[0]) - loss.item()) / abs(loss.item())
        own = {k.removeprefix("grad."): x for k, x in out.items() if k.startswith("grad.")}
        found[precision] = (outputs, off, *gradients(model, trainer, own, work))
        grads[precision] = {n: p.grad.double() for n, p in model.named_parameters() if p.grad is not None}
        if precision == "fp32":
            run(trainer, "export", "--to", "hf", "--weights", folder, "--out", f"{work}/back")
    before, after = read(f"{folder}/model.safetensors"), read(f"{work}/back/model.safetensors")
    same = before.keys() == after.keys() and all((before[k] == after[k]).all() for k in before)
    largest = max(g.abs().max() for g in grads["fp64"].values())
    return found["fp32"], found["fp64"], max((grads["fp32"][n] - g).abs().max() / largest for n, g in grads["fp64"].items()).item(), same


HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = {
    "bert": dict(layer_norm_eps=1e-12, hidden_act="gelu_new", max_position_embeddings=32, pad_token_id=0),
    "roberta": dict(layer_norm_eps=1e-5, max_position_embeddings=34, pad_token_id=1, type_vocab_size=1),
    "modernbert": dict(local_attention=6, pad_token_id=0, classifier_pooling="mean", max_position_embeddings=64, cls_token_id=CLS, sep_token_id=SEP),
}


def record():
    for family, how in RECORDED.items():
        r, folder = random.Random(family), os.path.join(HERE, "encoders", family)
        config = transformers.AutoConfig.for_model(family, vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=34,
                                                   bos_token_id=None, eos_token_id=None, num_labels=CLASSES, **how)  # fmt: skip
        model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
        draw(model, 900)
        inputs = dict(zip(["tokens", "lengths"], batch(r, VOCAB, config.pad_token_id)))
        inputs["label"] = np.array([r.randrange(CLASSES) for _ in range(ROWS)], np.int32)
        if family == "bert":
            inputs["types"] = (np.arange(SEQ)[None] >= inputs["lengths"][:, None] // 2).astype(np.int32)
        with torch.no_grad():
            wanted, loss, _ = theirs("classes", model.double(), inputs, None)
        model.to(torch.bfloat16).save_pretrained(folder)
        write(os.path.join(folder, "expected.safetensors"), {**inputs, "logits": wanted["logits"].numpy(), "loss": np.array([loss.item()])})
        print(folder, sorted(os.listdir(folder)))
    record_base()


def record_base():
    """BERT as it is trained first, with the tokenizer of wordpiece.py."""
    folder = os.path.join(HERE, "encoders", "base")
    words = transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(HERE, "wordpiece", "uncased", "tokenizer.json"), unk_token="[UNK]",
                                                 cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]")  # fmt: skip
    model = transformers.BertForPreTraining(transformers.BertConfig(vocab_size=len(words), hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
                                                                    intermediate_size=34, max_position_embeddings=32))  # fmt: skip
    draw(model, 901)
    model.to(torch.bfloat16).save_pretrained(folder)
    words.save_pretrained(folder)


def main():
    if sys.argv[1:] == ["record"]:
        return record()
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("cases", nargs="*", default=[f"{f}:{h}" for f in ("bert", "roberta", "modernbert") for h in TASKS])
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    a, failed = p.parse_args(), 0
    for case in a.cases:
        for seed in a.seeds:
            with tempfile.TemporaryDirectory() as work:
                single, double, own, same = compare(a.lathe, *case.split(":"), seed, work)
            good = max(*single[:2], *double[:3]) < 1e-4 and single[3] < max(1e-4, 4 * own) and same
            failed += not good
            print(f"{'ok' if good else 'FAILED'}  {case} {seed}: fp32 outputs {single[0]:.1e}, loss {single[1]:.1e}, gradients {single[3]:.1e} of "
                  f"the largest (PyTorch's from fp64's: {own:.1e}); fp64 outputs {double[0]:.1e}, gradients {double[2]:.1e} of their own largest; "
                  f"tensors {'the same' if same else 'DIFFER'}", flush=True)  # fmt: skip
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
