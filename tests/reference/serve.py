"""serve.py: `trainer serve` under load, by OpenAI's Python client: serve.py URL SECONDS [PID [CLIENTS]].

CLIENTS (64) clients ask for texts and chats, whole and streamed, each with a seed; every answer must be the one that the
same request got alone.  Needs the package openai.  With PID, resident memory of the server at the start and the end."""
import sys
import threading
import time

from openai import BadRequestError, InternalServerError, OpenAI

url, seconds = sys.argv[1], float(sys.argv[2])
pid = int(sys.argv[3]) if len(sys.argv) > 3 else None
clients = int(sys.argv[4]) if len(sys.argv) > 4 else 64
own = OpenAI(base_url=url, api_key="none", max_retries=20)


def resident():
    if pid is None:
        return 0
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def ask(kind, seed):
    how = {"model": "m", "seed": seed, "temperature": 0.0 if seed == 0 else 0.9, "max_tokens": 24, "stream": kind >= 2}
    if kind % 2:
        r = own.chat.completions.create(messages=[{"role": "user", "content": f"Hi {seed}"}], **how)
        return "".join(c.choices[0].delta.content or "" for c in r) if kind >= 2 else r.choices[0].message.content
    r = own.completions.create(prompt=f"user: {seed}", **how)
    return "".join(c.choices[0].text for c in r) if kind >= 2 else r.choices[0].text


alone = {(kind, seed): ask(kind, seed) for kind in range(4) for seed in range(16)}
# In a stream, a byte that is no UTF-8 is told apart from those before it, so both forms are the same text.
assert all(alone[kind, seed] == alone[kind + 2, seed] for kind in range(2) for seed in range(16)), "a stream differs"
print("models", [m.id for m in own.models.list().data])
try:
    own.completions.create(model="m", prompt="a", n=2)
    raise SystemExit("n=2 was taken")
except BadRequestError as e:
    print("refused:", e.body["message"])

done, wrong, full = [0] * clients, [0] * clients, [0] * clients
before, start = resident(), time.time()


def work(k):
    i = k
    while time.time() - start < seconds:
        key = i % 4, i // 4 % 16
        try:
            wrong[k] += ask(*key) != alone[key]
            done[k] += 1
        except InternalServerError:
            full[k] += 1
        i += 7


threads = [threading.Thread(target=work, args=(k,)) for k in range(clients)]
for t in threads:
    t.start()
time.sleep(min(60, seconds / 2))  # all slots have been used once by then
middle = resident()
for t in threads:
    t.join()
took = time.time() - start
print(f"{clients} clients, {took:.0f} s: {sum(done)} answers, {sum(done) / took:.1f} a second, {sum(wrong)} wrong, {sum(full)} refused (503)")
print(f"resident: {before} kB before, {middle} kB soon after, {resident()} kB at the end")
sys.exit(1 if sum(wrong) else 0)
