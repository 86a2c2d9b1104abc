# memory.sh: memory that is not there: at every allocation of a run in turn, once and for good, and under limits of address
# space, from what is just enough to start upwards: done, or a message and an exit code; what was saved before is whole.
# Quick: the first 60 allocations, and each 41st after; LATHE_LONG=1: all.
# compiled: as for users
top=$PWD
. tests/trainer/common
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: sanitizers have their own memory"; exit 77; }
some_text t.txt 60
shim=$work/shim.so
${CC:-cc} -shared -fPIC -O1 -o "$shim" "$top/tests/trainer/shim_memory.c" || { echo 'skipped: no C compiler'; exit 77; }
export OMP_WAIT_POLICY=passive
works "$toy" train --data t.txt --out kept --steps 4 --save-every 2
rest="$toy train --data t.txt --out run --resume --steps 8 --save-every 2"
cp -R kept run
works env LD_PRELOAD="$shim" MEMORY_COUNT=count $rest
all=$(cat count)
[ "$all" -gt 1000 ] && ok "$all allocations" || wrong "only $all allocations"
cp run/checkpoints/step-8/model.safetensors whole

told='memory\|not allocate\|resource temporarily'
# ends CODE WHAT: done, or told why not; the newest checkpoint is whole, and one that is complete is the right one.
ends() {
    case $1 in
    0) cmp -s run/checkpoints/step-8/model.safetensors whole || wrong "$2: done, with other weights" ;;
    1 | 3) grep -qi "$told" err || { wrong "$2: exit code $1 without a word of memory"; sed 's/^/    | /' err; } ;;
    *) wrong "$2: exit code $1"; sed 's/^/    | /' err ;;
    esac
    newest=$(ls -d run/checkpoints/step-[0-9] | tail -n 1)
    "$toy" eval --data t.txt --weights "$newest/model.safetensors" >out 2>err || { wrong "$2: $newest is damaged"; cat err; }
}
tried=0 failed=0 at=1
while [ $at -le "$all" ]; do
    for good in '' MEMORY_FOR_GOOD=1; do
        rm -rf run
        cp -R kept run
        # shellcheck disable=SC2086
        timeout 60 env LD_PRELOAD="$shim" MEMORY_ENDS_AT=$at $good $rest >out 2>err </dev/null
        code=$?
        ends $code "allocation $at $good"
        tried=$((tried + 1)) failed=$((failed + (code != 0)))
    done
    if [ $at -lt 60 ] || [ -n "${LATHE_LONG:-}" ]; then at=$((at + 1)); else at=$((at + 41)); fi
done
[ $failed -gt $((tried / 2)) ] || wrong "only $failed of $tried runs have failed"

# Limits of address space: from where the program itself can start.
limit=2000
until (ulimit -v $limit && "$toy" --help) >out 2>err || [ $limit -gt 4000000 ]; do limit=$((limit * 5 / 4)); done
least=$limit limits=0 refused=0
for engine in '' LATHE_GEMM=openblas; do
    limit=$least
    while :; do
        rm -rf run
        cp -R kept run
        # shellcheck disable=SC2086
        (ulimit -v $limit && exec timeout 60 env $engine $rest --threads 2) >out 2>err </dev/null
        code=$?
        ends $code "$limit KB $engine"
        limits=$((limits + 1)) refused=$((refused + (code != 0)))
        [ $code = 0 ] && break
        limit=$((limit * 9 / 8))
    done
done
[ $refused -gt 0 ] || wrong 'no limit was too low'
echo "note: $tried runs short of memory, $failed of them refused; $limits limits of address space from $least KB, $refused refused"
finish
