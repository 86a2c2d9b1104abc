# limits.sh: what a shell puts around a program: limits of files, stacks and processor time, closed descriptors, readers
# that go away, terminals that close.  A message and an exit code, nothing saved is lost, no text in data files.
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
some_text t.txt 400
train="$toy train --data t.txt --set schedule=constant"
works $train --out whole

# Standard output that takes nothing: what was to be written there is missing, and the exit code says so.
refuses 1 'standard output cannot be written' sh -c '"$1" generate --out whole --tokens 9 >/dev/full' sh "$toy"
refuses 1 'standard output cannot be written' sh -c '"$1" eval --data t.txt --out whole >&-' sh "$toy"
refuses 1 'standard output cannot be written' sh -c '"$1" info --json >/dev/full' sh "$toy"
refuses 1 'standard output cannot be written' sh -c '"$1" train --help >/dev/full' sh "$toy"
refuses 2 'there is no command' sh -c '"$1" nonsense >/dev/full' sh "$toy"
if [ -x "$lathe" ]; then
    refuses 1 'lathe: error: standard output cannot be written' sh -c '"$1" ops >/dev/full' sh "$lathe"
    refuses 1 'lathe: error: standard output cannot be written' sh -c '"$1" data info t.txt >/dev/full' sh "$lathe"
fi

# A reader that has gone ends a program quietly, and not as if all were well; a run goes on without.
ends() { [ "$1" = "$2" ] && ok "exit $2: $3" || { wrong "exit $1, expected $2: $3"; sed 's/^/    | /' err; }; }
( "$toy" generate --out whole --samples 400 2>err; echo $? >code ) | head -c 1 >/dev/null
ends "$(cat code)" 141 'a pipe without a reader'
[ -s err ] && wrong "said on a broken pipe: $(cat err)" || ok 'quiet'
( $train --out piped 2>&1; echo $? >code ) | head -n 1 >/dev/null
ends "$(cat code)" 0 'a run whose progress nobody reads'
same piped/model.safetensors whole/model.safetensors

# No descriptor at all: the run is that of others, byte by byte, and its files hold nothing of what it would have said.
$train --out closed <&- >&- 2>&-
ends $? 0 'all closed'
same closed/model.safetensors whole/model.safetensors
grep -vc '^{"step":[0-9]*,"split":"[a-z]*",.*}$' closed/metrics.jsonl >bad
[ "$(cat bad)" = 0 ] && ok 'metrics are whole' || wrong "metrics: $(cat bad) lines are torn"
"$toy" generate --out whole --tokens 9 <&- >&- 2>&-
ends $? 1 'nowhere to write a text to'

# ulimit -f: an error of writing, not the end; what was saved before is there, and the run goes on from it.
blocks=$(($(wc -c <whole/checkpoints/step-60/optimizer.safetensors) / 512))
limited='sh -c ulimit${IFS}-f${IFS}"$0";exec${IFS}"$@"'
refuses 3 'optimizer.safetensors: error: cannot be written: file too large.*is not saved.*raise the limit on the size of files (ulimit -f)' $limited "$blocks" $train --out small
works $train --out half --steps 20
before=$(sha256sum <half/checkpoints/step-20/model.safetensors)
refuses 3 'raise the limit on the size of files' $limited "$blocks" "$toy" train --out half --resume --steps 60
[ "$before" = "$(sha256sum <half/checkpoints/step-20/model.safetensors)" ] && ok 'what was saved is there' || wrong 'a checkpoint has changed'
[ -z "$(find . -name '*.part')" ] && ok 'nothing half done' || wrong "left: $(find . -name '*.part')"
works "$toy" train --out half --resume --steps 60
same half/model.safetensors whole/model.safetensors
refuses 3 'w.safetensors: error: cannot be written: file too large' $limited 4 "$toy" init --out w.safetensors
[ -e w.safetensors ] && wrong 'half a file' || ok 'no half file'

# A terminal that closes, the limit of processor time: as SIGTERM; nohup: as if nothing were.
wait_for() { for i in $(seq 300); do grep -q "$1" err && return; sleep 0.1; done; wrong "after 30 s still not: $1"; cat err; }
$train --out hung --steps 1000000000 --eval-every 0 2>err &
process=$!
wait_for '^step '
kill -HUP $process
wait $process
ends $? 129 'SIGHUP'
says 'interrupted after step' err
works "$toy" eval --data t.txt --out hung
timeout 60 sh -c 'ulimit -S -t 1; exec "$@"' sh $train --out timed --steps 1000000000 --eval-every 0 2>err
ends $? 152 'ulimit -t'
says 'interrupted after step' err
works "$toy" eval --data t.txt --out timed
(trap '' HUP; exec $train --out kept --steps 1000000000 --eval-every 0 2>err) &
process=$!
wait_for '^step '
kill -HUP $process
sleep 0.2
kill -TERM $process
wait $process
ends $? 143 'SIGHUP that is ignored'

# Stacks: 64 KB are enough for all threads; less is refused.
stacked='env OMP_STACKSIZE=16k sh -c ulimit${IFS}-s${IFS}"$0";exec${IFS}"$@"'
if grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt"; then # their frames are larger
    works $stacked 64 $train --out stacked --threads 2
    same stacked/model.safetensors whole/model.safetensors
    refuses 1 'the stack may have 32 KB, and at least 64 are needed' $stacked 32 "$toy" info
fi
finish
