# race.sh: the threads of a trainer (checkpoint writer, readers of data) under ThreadSanitizer.  libgomp has none of its
# marks, so OpenMP's pragmas are left out here: one thread computes, the others are all ours.  To show that it would be
# seen: a trainer that does not wait for the writer before it updates the parameters.
# tests/run.sh --sanitize=thread has OpenMP's threads too.
# compiled: as for users
top=$PWD
. tests/trainer/common
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: built with another sanitizer"; exit 77; }
cmake --build "$BUILD" --target toy_model_thread --target toy_model_racy >log 2>&1 || { wrong 'the build'; cat log; finish; }
toy=$BUILD/toy_model_thread
export TSAN_OPTIONS="exitcode=66 halt_on_error=1 second_deadlock_stack=1"
setarch -R true 2>/dev/null && toy="setarch -R $toy" # ThreadSanitizer wants its addresses for itself
# shellcheck disable=SC2086
$toy info >out 2>err || { echo "skipped: no ThreadSanitizer: $(tail -n 1 err)"; exit 77; }
some_text t.txt 200
shim=$work/shim.so
${CC:-cc} -shared -fPIC -o "$shim" "$top/tests/trainer/shim_faults.c" || { echo 'skipped: no C compiler'; exit 77; }
train="$toy train --data t.txt"
printf '%s\n' 'fault=$1' shift 'exec env FAULT="$fault" LD_PRELOAD='"$shim"' "$@"' >with.sh
with="sh with.sh"

works $train --out a --save-every 1
works $toy train --out a --resume --steps 70 --save-every 3
works $with 'write -20 .part' $train --out b --save-every 5
works $with 'fsync -20 .part' $train --out b --save-every 2
works $with 'fsync 5 step-20.part' $train --out c --save-every 10
says 'step 20 is not saved' err
refuses 3 'step 60 is not saved' $with 'fsync 5 step-' $train --out d --save-every 10
refuses 4 'expected a finite loss' env TOY_NAN_AT=30 $train --out e --save-every 1
works $toy eval --data t.txt --out a
works $toy generate --out a --tokens 5
$train --out f --steps 1000000000 --eval-every 0 2>err &
process=$!
for i in $(seq 300); do [ -s f/metrics.jsonl ] && break; sleep 0.1; done
for i in 1 2 3 4 5; do kill -USR1 $process; sleep 0.1; done
kill -TERM $process
wait $process
code=$?
[ $code = 143 ] && ok 'signals' || { wrong "exit $code, expected 143"; cat err; }

racy=$(echo "$toy" | sed 's/_thread$/_racy/')
# shellcheck disable=SC2086
$with 'write -20 .part' $racy train --data t.txt --out g --save-every 2 >out 2>err
[ $? = 66 ] && grep -q 'data race' err && ok 'a race is seen' || { wrong 'a planted race is not seen'; tail -n 5 err; }
finish
