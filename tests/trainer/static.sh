# static.sh: a static trainer in a folder with nothing but itself and its data trains, resumes and generates, to the bits of
# one that is not static, and says what it lacks.  LATHE_LONG=1: also one with the code of three levels of x86-64, each of
# them and a processor with none.
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: sanitizers are not static"; exit 77; }
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
words="--set tokenizer=bytes --set vocab=256 --set hidden=16 --set width=16 --set seq=16 --set batch=4 --set dropout=0.1 --set steps=20"
awk 'BEGIN { for (i = 0; i < 400; i++) { x = (x * 1103515245 + 12345) % 2147483648; print substr("the cat sat on a mat and ran", x % 9 + 1, 3 + x % 17) } }' >"$TMP/text"
inside=
if unshare -r chroot / true 2>/dev/null; then inside="unshare -r chroot $TMP/root"
elif [ "$(id -u)" = 0 ] && chroot / true 2>/dev/null; then inside="chroot $TMP/root"
fi

# run TRAINER PLACE: 12 steps, then the rest, and a text; PLACE is where the folder of the run is, as the trainer sees it.
run() {
    $1 train --data "$2/text" --steps 12 --seed 5 --out "$2/run" --no-report >"$TMP/said" 2>&1 || complain "$1 train: $(cat "$TMP/said")"
    $1 train --resume --steps 20 --out "$2/run" --data "$2/text" --no-report >"$TMP/said" 2>&1 || complain "$1 resumes: $(cat "$TMP/said")"
    $1 generate --out "$2/run" --prompt 'the cat' --tokens 20 --seed 1 >"$TMP/generated" 2>"$TMP/said" || complain "$1 generate: $(cat "$TMP/said")"
}

# alike PLACE WHO: what it left is what the usual trainer leaves.
alike() {
    cmp -s "$1/run/checkpoints/step-20/model.safetensors" "$TMP/run/checkpoints/step-20/model.safetensors" || complain "$2 leaves other weights"
    cmp -s "$TMP/generated" "$TMP/wanted" || complain "$2 writes another text"
    rm -rf "$1/run"
}
# shellcheck disable=SC2086
usual=$("$LATHE" build models/char_rnn.lua $words -o "$TMP/usual")
run "$usual" "$TMP"
mv "$TMP/generated" "$TMP/wanted"

# built OPTIONS: static, into the empty folder.
built() {
    rm -rf "$TMP/root"
    mkdir "$TMP/root"
    cp "$TMP/text" "$TMP/root"
    # shellcheck disable=SC2086
    cp "$("$LATHE" build models/char_rnn.lua $words --static $1 -o "$TMP/static")" "$TMP/root/trainer" || complain "build --static $1"
}
built ''
! ldd "$TMP/root/trainer" >"$TMP/said" 2>&1 || complain "it needs libraries: $(cat "$TMP/said")"
if [ -n "$inside" ]; then run "$inside /trainer" ''; else run "$TMP/root/trainer" "$TMP/root"; fi
alike "$TMP/root" "the static trainer"
"$TMP/root/trainer" serve --weights "$TMP/run/checkpoints/step-20/model.safetensors" --tokenizer bytes >"$TMP/said" 2>&1 && complain "it serves"
grep -q 'this trainer is static' "$TMP/said" || complain "serve: $(cat "$TMP/said")"
# Unicode's normal forms are linked, which others load.
mkdir "$TMP/form"
sed 's/"normalizer": *null/"normalizer": {"type": "NFC"}/' tests/reference/gguf/llama/tokenizer.json >"$TMP/form/tokenizer.json"
for trainer in "$usual" "$TMP/root/trainer"; do
    "$trainer" eval --weights "$TMP/run/checkpoints/step-20/model.safetensors" --tokenizer "$TMP/form" --data "$TMP/text" >"$TMP/form/$(basename "$(dirname "$trainer")")" 2>&1 || true
done
cmp -s "$TMP/form/usual" "$TMP/form/root" && ! grep -q utf8proc "$TMP/form/root" || complain "normal forms: $(cat "$TMP/form/root")"
"$LATHE" build models/mlp.lua --library --static -o "$TMP/none" >"$TMP/said" 2>&1 && complain "--library --static is taken"

if [ -n "${LATHE_LONG:-}" ] && grep -q -w avx512vl /proc/cpuinfo; then
    built '--for x86-64'
    for level in 4 3; do
        export LATHE_LEVEL=$level
        run "$TMP/root/trainer" "$TMP/root"
        alike "$TMP/root" "level $level"
    done
    LATHE_LEVEL=2 "$TMP/root/trainer" info >"$TMP/said" 2>&1 || complain "level 2: $(cat "$TMP/said")"
    LATHE_LEVEL=9 "$TMP/root/trainer" info >"$TMP/said" 2>&1 && complain "there is a level 9"
    unset LATHE_LEVEL
    qemu-x86_64 -cpu Haswell "$TMP/root/trainer" info >"$TMP/said" 2>&1 || complain "Haswell: $(cat "$TMP/said")"
    qemu-x86_64 -cpu Nehalem "$TMP/root/trainer" info >"$TMP/said" 2>&1 || complain "Nehalem: $(cat "$TMP/said")"
    qemu-x86_64 -cpu qemu64 "$TMP/root/trainer" info >"$TMP/said" 2>&1 && complain "it runs without SSE4.2"
    grep -q 'x86-64-v2' "$TMP/said" || complain "qemu64: $(cat "$TMP/said")"
fi
[ -n "$inside" ] || echo "note: without chroot it ran beside all other files"
exit $failed
