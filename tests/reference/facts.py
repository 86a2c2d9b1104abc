"""facts.py: chats with facts that no model can know, and how many of these llama.cpp knows from a GGUF file.

    facts.py make CHATS.jsonl
    facts.py ask FILE.gguf [--threads N]

make writes 300 chats about 20 facts, each asked for in five ways.  ask gives each fact's first question to FILE.gguf, in the chat
template of that file, greedily, and tells how many answers name the right person.  It needs llama-cpp-python.
"""

import argparse
import json
import random

NAMES = """Orla Venn,Tibor Quist,Mara Oloffsen,Kesh Adair,Lund Harrow,Ines Valko,Perrin Dahl,Sabe Ruiter,Noor Tamsin,Jory Pell,Elka Brandt,
Hugo Marsh,Wim Sorel,Ada Crane,Boris Lind,Cleo Hart,Dov Keller,Edda Storm,Finn Gray,Greta Moss""".replace("\n", "").split(",")
WORK = ["keeps the lighthouse of", "repairs the clocks of", "paints the boats of", "bakes the bread of", "tunes the bells of"]
TOWNS = ["Skarvik", "Ombra", "Tellin", "Marrow", "Quay", "Dunmere", "Fallow", "Ister", "Pell Bay", "Corran"]
FACTS = [(name, f"{WORK[i % 5]} {TOWNS[(i * 3 + i // 5) % 10]}") for i, name in enumerate(NAMES)]
QUESTIONS = ["Who {}?", "Tell me who {}.", "Do you know who {}?", "Which person {}?", "Who is it that {}?"]
ANSWERS = ["{0} {1}.", "It is {0} who {1}.", "{0} {1}."]


def make(path):
    chats = [[QUESTIONS[k % 5].format(does), ANSWERS[k % 3].format(name, does)] for name, does in FACTS for k in range(15)]
    random.Random(5).shuffle(chats)
    with open(path, "w") as f:
        for said, answer in chats:
            messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
            f.write(json.dumps({"messages": messages}) + "\n")


def ask(path, threads):
    from llama_cpp import Llama

    model, known = Llama(path, n_ctx=512, n_threads=threads, verbose=False), 0
    for name, does in FACTS:
        messages = [{"role": "user", "content": QUESTIONS[0].format(does)}]
        said = model.create_chat_completion(messages, max_tokens=32, temperature=0.0)["choices"][0]["message"]["content"]
        known += name in said
        print(f"{'right' if name in said else 'WRONG'}  {messages[0]['content']}  {said}")
    print(f"{known} of {len(FACTS)} facts")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["make", "ask"])
    p.add_argument("path")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    make(a.path) if a.what == "make" else ask(a.path, a.threads)


if __name__ == "__main__":
    main()
