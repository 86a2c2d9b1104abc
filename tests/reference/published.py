"""published.py: a published model in a GGUF file, imported by Lathe, beside llama.cpp, transformers, PEFT and TRL.

    published.py logits LATHE FILE.gguf TEXT [--ids 512]    logits of a text with llama.cpp's and transformers'
    published.py tokens LATHE FILE.gguf [--texts 2000]      ids of odd texts with llama.cpp's and transformers'
    published.py train LATHE FILE.gguf CHATS.jsonl          20 losses with those of transformers' Trainer
    published.py adapt LATHE FILE.gguf CHATS.jsonl          20 losses of adapters with PEFT's
    published.py adapter LATHE FILE.gguf CHATS.jsonl        these adapters in PEFT and in llama.cpp, and merged
    published.py killed LATHE FILE.gguf CHATS.jsonl         the bits of that run after another that was killed and resumed
    published.py prefer LATHE FILE.gguf                     20 losses with those of TRL's DPOTrainer

All take --work FOLDER, where descriptions, trainers, exports and runs are kept; trainers that are there are not built again.  CHATS.jsonl is
what facts.py makes.  llama.cpp reads Lathe's own F32 export, transformers its export for Hugging Face.  Chats are rendered and encoded by
transformers; which of them share a step is worked out in batch_order.py.  Where a bound is passed over, the exit code is 1.  A process
takes up to 5 GB.

llama.cpp's CPU code takes gelu by tanh from a table of 16 bits.  One without it is built from llama-cpp-python's source package, where two
lines are left out: sed -i '/^#define GGML_GELU_/d' vendor/llama.cpp/ggml/src/ggml-cpu/vec.h, then pip install . in an environment of its own.
With that one, --exact-gelu: its logits must be within 1e-4 of the largest.
"""

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = sys.path.pop(0)  # where datasets.py is another than the package

import llama_cpp
import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

sys.path.append(HERE)
from batch_order import ORDER_SITE, ROW_SITE, SEED, packed, shuffled
from facts import FACTS, NAMES, QUESTIONS
from gguf_tokens import PARTS
from huggingface import read, run, write

STEPS, ROWS, SEQ, PREFER_SEQ = 20, 2, 128, 96
FAULTS = []


def tell(what, good):
    FAULTS.extend([what] * (not good))
    print(f"{'ok' if good else 'FAILED'}  {what}", flush=True)


def apart(a, b):
    """The largest difference over the largest value"""
    return float(np.abs(a - b).max() / np.abs(b).max())


class Work:
    """The folder of a model: its description, exports and trainers, each made once"""

    def __init__(self, a):
        self.lathe, self.file, self.folder, self.template = a.lathe, a.file, a.work, a.template
        os.makedirs(self.folder, exist_ok=True)
        if not os.path.exists(self.at("model")):
            run(self.lathe, "new", self.at("model"), "--from", self.file)

    def at(self, name):
        return os.path.join(self.folder, name)

    def trainer(self, name, *options):
        path = os.path.join(self.at(name), "trainer")
        if not os.path.exists(path):
            run(self.lathe, "build", os.path.join(self.at("model"), "model.lua"), *options, "-o", self.at(name))
        return path

    def wide(self, ids=512):
        return self.trainer(f"wide-{ids}", "--set", "batch=1", "--set", f"seq={ids}", "--set", "pack=false")

    def export(self, kind):
        """The weights as they are, in fp32: hf or gguf"""
        path = self.at("exported." + kind)
        if not os.path.exists(path):
            print(run(self.wide(), "export", "--to", kind, "--weights", self.file, "--out", path + ".part").strip())
            os.rename(path + ".part", path)
        return path

    def tokenizer(self):
        t = AutoTokenizer.from_pretrained(self.export("hf"))
        if self.template:
            with open(self.template, encoding="utf-8") as f:
                t.chat_template = f.read()
        return t

    def model(self):
        return AutoModelForCausalLM.from_pretrained(self.export("hf"), dtype=torch.float32)


def llama(path, **more):
    return llama_cpp.Llama(path, n_ctx=512, n_batch=512, type_k=0, type_v=0, n_threads=2, flash_attn=False, verbose=False, **more)


# ---------------------------------------------------------------- logits


def lathe_logits(w, trainer, ids, *weights):
    """ids [rows][seq]"""
    rows, seq = ids.shape
    inputs = {"tokens": ids, "targets": ids, "segments": np.ones_like(ids), "positions": np.tile(np.arange(seq), (rows, 1))}
    needed = json.loads(run(trainer, "info", "--json"))["entries"]["grad"]["inputs"]
    write(w.at("in.safetensors"), {name: inputs[name].astype(np.int32) for name in needed})
    run(trainer, "grad", *weights, "--inputs", w.at("in.safetensors"), "--only", "logits", "--out", w.at("out.safetensors"))
    return read(w.at("out.safetensors"))["output.logits"]


def compare_logits(what, own, theirs, bound=1e-3):
    far, first = apart(own, theirs), float((own.argmax(-1) == theirs.argmax(-1)).mean())
    tell(f"logits of {len(own)} tokens with {what}: {far:.1e} of the largest apart, the likeliest equal at {100 * first:.1f} %",
         far < bound and first >= 0.99)  # fmt: skip


def logits(a):
    w = Work(a)
    with open(a.data, encoding="utf-8") as f:
        ids = np.array([w.tokenizer()(f.read(40 * a.ids))["input_ids"][: a.ids]])
    own = lathe_logits(w, w.wide(a.ids), ids, "--weights", a.file)[0]
    with torch.no_grad():
        compare_logits("transformers", own, w.model().eval()(torch.from_numpy(ids)).logits[0].numpy())
    theirs = llama_cpp.Llama(w.export("gguf"), n_ctx=a.ids, n_batch=a.ids, type_k=0, type_v=0, n_threads=2, flash_attn=False, logits_all=True, verbose=False)  # fmt: skip
    theirs.eval(ids[0].tolist())
    compare_logits("llama.cpp", own, theirs.scores[: a.ids], 1e-4 if a.exact_gelu else 1e-3)


# ---------------------------------------------------------------- tokens

MORE = ["👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👍🏽", "🇨🇭🇯🇵", "1\ufe0f\u20e3", "\u202eabc\u202c", "\ufeff", "\u0000", "\u0008", "\u001b[31m", "\u001f", "\u0084", "\r", "\r\r\n",
        "\n\r", "\t\t", "\t \t", " " * 7, " " * 16, " " * 33, "\n" * 5, "\n \n\t\n", "\u2003\u2009", "\u1680", "\u3000\u3000", "\u2029", "\v\f", "Z̸̢͑a̵l̶g̷o̴", "ẛ̣", "Å", "A\u030a",
        "한국\u1112\u1161\u11ab", "தமிழ்", "ಕನ್ನಡ", "ភាសាខ្មែរ", "བོད་ཡིག", "አማርኛ", "ᏣᎳᎩ", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "𐌰𐌱𐌲", "𝔘𝔫𝔦", "𠜎𠜱", "ﷺ", "لله", "שָׁלוֹם", "ǆ", "ß", "İı", "ŉ", "0x1F", "1e-9", "٠١٢٣", "੧੨",
        "千二百", "①②", "¾", "Ⅻ", "12345678901234567890", "1 000 000", "-3.5%", "Can't", "CAN'T", "it'S", "y'all'd've", "o'clock", "'tis", "’s", "l’été", "he'll'm", "'", "''", "\"'",
        "```\nx\n```", "</p>", "&amp;", "\\u0041", "{{x}}", "%d%%", "a_b-c.d", "CamelCaseXMLHttp", "http://x.y/?q=a+b", "<", "<|", "|>", "<|im", "im_end|>", "\ue000", "\U0010ffff", "\ufffd"]  # fmt: skip
SCRIPTS = [(0x20, 0x7E), (0xA0, 0x17F), (0x250, 0x2FF), (0x370, 0x3FF), (0x400, 0x4FF), (0x530, 0x58F), (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x74F), (0x900, 0x97F), (0xE00, 0xE7F), (0x10A0, 0x10FF),
           (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x2190, 0x22FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F6FF), (0x0, 0x1F)]  # fmt: skip


def odd_texts(count, special):
    r, texts = random.Random(7), [" ", "\n", "\t", "\r\n"]  # an empty text is no document
    parts = PARTS + MORE
    while len(texts) < count:
        pieces = [r.choice(parts) + r.choice(["", "", " ", "\n"]) for _ in range(r.randint(1, 14))]
        if r.random() < 0.3:
            first, last = r.choice(SCRIPTS)
            pieces.insert(r.randint(0, len(pieces)), "".join(chr(r.randint(first, last)) for _ in range(r.randint(1, 20))))
        for _ in range(r.choice([0, 0, 0, 1, 3])):
            pieces.insert(r.randint(0, len(pieces)), r.choice(special) + r.choice(["", "", " ", "\n"]))
        texts.append("".join(pieces))
    return texts


def lathe_ids(w, texts):
    path = w.at("texts.jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    return [json.loads(line) for line in run(w.lathe, "tokenize", "encode", "--tokenizer", w.file, "--json", "--format", "jsonl", path).splitlines()]


def tokens(a):
    w = Work(a)
    theirs, file = w.tokenizer(), llama_cpp.Llama(a.file, vocab_only=True, verbose=False)
    special = sorted(theirs.get_added_vocab())
    special = special if len(special) < 100 else random.Random(3).sample(special, 60) + theirs.all_special_tokens
    texts = odd_texts(a.texts, special)
    own = lathe_ids(w, texts)
    known = {"transformers": [theirs(text, add_special_tokens=False)["input_ids"] for text in texts],
             "llama.cpp": [file.tokenize(text.encode(), add_bos=False, special=True) for text in texts]}  # fmt: skip
    count = sum(any(s in text for s in special) for text in texts)
    print(f"{len(set(texts))} different texts, {sum(map(len, own))} ids, {len({i for ids in own for i in ids})} of them different; {count} with special tokens")
    for what, ids in known.items():
        wrong = [(text, x, y) for text, x, y in zip(texts, own, ids, strict=True) if x != y]
        tell(f"ids of {len(texts) - len(wrong)} of {len(texts)} texts as {what} gives them", not wrong)
        for text, x, y in wrong[:5]:
            print(f"    {text!r}\n    {x}\n    {y}")


# ---------------------------------------------------------------- chats


def said(t, messages, **how):
    return t.apply_chat_template(messages, tokenize=False, **how)


def chat_ids(t, messages, end):
    """Ids and labels: of the answer and its end; a newline and <|endoftext|>, where the tokenizer has it, come behind"""
    asked = said(t, messages[:-1], add_generation_prompt=True)
    answer = said(t, messages)[len(asked) :]
    encode = lambda text: t(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    prompt, counts, rest = encode(asked), encode(answer.rstrip("\n")), encode("\n") + end
    return prompt + counts + rest, [-100] * len(prompt) + counts + [-100] * len(rest)


def chat_batches(w, path):
    """Batches of steps, a chat in each row, padded: attention of packed chats does not see other chats either"""
    t = w.tokenizer()
    end = [t.get_vocab()[x] for x in ("<|endoftext|>",) if x in t.get_vocab()]
    with open(path, encoding="utf-8") as f:
        chats = [chat_ids(t, json.loads(line)["messages"], end) for line in f]
    rows = packed([len(ids) - 1 for ids, _ in chats], SEQ)
    order = shuffled(len(rows), 0, ROW_SITE)
    assert max(len(ids) for ids, _ in chats) <= SEQ and len(rows) >= STEPS * ROWS
    for step in range(STEPS):
        items = [chats[i] for row in order[step * ROWS : (step + 1) * ROWS] for i in rows[row]]
        long = max(len(ids) for ids, _ in items)
        fill = lambda xs, value: torch.tensor([x + [value] * (long - len(x)) for x in xs])  # noqa: E731
        mask = fill([[1] * len(ids) for ids, _ in items], 0)
        yield {"input_ids": fill([x for x, _ in items], 0), "labels": fill([y for _, y in items], -100), "attention_mask": mask}


# ---------------------------------------------------------------- training


def lines_of(out):
    with open(os.path.join(out, "metrics.jsonl")) as f:
        return [line for line in map(json.loads, f) if line["split"] == "train"]


def train_words(trainer, w, data, out, *more):
    return [trainer, "train", "--init", w.file, "--data", data, "--steps", str(STEPS), "--log-every", "1", "--val-fraction", "0",
            "--seed", str(SEED), "--out", out, *more]  # fmt: skip


def lathe_run(trainer, w, data, out, *more):
    """The lines of its steps; a whole run that is there is taken"""
    with open(os.path.join(out + ".log"), "a") as log:
        if os.path.exists(os.path.join(out, "checkpoints", f"step-{STEPS}")):
            return lines_of(out)
        subprocess.run(train_words(trainer, w, data, out, *more), check=True, stdout=log, stderr=log)
    return lines_of(out)


def rate(m, s):
    """Of step s from 0: a warm-up, then a cosine"""
    if s < m["warmup"]:
        return m["lr"] * (s + 1) / (m["warmup"] + 1)
    return m["final_lr"] + (m["lr"] - m["final_lr"]) * (1 + math.cos(math.pi * (s - m["warmup"]) / (STEPS - m["warmup"]))) / 2


def recorded(kind):
    """A trainer that takes items in order and keeps its losses"""

    class Recorder(kind):
        losses = []

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            result = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            self.losses.append((result[0] if return_outputs else result).item())
            return result

        def _get_train_sampler(self, *_):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    return Recorder


COMMON = dict(max_steps=STEPS, use_cpu=True, bf16=False, report_to="none", save_strategy="no", logging_steps=1, gradient_checkpointing=False)


def their_losses(model, m, batches):
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if (p.dim() >= 2) == decays], "weight_decay": m["decay"] * decays} for decays in (True, False)]
    update = torch.optim.AdamW(groups, m["lr"], (m["beta1"], m["beta2"]), m["eps"])
    schedule = torch.optim.lr_scheduler.LambdaLR(update, lambda s: rate(m, s) / m["lr"])
    settings = TrainingArguments(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=1, max_grad_norm=m["clip"], remove_unused_columns=False, **COMMON)  # fmt: skip
    trainer = recorded(Trainer)(model=model, args=settings, train_dataset=batches, data_collator=lambda items: items[0], optimizers=(update, schedule))  # fmt: skip
    trainer.train()
    return trainer.losses


def compare_losses(what, own, theirs, bound):
    for k, (x, y) in enumerate(zip(own, theirs, strict=True)):
        print(f"step {k + 1}: Lathe {x:.7f}, {what} {y:.7f}, {abs(x / y - 1):.1e}")
    far = max(abs(x / y - 1) for x, y in zip(own, theirs))
    tell(f"{len(own)} losses with {what}: at most {far:.1e} apart", far < bound and len(own) == STEPS)


def recipe(trainer, *changes):
    return {**json.loads(run(trainer, "info", "--json"))["recipe"], **dict(changes)}


def compare_training(w, trainer, data, model, what, bound, lr):
    """Lathe's run lies in WORK/run-WHAT."""
    batches, out = list(chat_batches(w, data)), w.at("run-" + what)
    lines = lathe_run(trainer, w, data, out, "--set", f"lr={lr}", "--set", "decay=0.1", "--save-every", "5")
    m = recipe(trainer, ("lr", lr), ("decay", 0.1))
    counted = np.cumsum([int((b["labels"] != -100).sum()) for b in batches])
    tell("each step has the expected number of targets", [line["tokens"] for line in lines] == counted.tolist())
    tell("learning rates are as expected", all(abs(line["lr"] / rate(m, s) - 1) < 1e-6 for s, line in enumerate(lines)))
    compare_losses(what, [line["loss"] for line in lines], their_losses(model.train(), m, batches), bound)
    return out


def train(a):
    w = Work(a)
    trainer = w.trainer("built", "--set", f"batch={ROWS}", "--set", f"seq={SEQ}")
    compare_training(w, trainer, a.data, w.model(), "transformers", 1e-3, 2e-4)


# ---------------------------------------------------------------- adapters


def low(w):
    return w.trainer("low", "--set", f"batch={ROWS}", "--set", f"seq={SEQ}", "--lora", "rank=16,alpha=32")


def drawn_adapters(w, trainer, model):
    from peft import PeftModel

    if not os.path.exists(w.at("drawn")):
        run(trainer, "init", "--seed", str(SEED), "--init", w.file, "--out", w.at("drawn.safetensors"))
        run(trainer, "export", "--to", "peft", "--weights", w.at("drawn.safetensors"), "--out", w.at("drawn"))
    return PeftModel.from_pretrained(model, w.at("drawn"), is_trainable=True)


def killed_run(w, trainer, data, out):
    """Killed once between two saves, and resumed"""
    words = train_words(trainer, w, data, out, *ADAPTED)
    steps = os.path.join(out, "metrics.jsonl")
    with open(out + ".log", "w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        while process.poll() is None and not (os.path.exists(steps) and sum(1 for _ in open(steps)) >= 12):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        ended, before = process.wait(), sum(1 for _ in open(steps))
        tell(f"the run was killed after {before} steps", ended == -signal.SIGKILL and before < STEPS)
        subprocess.run([trainer, "train", "--resume", "--threads", "1", "--out", out], check=True, stdout=log, stderr=log)


def same_tensors(a, b):
    return all(open(os.path.join(a, name), "rb").read() == open(os.path.join(b, name), "rb").read() for name in ("model.safetensors", "optimizer.safetensors"))


def greedy(model, prompts, count):
    """llama.cpp's ids behind each prompt"""
    texts = []
    for ids in prompts:
        made = []
        for token in model.generate(ids, temp=0.0, repeat_penalty=1.0, top_k=1):
            if token == model.token_eos() or len(made) == count:
                break
            made.append(token)
        texts.append(made)
    return texts


def lathe_greedy(trainer, questions, prompts, count, *weights):
    """Of --chat, whose prompts must have the ids that transformers gives them"""
    out = run(trainer, "generate", *weights, "--chat", "--prompt", *questions, "--tokens", str(count), "--set", "temperature=0", "--json")
    all = [one["tokens"] for one in json.loads(out)]
    tell("prompts of chats have the ids of transformers' template", all and [x[: len(ids)] for x, ids in zip(all, prompts, strict=True)] == prompts)
    return [x[len(ids) :] for x, ids in zip(all, prompts)]


def compare_texts(what, own, theirs):
    same = sum(x == y for x, y in zip(own, theirs, strict=True))
    tell(f"{same} of {len(own)} greedy texts ({sum(map(len, own))} tokens) as of {what}", same == len(own))
    for x, y in [(x, y) for x, y in zip(own, theirs) if x != y][:3]:
        print(f"    {x}\n    {y}")


def compare_adapter(w, trainer, out):
    """The adapter in PEFT and merged: logits; the base alone must be far from both"""
    from peft import PeftModel

    run(trainer, "export", "--to", "peft", "--weights", out, "--out", w.at("peft"))
    run(trainer, "export", "--to", "hf", "--weights", out, "--out", w.at("merged.hf"))
    t = w.tokenizer()
    text = " ".join(said(t, [{"role": "user", "content": QUESTIONS[k % 5].format(does)}, {"role": "assistant", "content": name}]) for k, (name, does) in enumerate(FACTS))  # fmt: skip
    ids = np.array(t(text)["input_ids"][: ROWS * SEQ]).reshape(ROWS, SEQ)
    own, x = lathe_logits(w, trainer, ids, "--weights", out), torch.from_numpy(ids)
    with torch.no_grad():
        base = w.model().eval()
        plain = base(x).logits.numpy()
        theirs = PeftModel.from_pretrained(base, w.at("peft")).eval()(x).logits.numpy()
        merged = AutoModelForCausalLM.from_pretrained(w.at("merged.hf"), dtype=torch.float32).eval()(x).logits.numpy()
    tell(f"logits with the adapter in PEFT: {apart(own, theirs):.1e} of the largest apart (the base alone: {apart(plain, theirs):.1e})", apart(own, theirs) < 1e-5)
    tell(f"logits merged by Lathe, in transformers, with the adapter in PEFT: {apart(merged, theirs):.1e} of the largest apart", apart(merged, theirs) < 1e-5)
    again = lathe_logits(w, trainer, ids, "--weights", w.file, "--adapter", w.at("peft"))
    tell("logits of Lathe with the folder over the published file have the same bits", (again == own).all())


def compare_adapter_file(w, trainer, out, count=32):
    """The adapter and the merged model in llama.cpp: greedy answers to all questions"""
    run(trainer, "export", "--to", "gguf-adapter", "--weights", out, "--out", w.at("adapter.gguf"))
    run(trainer, "export", "--to", "gguf", "--weights", out, "--out", w.at("merged.gguf"))
    t, questions = w.tokenizer(), [QUESTIONS[0].format(does) for _, does in FACTS]
    prompts = [t(said(t, [{"role": "user", "content": q}], add_generation_prompt=True), add_special_tokens=False)["input_ids"] for q in questions]
    own = lathe_greedy(trainer, questions, prompts, count, "--weights", out)
    for example in t.batch_decode(own[:3]):
        print(f"    {example!r}")
    compare_texts("llama.cpp with the adapter", own, greedy(llama(w.export("gguf"), lora_path=w.at("adapter.gguf")), prompts, count))
    compare_texts("llama.cpp with the merged file", own, greedy(llama(w.at("merged.gguf")), prompts, count))


ADAPTED = ("--set", "lr=0.002", "--set", "decay=0.1", "--save-every", "5")


def adapt(a):
    w = Work(a)
    compare_training(w, low(w), a.data, drawn_adapters(w, low(w), w.model()), "PEFT", 1e-4, 2e-3)


def adapter(a):
    w = Work(a)
    lathe_run(low(w), w, a.data, w.at("run-PEFT"), *ADAPTED)
    compare_adapter(w, low(w), w.at("run-PEFT"))
    compare_adapter_file(w, low(w), w.at("run-PEFT"))


def killed(a):
    w = Work(a)
    lathe_run(low(w), w, a.data, w.at("run-PEFT"), *ADAPTED)
    killed_run(w, low(w), a.data, w.at("killed"))
    last = f"checkpoints/step-{STEPS}"
    tell("the killed and resumed run has the same bits", same_tensors(w.at("run-PEFT/" + last), w.at("killed/" + last)))


# ---------------------------------------------------------------- preference pairs


def pairs():
    """24 of them: the right name is chosen, another rejected"""
    r = random.Random(11)
    for k in range(24):
        name, does = FACTS[k % len(FACTS)]
        wrong = r.choice([other for other in NAMES if other != name])
        answer = lambda who: [{"role": "assistant", "content": f"{who} {does}."}]  # noqa: E731
        yield {"prompt": [{"role": "user", "content": QUESTIONS[k // 4 % 5].format(does)}], "chosen": answer(name), "rejected": answer(wrong)}


def prefer(a):
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    w, rows, lr = Work(a), list(pairs()), 1e-5
    with open(w.at("pairs.jsonl"), "w") as f:
        f.writelines(json.dumps(pair) + "\n" for pair in rows)
    trainer = w.trainer("prefer", "--set", f"batch={ROWS}", "--set", f"seq={PREFER_SEQ}", "--prefer", "dpo,beta=0.1")
    lines = lathe_run(trainer, w, w.at("pairs.jsonl"), w.at("run-TRL"), *(word for s in (f"lr={lr}", "schedule=constant", "warmup=0") for word in ("--set", s)))
    m = recipe(trainer)
    order = [rows[i] for epoch in range(STEPS * ROWS // len(rows) + 1) for i in shuffled(len(rows), epoch, ORDER_SITE)][: STEPS * ROWS]
    config = DPOConfig(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=ROWS, learning_rate=lr, lr_scheduler_type="constant", warmup_steps=0,
                       weight_decay=m["decay"], adam_beta1=m["beta1"], adam_beta2=m["beta2"], adam_epsilon=m["eps"], max_grad_norm=m["clip"],
                       beta=0.1, max_length=PREFER_SEQ + 1, disable_dropout=True, **COMMON)  # fmt: skip
    theirs = recorded(DPOTrainer)(model=w.model(), args=config, train_dataset=Dataset.from_list(order), processing_class=w.tokenizer())
    theirs.train()
    compare_losses("TRL", [line["loss"] for line in lines], theirs.losses[:STEPS], 1e-3)


def main():
    p = argparse.ArgumentParser()
    commands = p.add_subparsers(dest="command", required=True)
    for what in (logits, tokens, train, adapt, adapter, killed, prefer):
        c = commands.add_parser(what.__name__)
        c.set_defaults(what=what)
        c.add_argument("lathe")
        c.add_argument("file")
        if what not in (tokens, prefer):
            c.add_argument("data")
        c.add_argument("--work")
        c.add_argument("--ids", type=int, default=512)
        c.add_argument("--texts", type=int, default=2000)
        c.add_argument("--template", help="a chat template's text, for a model that was published without one")
        c.add_argument("--exact-gelu", action="store_true")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        a.work = a.work or folder
        a.what(a)
    sys.exit(len(FAULTS) > 0)


if __name__ == "__main__":
    main()
