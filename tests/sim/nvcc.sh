# nvcc.sh: nvcc compiles the emitted CUDA for sm_80 and sm_90 without a warning; what a thread keeps of its row stays in
# registers (of which ptxas may spill 32 bytes where it keeps to 64 a thread); four elements side by side are one access.
# A few models; every one of models/ in the long run.
set -eu
command -v nvcc >/dev/null || { echo "nvcc is not here: the emitted CUDA was not compiled by it"; exit 77; }
failed=0
complain() { echo "failed: $*"; failed=1; }

# Of each kernel: what it reads and writes as wholes, and the accesses of 8 and 16 bytes that PTX has for them.  Of one
# byte an element they are shorter.
cat >"$TMP/wholes.awk" <<'EOT'
FNR == 1 { file++ }
file == 1 && /^(KERNEL|DEVICE) void / { name = $3; sub(/\(.*/, "", name) }
file == 1 && name && /Wide<bool|&row(_[a-z]+)?\[/ { next }
file == 1 && name { reads[name] += gsub(/read_wide</, "&"); writes[name] += gsub(/write_wide\(/, "&") }
file == 2 && /\.entry / { here = ""; for (n in reads) if (index($0, "_Z" length(n) n)) here = n; seen[here] = 1 }
file == 2 && here && /ld\.global/ && /\.v[24]|[bu]64/ { loads[here]++ }
file == 2 && here && /st\.global/ && /\.v[24]|[bu]64/ { stores[here]++ }
END {
    for (n in seen) {
        all += reads[n] + writes[n]
        if (loads[n] < reads[n] || stores[n] < writes[n])
            printf "%s: %d reads by %d loads, %d writes by %d stores\n", n, reads[n], loads[n], writes[n], stores[n]
    }
    print all + 0
}
EOT

compile() {     # NAME ARGUMENTS…
    name=$1
    shift
    "$LATHE" build "$@" --target cuda --source -o "$TMP/$name" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    nvcc -std=c++20 -Werror all-warnings -fmad=false -Xptxas -v -Iruntime -gencode arch=compute_80,code=sm_80 \
        -gencode arch=compute_90,code=sm_90 --keep --keep-dir "$TMP/$name" -c "$TMP/$name/model.cu" -o "$TMP/$name/model.o" >"$TMP/log" 2>&1 ||
        { cat "$TMP/log"; complain "nvcc refuses $*"; return 0; }
    kernels=$(grep -c 'bytes stack frame' "$TMP/log")
    [ "$kernels" -gt 0 ] || complain "$name: nvcc says nothing of any kernel"
    awk '/bytes stack frame/ && ($1 > $5 + 8 || $5 > 32) { print; found = 1 } END { exit !found }' "$TMP/log" &&
        complain "$name: a thread's arrays are in memory, or more than 32 bytes of its registers"
    awk -f "$TMP/wholes.awk" "$TMP/$name/model.cu" "$TMP/$name/model.compute_90.ptx" >"$TMP/wholes"
    [ "$(wc -l <"$TMP/wholes")" = 1 ] || complain "$name: wholes are read one by one: $(cat "$TMP/wholes")"
    echo "note: $name: $((kernels / 2)) kernels for sm_80 and sm_90, $(tail -n 1 "$TMP/wholes") wholes of 8 or 16 bytes"
}

compile gpt models/gpt.lua --config small --set dropout=0.1
compile llama models/llama.lua --set heads=16 --set kv_heads=8 --set vocab=5003 --precision bf16   # wider heads: attention_nvcc.sh
compile rnn models/char_rnn.lua --precision fp64
compile ids tests/models/ids.lua --set back=true
compile blocks tests/models/blocks.lua --set layers=6
compile images tests/models/images.lua
compile rows tests/models/rows.lua --set classes=12301 --precision bf16
compile muon models/gpt.lua --config small --set optimizer=muon --precision bf16
compile lamb tests/models/directed.lua --set kind=lamb
[ "${LATHE_LONG:-0}" = 0 ] || for model in models/*.lua; do
    name=${model##*/}
    compile "every_${name%.lua}" "$model"
    compile "narrow_${name%.lua}" "$model" --precision bf16
done

# Rows of 5,003 logits lie in rows of 5,008: each of three sweeps takes 16 bytes at a time, and what is left one by one.
awk '/entry.*[0-9]linear_cross_entropyP/ { here = 1 } here; here && /^}/ { exit }' "$TMP/llama/model.compute_90.ptx" >"$TMP/logits"
sweeps=$(grep -cE 'ld.global.*v4' "$TMP/logits") || true
[ "$sweeps" = 3 ] || complain "llama: 3 sweeps over logits, $sweeps of them by 16 bytes"

# Rows of 12,301 are copied into shared memory, from where three sweeps take 16 bytes at a time.
awk '/entry.*[0-9]d_logits_bf16_and_lossesP/ { here = 1 } here; here && /^}/ { exit }' "$TMP/rows/model.compute_90.ptx" >"$TMP/logits"
sweeps=$(grep -cE 'ld.shared.*v4' "$TMP/logits") || true
[ "$sweeps" = 3 ] || complain "rows: 3 sweeps over logits in shared memory, $sweeps of them by 16 bytes"
grep -q 'cp.async' "$TMP/logits" || complain "rows: logits are not copied"
! grep -q 'ld.global.*v4' "$TMP/logits" || complain "rows: a sweep reads logits from the device's memory"
exit $failed
