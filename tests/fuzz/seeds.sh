# seeds.sh: the fuzz targets over their corpus, a process a file: refused or taken, no crash, no hang.
set -u
build=${BUILD:-build}
failed=0

seeds() {   # TARGET FILE…
    target=$1
    shift
    "$build/seeds_$target" "$@" >"$TMP/out" 2>"$TMP/err" || { grep FAILED "$TMP/out"; grep -A 2 'internal error' "$TMP/err"; failed=1; }
    echo "$target: $(tail -n 1 "$TMP/out")"
}

seeds front tests/fuzz/corpus/front/* tests/golden/*.lua models/mlp.lua
seeds graph tests/fuzz/corpus/graph/* tests/golden/*.graph
seeds store tests/fuzz/corpus/store/* tests/reference/gpt_tied_bias_tanh.safetensors
seeds vocab tests/fuzz/corpus/vocab/*
seeds merges tests/fuzz/corpus/merges/*
seeds ranks tests/fuzz/corpus/ranks/*
seeds state tests/fuzz/corpus/state/*
for reader in plain jsonl table shard npy packed; do seeds $reader tests/fuzz/corpus/$reader/*; done
exit $failed
