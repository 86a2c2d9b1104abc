# seeds.sh: the fuzz targets over their corpus, a process a file: refused or taken, no crash, no hang.
# compiled: as for users
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
# Descriptions by a grammar (fuzz_describe.c), from numbers; the C of the last ones is compiled.
mkdir -p "$TMP/describe" "$TMP/compiled"
for i in $(seq 1 250); do echo "$i" >"$TMP/describe/$i"; done
for i in $(seq 1000 1039); do echo "$i" >"$TMP/compiled/$i"; done
seeds describe "$TMP"/describe/*
LATHE_FUZZ_CC=${CC:-cc} seeds describe tests/fuzz/corpus/describe/* "$TMP"/compiled/*
seeds cfunc tests/fuzz/corpus/cfunc/*
seeds graph tests/fuzz/corpus/graph/* tests/golden/*.graph
seeds kernels tests/fuzz/corpus/kernels/* tests/golden/*.kernels tests/golden/*.carry tests/golden/*.pack tests/golden/*.panels tests/golden/*.persist
seeds store tests/fuzz/corpus/store/* tests/reference/gpt_tied_bias_tanh.safetensors
seeds gguf tests/fuzz/corpus/gguf/* tests/reference/gguf/*.gguf tests/reference/gguf_encoders/*.gguf
seeds onnx tests/fuzz/corpus/onnx/*
seeds llmc tests/fuzz/corpus/llmc/* tests/reference/llmc/*.bin
seeds vocab tests/fuzz/corpus/vocab/* tests/reference/hf_spm/tokenizer.json
seeds merges tests/fuzz/corpus/merges/*
seeds pieces tests/fuzz/corpus/pieces/*
seeds chain tests/fuzz/corpus/chain/*
seeds metrics tests/fuzz/corpus/metrics/*
seeds diff tests/fuzz/corpus/diff/*
seeds request tests/fuzz/corpus/request/*
seeds gbnf tests/fuzz/corpus/gbnf/*
seeds schema tests/fuzz/corpus/schema/*
for reader in folder peft template tags; do seeds $reader tests/fuzz/corpus/$reader/*; done
seeds preferences tests/fuzz/corpus/preferences/*
seeds ranks tests/fuzz/corpus/ranks/*
seeds state tests/fuzz/corpus/state/*
seeds pictures tests/fuzz/corpus/pictures/*
seeds recordings tests/fuzz/corpus/recordings/*
seeds series tests/fuzz/corpus/series/*
for reader in plain jsonl table shard npy arrays packed; do seeds $reader tests/fuzz/corpus/$reader/*; done

# libFuzzer's programs (tests/long.sh) link the files of the runtime that are named there, and no others.  Two rooms may
# have files of one name, so an object is known by its path.
. tests/fuzz/libfuzzer
nm -A $(find "$build"/CMakeFiles/lathe_rt.dir/runtime -name "*.c.o") 2>/dev/null | awk -v named="$fuzz_runtime" '
    BEGIN { split(named, word); for (i in word) wanted[word[i]] = 1 }
    { file = $1; sub(/.*lathe_rt.dir\/runtime\//, "", file); sub(/\.c\.o:.*/, "", file) }
    $(NF - 1) ~ /^[TDBRCV]$/ { from[$NF] = file; found++; if (file in wanted) known[$NF] = 1 }
    $(NF - 1) == "U" && file in wanted { needs[$NF] = file }
    END { for (s in needs) if (s in from && !(s in known)) { print needs[s] ".c needs " s " of " from[s] ".c: name it in tests/fuzz/libfuzzer"; bad = 1 }
          exit bad || !found }
' || failed=1
exit $failed
