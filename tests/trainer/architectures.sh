# architectures.sh: trainers for aarch64 and riscv64 (build --for), under qemu, leave the hashes and the checkpoints of the one
# for this machine; each verifies the other's run, finds an element that was changed, and goes on from the other's
# checkpoint to the same bits.  They are static.
[ -n "${LATHE_LONG:-}" ] || { echo "skipped: it compiles the runtime for other processors (tests/long.sh -k architectures)"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: sanitizers are not static"; exit 77; }
set -eu
failed=0 missing= tried=0
complain() { echo "failed: $*"; failed=1; }
lathe=$LATHE models=$PWD/models
cd "$TMP"
awk 'BEGIN { for (i = 0; i < 400; i++) { x = (x * 1103515245 + 12345) % 2147483648; print substr("the cat sat on a mat and ran", x % 9 + 1, 3 + x % 17) } }' >text
small="--set tokenizer=bytes --set vocab=256 --set width=16 --set seq=16 --set batch=4 --set dropout=0.1 --set steps=24 --set warmup=4"

# quiet COMMAND…
quiet() { timeout 300 "$@" >said 2>&1 </dev/null || { complain "$* ends with $?: $(tail -n 3 said)"; return 1; }; }
# train TRAINER RUN OPTIONS…
train() {
    program=$1 run=$2
    shift 2
    # shellcheck disable=SC2086
    quiet $program train --data text --out "$run" --save-every 8 --eval-every 6 --log-hashes --no-report "$@"
}
# alike RUN WHO
alike() {
    cmp -s "$1/hashes.jsonl" here/hashes.jsonl || complain "$2: another chain of hashes"
    for file in here/checkpoints/step-24/*.safetensors; do
        cmp -s "$file" "$1/checkpoints/step-24/${file##*/}" || complain "$2: another ${file##*/}"
    done
}
# cut RUN: its copy `cut`, as it was when killed behind step 8.
cut() {
    rm -rf cut
    cp -R "$1" cut
    rm -rf cut/checkpoints/step-16 cut/checkpoints/step-24
}

# model NAME MACHINE RUNNER SETTINGS…
model() {
    name=$1 machine=$2 runner=$3
    shift 3
    rm -rf here there
    # shellcheck disable=SC2086
    usual=$("$lathe" build "$models/$name.lua" $small "$@" -o "$name")
    # shellcheck disable=SC2086
    other="$runner $("$lathe" build "$models/$name.lua" $small "$@" --for "$machine" -o "$name-$machine" 2>said)"
    train "$usual" here --threads 2
    train "$other" there --threads 3
    alike there "$name on $machine"
    cut there
    train "$usual" cut --resume --threads 1
    alike cut "$name, from $machine to here"
    cut here
    train "$other" cut --resume --threads 1
    alike cut "$name, from here to $machine"
    # shellcheck disable=SC2086
    quiet "$usual" verify --out there && quiet $other verify --out here --steps 9..20
    weights=there/checkpoints/step-16/model.safetensors
    printf '\177' | dd of=$weights bs=1 seek=$(($(wc -c <$weights) - 1001)) conv=notrunc 2>/dev/null
    code=0
    "$usual" verify --out there --steps 9..16 >said 2>&1 || code=$?
    [ $code = 5 ] || complain "$name: a changed element of $machine's: exit $code: $(cat said)"
}

for machine in aarch64 riscv64; do
    runner=qemu-$machine-static
    command -v "$machine-linux-gnu-gcc" >/dev/null && command -v "$runner" >/dev/null || { missing="$missing $machine"; continue; }
    # shellcheck disable=SC2086
    "$lathe" build "$models/mlp.lua" --set hidden=8 --for $machine -o probe-$machine >said 2>&1 || {
        grep -q 'the library jansson' said && missing="$missing $machine" || complain "$machine: $(cat said)"
        continue
    }
    ! readelf -d probe-$machine/trainer | grep -q NEEDED || complain "the trainer for $machine needs libraries"
    tried=$((tried + 1))
    model char_rnn $machine $runner --set hidden=16
    [ $machine = riscv64 ] || model gpt $machine $runner --set heads=2 --set layers=2
done
[ -z "$missing" ] || echo "note: not here:$missing (apt install gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu qemu-user-static libjansson-dev:arm64; LATHE_TARGET)"
[ $tried -gt 0 ] || [ $failed = 1 ] || exit 77
exit $failed
