# generate.sh: sampling: greedy, by seed, top-k, top-p, penalty, beyond the context, several prompts, bytes.
. tests/trainer/common
some_text t.txt 400
works "$toy" train --data t.txt --out run
generate="$toy generate --out run --tokens 40"

run() { works $generate "$@"; cp out "$name.out"; }
name=greedy; run --set temperature=0 --prompt 'the'
name=greedy2; run --set temperature=0 --seed 7 --prompt 'the'
same greedy.out greedy2.out
name=topk; run --set top_k=1 --prompt 'the'
same greedy.out topk.out
name=topp; run --set top_p=1e-9 --prompt 'the'
same greedy.out topp.out
name=cold; run --set temperature=1e-4 --prompt 'the'
same greedy.out cold.out
says '^the ' greedy.out

name=s1; run --seed 1
name=s1again; run --seed 1 --threads 2
same s1.out s1again.out
name=s2; run --seed 2
differs s1.out s2.out
name=penalty; run --set temperature=0 --set repetition_penalty=50 --prompt the
differs greedy.out penalty.out
[ "$(wc -c <s1.out)" = 41 ] && ok '40 characters' || wrong "$(wc -c <s1.out) bytes of output"

# Both prompts by themselves are both prompts in one go; the same prompt twice gives two samples.
name=two; run --prompt 'the' 'the'
head -n 1 two.out >first.out
[ "$(grep -c -- '^---$' two.out)" = 1 ] && ok 'two samples' || wrong 'two samples expected'
name=json; run --json --prompt 'the' 'cat sat on a mat'
says '"prompt":"cat sat on a mat"' json.out
says '"tokens":\[' json.out

# The context is 8: the state starts anew and position with it (the toy aborts where they disagree).
works $generate --tokens 500
works $generate --prompt "$(head -c 300 t.txt | tr '\n' ' ')"
finish
