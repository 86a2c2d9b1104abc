"""preference.py: records TRL's first 20 losses on preference pairs: DPO of all weights and of adapters (PEFT), of strings and
of chats, and ORPO; and what it evaluates after them.  Needs torch, transformers, trl 1.16, peft, datasets.

    python tests/reference/preference.py tests/reference/preference

Writes the weights (a small random Llama with a tokenizer of characters), the pairs, an adapter, and losses.txt.  Each step
sees all pairs, so that their order does not matter.  TRL's ORPO also counts the prompt's tokens in the loss of the chosen answer;
here that loss is of the answer alone, as in the paper's equation 6.
"""
import inspect
import json
import pathlib
import random
import sys

sys.path.pop(0)  # datasets.py beside this is another
import tempfile
import textwrap

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer
from trl.experimental.orpo import ORPOConfig, ORPOTrainer
import trl.experimental.orpo.orpo_trainer as orpo_module

out = pathlib.Path(sys.argv[1])
out.mkdir(exist_ok=True)
PAIRS, SEQ, STEPS = 6, 95, 20
CHARACTERS = ["\n"] + [chr(c) for c in range(32, 127)]
CHATML = ("{% for message in messages %}"
          "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def tokenizer():
    bytewise = {"\n": "Ċ", " ": "Ġ"}
    core = Tokenizer(models.BPE(vocab={bytewise.get(c, c): i for i, c in enumerate(CHARACTERS)}, merges=[]))
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    core.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True),
                             AddedToken("<|endoftext|>", special=True)])
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>", pad_token="<|endoftext|>",
                                   chat_template=CHATML)


def records(chats):
    draw = random.Random(5 + chats)
    words = "the cat sat on a mat dog ran far home sun moon red blue".split()
    text = lambda least, most: " ".join(draw.choice(words) for _ in range(draw.randint(least, most)))
    for k in range(PAIRS):
        prompt, chosen, rejected = text(1, 4) + "?", text(1, 4) + ".", text(1, 5) + "!"
        if not chats:
            yield {"prompt": prompt, "chosen": chosen, "rejected": rejected}
            continue
        system = [{"role": "system", "content": text(1, 2)}] if k % 2 else []
        yield {"prompt": system + [{"role": "user", "content": prompt[:12]}],
               "chosen": [{"role": "assistant", "content": chosen[:14]}],
               "rejected": [{"role": "assistant", "content": rejected[:14]}]}


def recording(kind):
    class Recorder(kind):
        losses = []

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            result = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
            if model.training:
                self.losses.append(float(result[0] if return_outputs else result))
            return result

    return Recorder


def settings(kind, lr, **more):
    return kind(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=PAIRS, per_device_eval_batch_size=PAIRS,
                max_steps=STEPS, learning_rate=lr, lr_scheduler_type="constant", warmup_steps=0, weight_decay=0.0, adam_beta1=0.9,
                adam_beta2=0.95, adam_epsilon=1e-8, max_grad_norm=1.0, beta=0.3, max_length=SEQ + 1, bf16=False, use_cpu=True,
                report_to="none", save_strategy="no", logging_steps=1, disable_dropout=True, gradient_checkpointing=False, **more)


def run(name, kind, config, rows, model, tokens, **more):
    trainer = recording(kind)(model=model, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokens,
                              eval_dataset=Dataset.from_list(rows), **more)
    trainer.train()
    after = trainer.evaluate()
    keys = ["eval_loss"] + ["eval_rewards/" + k for k in ("chosen", "rejected", "accuracies", "margins")]
    print(name, " ".join(f"{x:.9g}" for x in trainer.losses[:STEPS]), file=losses)
    print(name + "-eval", " ".join(f"{after[k]:.9g}" for k in keys), file=losses)


torch.manual_seed(1)
llama = LlamaConfig(vocab_size=99, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                    max_position_embeddings=SEQ, rms_norm_eps=1e-5, tie_word_embeddings=False, initializer_range=0.1,
                    bos_token_id=None, eos_token_id=98, pad_token_id=None)
first = LlamaForCausalLM(llama)
tokens = tokenizer()
first.save_pretrained(out)
tokens.save_pretrained(out)
(out / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML, "eos_token": "<|endoftext|>"}) + "\n")
for extra in ("chat_template.jinja", "special_tokens_map.json", "generation_config.json"):
    (out / extra).unlink(missing_ok=True)
again = lambda: LlamaForCausalLM.from_pretrained(out, torch_dtype=torch.float32)
rows = {name: list(records(name == "chats")) for name in ("pairs", "chats")}
for name, list_ in rows.items():
    (out / (name + ".jsonl")).write_text("".join(json.dumps(r) + "\n" for r in list_))

lora = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
                  task_type="CAUSAL_LM", lora_dropout=0.0)
losses = open(out / "losses.txt", "w")
run("dpo", DPOTrainer, settings(DPOConfig, 3e-4), rows["pairs"], again(), tokens)
run("dpo-chats", DPOTrainer, settings(DPOConfig, 3e-4), rows["chats"], again(), tokens)

torch.manual_seed(2)
with_adapter = get_peft_model(again(), lora)
with_adapter.save_pretrained(out / "adapter")
(out / "adapter" / "README.md").unlink(missing_ok=True)
run("dpo-lora", DPOTrainer, settings(DPOConfig, 3e-3), rows["pairs"], with_adapter, tokens)

source = textwrap.dedent(inspect.getsource(ORPOTrainer.concatenated_forward))
theirs = "labels = torch.where(attention_mask == 1, labels, -100)"
assert theirs in source
exec(source.replace(theirs, 'labels = concatenated_batch["concatenated_labels"].clone()'), orpo_module.__dict__)
ORPOTrainer.concatenated_forward = orpo_module.concatenated_forward
run("orpo", ORPOTrainer, settings(ORPOConfig, 1e-3), rows["pairs"], again(), tokens)
losses.close()
