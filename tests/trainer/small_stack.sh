# small_stack.sh: stacks of 64 KB, the first thread's and OpenMP's: attention forward, backward and in decode, kernels that
# keep as much of a row as one may, tokenizers that are made and used.  Their arrays lie in rooms that the plan counts.
set -u
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt" || { echo 'skipped: frames of sanitizers are larger'; exit 77; }
failed=0
wrong() { echo "failed: $*"; failed=1; }
works() {
    "$@" >"$TMP/out" 2>"$TMP/err" </dev/null && return
    wrong "exit $?: $*"
    tail -n 5 "$TMP/err"
}
small='env OMP_STACKSIZE=16k sh -c ulimit${IFS}-s${IFS}64;exec${IFS}"$0"${IFS}"$@"'

# Rows of 500 doubles, of which a kernel keeps four: 16 KB, and not much more beside.
cat >"$TMP/wide.lua" <<'END'
return {
  config = { classes = 3, features = 4, width = 500, batch = 16, steps = 3, target = "class" },
  forward = function(c, input)
    local h = nn.linear(input.features, { name = "up", out = c.width })
    local a = nn.softmax(nn.layernorm(nn.gelu(nn.layernorm(h, { name = "n1" })), { name = "n2" }))
    h = nn.dropout(h * a, 0.1) + nn.tanh(a)
    return nn.cross_entropy(nn.linear(nn.layernorm(h, { name = "n3" }), { name = "head", out = c.classes }), input.targets)
  end,
  train = function(c) return { optimizer = optim.adamw { lr = 1e-2 }, steps = c.steps } end,
  data = function(c) return data.csv { target = c.target } end,
}
END
awk 'BEGIN { print "a,b,c,d,class"; for (i = 0; i < 90; i++) printf "%d,%d,%d,%d,%d\n", i % 7, i % 5, i % 3, i % 2, i % 3 }' >"$TMP/t.csv"
works "$LATHE" build "$TMP/wide.lua" --precision fp64 -o "$TMP/wide"
gcc -std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno -fopenmp -Iruntime -Werror -Wframe-larger-than=24576 \
    -c "$TMP/wide/model.c" -o "$TMP/wide.o" >"$TMP/log" 2>&1 || { cat "$TMP/log"; wrong 'a frame of generated code is larger than 24 KB'; }
works $small "$TMP/wide/trainer" train --data "$TMP/t.csv" --out "$TMP/w" --threads 2

awk 'BEGIN { for (i = 0; i < 300; i++) print "a cat sat on the mat", i % 7, "times and ran", i % 5 }' >"$TMP/t.txt"
works $small "$LATHE" tokenize train --size 300 --out "$TMP/tok" "$TMP/t.txt"
works $small "$LATHE" tokenize encode --json --tokenizer "$TMP/tok" "$TMP/t.txt"
works "$LATHE" build models/gpt.lua --precision fp64 --set layers=1 --set heads=1 --set width=80 --set seq=130 --set batch=2 --set vocab=300 -o "$TMP/gpt"
works $small "$TMP/gpt/trainer" train --data "$TMP/t.txt" --tokenizer "$TMP/tok" --steps 2 --val-fraction 0.2 --out "$TMP/g" --threads 2
works $small "$TMP/gpt/trainer" generate --out "$TMP/g" --tokens 20 --threads 2
exit $failed
