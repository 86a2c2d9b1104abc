# full_disk.sh: a disk that is really full, and one that is really read-only (a small file system in memory, mounted where
# nobody else sees it): a message, an exit code, nothing saved is lost, and the run goes on once there is room.
if [ -z "${OWN_MOUNTS:-}" ]; then
    [ "$(id -u)" = 0 ] && how=-m || how=-rm
    unshare $how true 2>/dev/null || { echo 'skipped: no mount namespaces here (unshare -m)'; exit 77; }
    export OWN_MOUNTS=1
    exec unshare $how sh "$0"
fi
top=$PWD
. tests/trainer/common
mkdir disk
mount -t tmpfs -o size=256k none disk 2>mount.log || { echo "skipped: $(cat mount.log)"; exit 77; }
trap 'cd /; umount "$work/disk"; rm -rf "$work"' EXIT
some_text t.txt 400
train="$toy train --data t.txt --set schedule=constant"
works $train --out whole --save-every 10 --keep-last 0
fill() { cat /dev/zero >disk/filler 2>/dev/null; [ "$(df --output=avail disk | tail -n 1)" -eq 0 ] || wrong 'the disk is not full'; }
nothing_half_done() { [ -z "$(find disk -name '*.part')" ] && ok 'nothing half done' || wrong "left: $(find disk -name '*.part')"; }

# It fills up while a run saves: each save that fails is said, what was saved stays, and the run ends with 3.
head -c 150000 /dev/zero >disk/filler
refuses 3 'step 60 is not saved, earlier checkpoints are still there: free some space' $train --out disk/run --save-every 10 --keep-last 0
says 'step 10: saved' err
says "cannot be written: no space left on device; step [0-9]* is not saved, the newest checkpoint is of step [0-9]*" err
nothing_half_done
works "$toy" eval --data t.txt --out disk/run
for saved in disk/run/checkpoints/step-*; do same "$saved/model.safetensors" "whole/checkpoints/${saved##*/}/model.safetensors"; done
rm disk/filler
works "$toy" train --out disk/run --resume
same disk/run/model.safetensors whole/model.safetensors
grep -vc '^{"step":[0-9]*,"split":"[a-z]*",.*}$' disk/run/metrics.jsonl >bad
[ "$(cat bad)" = 0 ] && [ "$(wc -l <disk/run/metrics.jsonl)" = "$(wc -l <whole/metrics.jsonl)" ] && ok 'metrics are whole' || wrong "metrics: $(cat bad) lines are torn"

# Full before anything begins; resuming leaves what is there.
fill
refuses 3 'no space left on device.*choose another' $train --out disk/new
refuses 3 'no space left on device' "$toy" train --out disk/run --resume --steps 80
says 'newest checkpoint\|earlier checkpoints are still there\|free some space' err
nothing_half_done
works "$toy" eval --data t.txt --out disk/run
same disk/run/checkpoints/step-60/model.safetensors whole/model.safetensors
refuses 3 'disk/w.safetensors: error: cannot be written: no space left.*free some space' "$toy" init --out disk/w.safetensors
[ -e disk/w.safetensors ] && wrong 'half a file' || ok 'no half file'

# There is room again while it runs: the next save has all.
rm -rf disk/run disk/new
$train --out disk/run --steps 1000000000 --eval-every 0 --log-every 1000000 2>err &
process=$!
wait_for() { for i in $(seq 300); do grep -q "$1" err && return; sleep 0.1; done; wrong "after 30 s still not: $1"; cat err; }
wait_for '^step 1/'
fill
kill -USR1 $process
wait_for 'is not saved, there is no checkpoint yet.  The run continues'
rm disk/filler
: >disk/run/metrics.jsonl       # which has grown meanwhile
kill -USR1 $process
wait_for 'saved disk/run/checkpoints/step-'
kill -TERM $process
wait $process
code=$?
[ $code = 143 ] && ok 'exit 143' || wrong "exit $code, expected 143"
works "$toy" eval --data t.txt --out disk/run

# Lathe's own output.
lathe=${LATHE:-$BUILD/lathe}
if [ -x "$lathe" ]; then
    fill
    mkdir -p disk/out
    refuses 1 'no space left\|No space left' "$lathe" build "$top/models/mlp.lua" -o disk/out
    [ -e disk/out/trainer ] && wrong 'half a trainer' || ok 'no half trainer'
fi
rm -rf disk/filler disk/out

# Read-only.
mount -o remount,ro none disk || wrong 'cannot be mounted read-only'
refuses 3 'disk/run/lock: error: cannot be made: read-only file system' "$toy" train --out disk/run --resume
refuses 3 'cannot be made: read-only file system' $train --out disk/other
refuses 3 'disk/w.safetensors: error: cannot be made: read-only' "$toy" init --out disk/w.safetensors
works "$toy" eval --data t.txt --out disk/run
works "$toy" generate --out disk/run --tokens 5
[ ! -x "$lathe" ] || refuses 1 'ead-only file system' "$lathe" build "$top/models/mlp.lua" -o disk/out
finish
