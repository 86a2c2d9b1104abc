"""gguf_files.py: GGUF files and what they hold by other programs: of the Python packages gguf and transformers.

    gguf_files.py                       writes tests/reference/gguf/
    gguf_files.py compare MODEL.gguf TRAINER [TOKENS]
                                        logits of TRAINER, built for the model, beside those of transformers

blocks.gguf has a tensor of each type of element, of bytes drawn at random, and blocks.safetensors what `gguf` reads there.
rounded.gguf has floats, and the blocks that `gguf` makes of them.  llama.gguf
is a small Llama with a tokenizer, and llama/ the folder that transformers makes of it.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

import gguf
import numpy as np

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gguf")
IN_BLOCKS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, x in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + 4 * x.size]}
        at += 4 * x.size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(x.astype("<f4").tobytes() for x in tensors.values()))


def drawn_blocks(r, name):
    """Rows of random bits; scales, which are halves, are made small numbers: what is random may be infinite."""
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    bits = r.integers(0, 256, (3, 512 // elements, size), dtype=np.uint8)
    halves = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}.get(name, (0,))
    for at in halves:
        bits[..., at : at + 2] = r.normal(0, 0.1, bits.shape[:2]).astype("<f2")[..., None].view(np.uint8)
    return bits.reshape(3, -1), kind


def blocks():
    r, known = np.random.default_rng(1), {}
    writer = gguf.GGUFWriter(os.path.join(HERE, "blocks.gguf"), "blocks")
    for name in IN_BLOCKS:
        bits, kind = drawn_blocks(r, name)
        writer.add_tensor(name, bits, raw_dtype=kind)
        known[name] = gguf.dequantize(bits, kind)
    for name, kind in (("F32", np.float32), ("F16", np.float16)):
        known[name] = r.normal(0, 1, (3, 5)).astype(kind)
        writer.add_tensor(name, known[name])
    short = gguf.quantize(r.normal(0, 1, (3, 6)).astype("f4"), gguf.GGMLQuantizationType.BF16)
    writer.add_tensor("BF16", short, raw_dtype=gguf.GGMLQuantizationType.BF16)
    known["BF16"] = gguf.dequantize(short, gguf.GGMLQuantizationType.BF16)
    finish(writer)
    write_safetensors(os.path.join(HERE, "blocks.safetensors"), known)


def rounded():
    r = np.random.default_rng(3)
    x = r.normal(0, 1, (64, 32)).astype("f4") * np.exp2(r.integers(-20, 20, (64, 1))).astype("f4")
    x[0], x[1, 5], x[2, 3:9] = 0, -x[1].max(), -np.abs(x[2]).max()
    x[3] = np.tile(np.float32([0.5, -0.25, 8, -8]), 8)  # sizes that are equal, and halves of a step
    x[4] = np.arange(-16, 16) / np.float32(2)
    writer = gguf.GGUFWriter(os.path.join(HERE, "rounded.gguf"), "rounded")
    writer.add_tensor("x", x)
    for name in ("Q8_0", "Q4_0"):
        kind = gguf.GGMLQuantizationType[name]
        writer.add_tensor(name, gguf.quantize(x, kind), raw_dtype=kind)
    finish(writer)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def small_tokenizer():
    """Bytes and 24 merges, cut as SmolLM's, with the tokens of chats"""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])  # fmt: skip
    t.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    text = open(os.path.join(HERE, "..", "..", "..", "README.md"), encoding="utf-8").read()
    t.train_from_iterator([text], trainers.BpeTrainer(vocab_size=283, special_tokens=special,
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
    return t


def llama():
    from transformers import LlamaForCausalLM

    r, tokenizer = np.random.default_rng(2), small_tokenizer()
    model = json.loads(tokenizer.to_str())["model"]
    words = sorted(model["vocab"], key=model["vocab"].get)
    heads, kv, width, hidden, layers = 4, 2, 64, 96, 2
    path = os.path.join(HERE, "llama.gguf")
    w = gguf.GGUFWriter(path, "llama")
    w.add_block_count(layers), w.add_context_length(64), w.add_embedding_length(width), w.add_feed_forward_length(hidden)
    w.add_head_count(heads), w.add_head_count_kv(kv), w.add_layer_norm_rms_eps(1e-5), w.add_rope_freq_base(5e4)
    w.add_rope_dimension_count(width // heads), w.add_vocab_size(len(words)), w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("smollm"), w.add_token_list(words), w.add_token_types([3] * 3 + [1] * (len(words) - 3))
    w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in model["merges"]])
    w.add_bos_token_id(1), w.add_eos_token_id(2), w.add_add_bos_token(False), w.add_chat_template("{{ messages }}")

    def add(name, rows, columns, kind):
        kind = gguf.GGMLQuantizationType[kind]
        w.add_tensor(name, gguf.quantize(r.normal(0, 0.2, (rows, columns)).astype("f4"), kind), raw_dtype=kind)

    add("token_embd.weight", len(words), width, "Q8_0")
    w.add_tensor("output_norm.weight", r.uniform(0.5, 1.5, width).astype("f4"))
    for k in range(layers):
        w.add_tensor(f"blk.{k}.attn_norm.weight", r.uniform(0.5, 1.5, width).astype("f4"))
        w.add_tensor(f"blk.{k}.ffn_norm.weight", r.uniform(0.5, 1.5, width).astype("f4"))
        add(f"blk.{k}.attn_q.weight", width, width, "Q4_0"), add(f"blk.{k}.attn_k.weight", width // heads * kv, width, "Q5_1")
        add(f"blk.{k}.attn_v.weight", width // heads * kv, width, "Q8_0"), add(f"blk.{k}.attn_output.weight", width, width, "F16")
        add(f"blk.{k}.ffn_gate.weight", hidden, width, "Q4_1"), add(f"blk.{k}.ffn_up.weight", hidden, width, "Q5_0")
        add(f"blk.{k}.ffn_down.weight", width, hidden, "BF16")
    finish(w)
    folder = os.path.join(HERE, "llama")
    read = LlamaForCausalLM.from_pretrained(HERE, gguf_file="llama.gguf", dtype="float32")
    os.makedirs(folder, exist_ok=True)
    weights = {name: x.numpy() for name, x in read.state_dict().items() if name != "lm_head.weight"}
    write_safetensors(os.path.join(folder, "model.safetensors"), weights)
    config = {k: v for k, v in read.config.to_dict().items() if k not in ("quantization_config", "_name_or_path")}
    config["rms_norm_eps"] = 1e-5  # and not the float's 9.999999747378752e-06
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))


def compare(path, trainer, count="512"):
    """Ids are drawn; the trainer's logits are those of `TRAINER predict`, which is built with seq = TOKENS and batch = 1."""
    import torch
    from transformers import LlamaForCausalLM

    sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))
    from torch_step import read_safetensors

    model = LlamaForCausalLM.from_pretrained(os.path.dirname(path) or ".", gguf_file=os.path.basename(path), dtype=torch.float32)
    ids = np.random.default_rng(1).integers(20, model.config.vocab_size, (1, int(count)))
    with torch.no_grad():
        theirs = model(torch.tensor(ids)).logits
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "tokens.npy"), ids.astype("i4"))
        out = os.path.join(folder, "out.safetensors")
        subprocess.run([trainer, "predict", "--weights", path, "--data", os.path.join(folder, "tokens.npy"), "--only", "logits",
                        "--out", out], check=True)  # fmt: skip
        own = read_safetensors(out)["logits"].reshape(theirs.shape)
    apart = ((own - theirs).abs().max() / theirs.abs().max()).item()
    print(f"{count} tokens: logits at most {apart:.1e} of the largest apart, "
          f"the likeliest equal at {(own.argmax(-1) == theirs.argmax(-1)).double().mean().item():.1%}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["compare"]:
        compare(*sys.argv[2:])
    else:
        blocks()
        rounded()
        llama()
