"""family_check.py: small random models with what published ones say in config.json, by transformers, llama.cpp and `lathe new`.

    family_check.py LATHE [--seed 1] [--keep DIR] [--exact-gelu] [FAMILY | FAMILY:CONFIG ...]

FAMILY is llama, smollm2, … (family_configs.py), bert, roberta, modernbert or minilm; needs torch, transformers, llama-cpp-python.  For each
configuration a folder is made as it is published, with a tokenizer, and described, built and run.  Compared with transformers are logits and
the gradient of each parameter (fp32, of the largest of each tensor), the files of the folder that export writes (bytes), greedy texts of 200
tokens, and whether the folder is read, too, with the config.json that transformers writes today; of decoders 20 prompts by transformers, by
Lathe, and by llama.cpp from the GGUF file (F32) that export writes.  One row of a table for each; exit 1 if one failed.

Where dynamic rotary positions go by the length of each text in transformers, they have that of seq here: it is asked for a text of seq tokens
first, and prompts are longer than what the model began with.

--exact-gelu: llama.cpp is one without its table for gelu (published.py says how it is built), and is judged alike in all families.
"""

import argparse
import filecmp
import json
import os
import random
import shutil
import sys
import tempfile

import llama_cpp
import torch
import transformers

import encoders
from encoder_configs import ENCODERS
from encoder_configs import published as published_encoder
from families import ROWS, apart, gradients
from family_configs import FAMILIES, REFUSED, published
from gguf_families import CUTS, TEXT, tokenizer
from huggingface import draw, read, run, write

HERE = os.path.dirname(os.path.abspath(__file__))
SEQ, DYNAMIC_SEQ, LONG_TEXT, SHORT_TEXT, PROMPTS, CONTEXT = 64, 320, 200, 40, 20, 256
CUT_AS = {"smollm2": "mistral", "gemma3": "gemma3_text"}
WORDS = [word for word in open(TEXT, encoding="utf-8").read().split() if word[0].isalpha()]


def put_json(folder, name, all):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(json.dumps(all, indent=2) + "\n")


def make_tokenizer(family, words, folder):
    if words == "spm":
        os.makedirs(folder)
        for name in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(os.path.join(HERE, "hf_spm", name), folder)
        return transformers.AutoTokenizer.from_pretrained(folder)
    t = tokenizer(*CUTS[CUT_AS.get(family, family)])
    t.save_pretrained(folder)
    return t


def make_folder(family, said, notes, work, seed):
    """The model, its tokenizer, and the ids that no text has; in work: hub, as it is published, and saved, as transformers writes it."""
    hub, saved = os.path.join(work, "hub"), os.path.join(work, "saved")
    t = make_tokenizer(family, notes.get("words"), hub)
    ends = [t.eos_token_id] + ([7] if said.get("eos_token_id") == "list" else [])
    said |= {"vocab_size": len(t) + notes.get("vocab_more", 0), "bos_token_id": t.bos_token_id, "eos_token_id": ends if len(ends) > 1 else ends[0]}
    if family in ("gemma", "gemma2", "gemma3", "phi3", "smollm3", "olmo2"):
        said["pad_token_id"] = 0  # the row of a pad token gets no gradient there; no text has it
    put_json(hub, "config.json", said | ({"rope_scaling": said["rope_scaling"] | {"type": "longrope"}} if notes.get("su") else {}))
    config = transformers.AutoConfig.from_pretrained(hub)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    if hasattr(config, "num_local_experts"):
        model.config._experts_implementation = "eager"
    draw(model, seed)
    model.save_pretrained(saved)
    for name in os.listdir(saved):
        if name != "config.json":
            shutil.copy(os.path.join(saved, name), hub)
    put_json(hub, "config.json", said)
    return model, t, ends + list(range(len(t), said["vocab_size"]))  # Lathe writes no ids that its tokenizer lacks


def files_differ(folder, other):
    names = set(os.listdir(folder)) | set(os.listdir(other)) - {"README.md"}  # which export adds
    return sorted(n for n in names if not os.path.exists(f"{folder}/{n}") or not os.path.exists(f"{other}/{n}") or not filecmp.cmp(f"{folder}/{n}", f"{other}/{n}", shallow=False))


def numbers(model, trainer, seq, seed, work):
    """Logits and gradients, of the largest."""
    text = torch.randint(3, model.config.vocab_size, (ROWS, seq + 1), generator=torch.Generator().manual_seed(seed))
    tokens, targets = text[:, :-1], text[:, 1:]
    write(f"{work}/in.safetensors", {"tokens": tokens.int().numpy(), "targets": targets.int().numpy()})
    run(trainer, "grad", "--weights", f"{work}/hub", "--inputs", f"{work}/in.safetensors", "--out", f"{work}/out.safetensors")
    out, full = read(f"{work}/out.safetensors"), model(tokens)
    loss = torch.nn.functional.cross_entropy(full.logits.flatten(0, 1), targets.flatten())
    if getattr(full, "aux_loss", None) is not None:
        loss = loss + model.config.router_aux_loss_coef * full.aux_loss
    loss.backward()
    own = {k.removeprefix("grad."): x for k, x in out.items() if k.startswith("grad.")}
    assert abs(out["loss"].item() / loss.item() - 1) < 1e-5, (out["loss"], loss)
    return apart(out["output.logits"], full.logits.detach()), gradients(model, trainer, own, work)


def prompts(r, t, count, fewest):
    """Texts of some words each, of `fewest` tokens or a few more"""
    for _ in range(count):
        text, least = "So", fewest + r.randint(0, 8)
        while len(t(text)["input_ids"]) < least:
            text += " " + r.choice(WORDS)
        yield text


def own_texts(trainer, path, texts, count):
    return [one["tokens"] for one in json.loads(run(trainer, "generate", "--weights", path, "--prompt", *texts, "--tokens", str(count), "--ignore-eos", "--set", "temperature=0", "--json"))]


@torch.no_grad()
def their_text(model, start, count, ends, seq):
    ids = torch.tensor([start])
    if seq != SEQ:
        model(torch.zeros((1, seq), dtype=torch.long))
    made = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=count, eos_token_id=[], pad_token_id=0, suppress_tokens=ends)
    return made[0].tolist()


def llama_text(llama, start, count, ends):
    def without_ends(_, logits):
        logits[ends] = -float("inf")
        return logits

    ids = []
    llama.reset()
    for one in llama.generate(start, temp=0.0, logits_processor=llama_cpp.LogitsProcessorList([without_ends])):
        ids.append(one)
        if len(ids) == count:
            return start + ids


@torch.no_grad()
def where_apart(model, own, theirs):
    """The first token that differs, and how far transformers' logits of the two are apart there, of the largest"""
    at = next(i for i, (a, b) in enumerate(zip(own, theirs)) if a != b)
    logits = model(torch.tensor([theirs[:at]])).logits[0, -1]
    return at, ((logits[theirs[at]] - logits[own[at]]).abs() / logits.abs().max()).item()


class Texts:
    """How many texts are the same, and where the first that is not parts; near: the two tokens' logits are alike there within 1e-4,
    or 1e-3 of a model with gelu, which llama.cpp takes from a table of halves"""

    exact_gelu = False

    def __init__(self, model):
        self.within = 1e-3 if model.config.model_type.startswith(("gpt", "gemma")) and not self.exact_gelu else 1e-4
        self.model, self.same, self.near, self.all, self.first = model, 0, 0, 0, ""

    def add(self, own, theirs):
        self.all, self.same = self.all + 1, self.same + (own == theirs)
        if own != theirs:
            at, apart = where_apart(self.model, own, theirs)
            self.near += apart < self.within
            self.first = self.first or f" (at token {at} two logits are {apart:.1e} apart)"

    def __str__(self):
        return f"{self.same}/{self.all}{self.first}"


def fewest_tokens(notes):
    return 52 if notes.get("dynamic") else 27 if notes.get("long") else 4


def texts_of(model, t, trainer, notes, ends, seq, r, work):
    """Three greedy texts of 200 tokens as transformers writes them"""
    said = Texts(model)
    for own in own_texts(trainer, f"{work}/hub", prompts(r, t, 3, fewest_tokens(notes)), LONG_TEXT):
        said.add(own, their_text(model, own[:-LONG_TEXT], LONG_TEXT, ends, seq))
    return said


def gguf_texts(model, t, trainer, notes, ends, r, work):
    """Of 20 prompts: transformers' texts beside ours, and llama.cpp's beside ours and theirs; or the refusal"""
    try:
        run(trainer, "export", "--to", "gguf", "--weights", f"{work}/hub", "--out", f"{work}/own.gguf")
    except SystemExit as refusal:
        word = notes.get("no_gguf")
        return bool(word) and word in str(refusal), "refused: " + str(refusal).split("error: ", 1)[-1].strip()[:160]
    llama = llama_cpp.Llama(f"{work}/own.gguf", n_ctx=CONTEXT, verbose=False, type_k=0, type_v=0, n_threads=1, seed=1)
    by_hf, by_llama, between = Texts(model), Texts(model), Texts(model)
    for own in own_texts(trainer, f"{work}/hub", prompts(r, t, PROMPTS, fewest_tokens(notes)), SHORT_TEXT):
        start = own[:-SHORT_TEXT]
        theirs, llamas = their_text(model, start, SHORT_TEXT, ends, SEQ), llama_text(llama, start, SHORT_TEXT, ends)
        by_hf.add(own, theirs), by_llama.add(own, llamas), between.add(llamas, theirs)
    good = by_hf.same == by_llama.same + by_llama.near == PROMPTS and not notes.get("no_gguf")
    return good, f"{by_hf}, {by_llama}" + ("" if between.same == PROMPTS else f", llama.cpp's as transformers' {between}")


def compare(lathe, family, name, seed, work):
    """Whether it passed, what was measured"""
    r = random.Random(f"{family} {name} {seed}")
    said, notes = published(family, name, r)
    model, t, ends = make_folder(family, said, notes, work, seed)
    seq = DYNAMIC_SEQ if notes.get("dynamic") else SEQ
    run(lathe, "new", f"{work}/made", "--from", f"{work}/hub")
    trainer = run(lathe, "build", f"{work}/made/model.lua", "--set", f"batch={ROWS}", "--set", f"seq={seq}", "--set", "pack=false", "-o", f"{work}/made/built").strip()
    logits, grads = numbers(model, trainer, seq, seed, work)
    run(trainer, "export", "--to", "hf", "--weights", f"{work}/hub", "--out", f"{work}/back")
    other_files = files_differ(f"{work}/hub", f"{work}/back")
    run(trainer, "export", "--to", "hf", "--weights", f"{work}/saved", "--out", f"{work}/again")
    other_files += ["saved: " + n for n in files_differ(f"{work}/saved", f"{work}/again") if n in os.listdir(f"{work}/saved")]
    texts = texts_of(model, t, trainer, notes, ends, seq, r, work)
    good, gguf = gguf_texts(model, t, trainer, notes, ends, r, work)
    good &= logits < 1e-4 and grads < 1e-4 and not other_files and texts.same == texts.all
    return good, [f"{logits:.1e}", f"{grads:.1e}", ", ".join(other_files) or "the same", str(texts), gguf]


def compare_encoder(lathe, family, name, seed, work):
    """The same of an encoder: outputs and gradients of fp32, as encoders.py judges them, and files"""
    head, said = published_encoder(family, name, random.Random(f"{family} {name} {seed}"))
    single, double, own, _ = encoders.compare(lathe, said["model_type"], head, seed, work, said)
    differ = files_differ(f"{work}/folder", f"{work}/back")
    good = max(*single[:2], *double[:3]) < 1e-4 and single[3] < max(1e-4, 4 * own) and not differ
    return good, [f"{single[0]:.1e} ({head})", f"{single[3]:.1e} (PyTorch's from its fp64: {own:.1e}), fp64 {double[2]:.1e}", ", ".join(differ) or "the same", "", ""]


def row(family, name, good, cells):
    print(f"| {family} | {name} | " + " | ".join(cells) + f" | {'pass' if good else 'FAIL'} |", flush=True)


def check(lathe, family, name, seed, work):
    """One row; whether it passed"""
    expected = REFUSED.get((family, name))
    try:
        good, cells = (compare_encoder if family in ENCODERS else compare)(lathe, family, name, seed, work)
        good &= not expected
    except SystemExit as refusal:
        found = str(refusal).strip()
        good, cells = bool(expected) and expected in found, ["refused: " + " ".join(found.split("error: ", 1)[-1].split())[:300]]
    except Exception as fault:  # a row of its own, and on with the others
        good, cells = False, [f"{type(fault).__name__}: {' '.join(str(fault).split())[:300]}"]
    row(family, name, good, cells)
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lathe")
    p.add_argument("cases", nargs="*", default=[*FAMILIES, *ENCODERS])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", help="a folder in which the work of each case stays")
    p.add_argument("--exact-gelu", action="store_true")
    a, failed, all = p.parse_intermixed_args(), 0, 0
    Texts.exact_gelu = a.exact_gelu
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error(), transformers.logging.disable_progress_bar()
    print("| family | config | logits | gradients | files | texts of 200 | 20 prompts: transformers, llama.cpp | |\n|" + " --- |" * 8)
    for case in a.cases:
        family, _, name = case.partition(":")
        for name in [name] if name else {**FAMILIES, **ENCODERS}[family][1]:
            with tempfile.TemporaryDirectory() as made:
                work = os.path.join(a.keep, f"{family}-{name}".replace(" ", "_")) if a.keep else made
                os.makedirs(work, exist_ok=True)
                failed += not check(os.path.abspath(a.lathe), family, name, a.seed, work)
                all += 1
    print(f"\n{all - failed} of {all} as they should be")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
