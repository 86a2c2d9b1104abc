# parts.sh: checkpoints of which each rank writes its parts: a full disk on one rank is named, the run goes on, and the next save
# succeeds; ranks that do not see the run folder send their parts; what is not there, although it was written, is found.
top=$PWD
. tests/trainer/common
command -v pgrep >/dev/null && command -v prlimit >/dev/null || { echo 'skipped: no pgrep, or no prlimit (procps, util-linux)'; exit 77; }
export OMP_NUM_THREADS=1
some_text t.txt 400
train="train --data t.txt --set schedule=constant --no-report --no-profile --no-histograms --keep-last 0"
works "$toy" $train --ranks 3 --steps 60 --out whole
as_whole() { for file in model optimizer; do same "$1/checkpoints/step-60/$file.safetensors" "whole/checkpoints/step-60/$file.safetensors"; done; }

# The toy has a single chunk, which is that of rank 2.
"$toy" $train --steps 100000000 --save-every 20 --ranks 3 --out full >out 2>err &
called=$!
until_there() { for i in $(seq 400); do ! eval "$1" || return 0; sleep 0.05; done; wrong "never: $1"; }
until_there '[ -e full/checkpoints/step-20 ]'
last=$(pgrep -P $called | sort -n | tail -n 1)
prlimit --pid "$last" --fsize=64:
until_there 'grep -q "is not saved" err'
prlimit --pid "$last" --fsize=unlimited:
says 'step-[0-9]*.part/[a-z]*.safetensors: error: cannot be written: file too large, by rank 2 of 3, on .*; step [0-9]* is not saved, the newest checkpoint is of step [0-9]*\.  The run continues, and the next save tries again: raise the limit on the size of files' err
failed=$(sed -n 's/.* step \([0-9]*\) is not saved.*/\1/p' err | tail -n 1)
[ ! -e "full/checkpoints/step-$failed" ] && ok 'not there' || wrong 'a checkpoint that is not saved'
until_there '[ -e full/checkpoints/step-$((failed + 60)) ]'
kill -TERM $called
wait $called
[ $? = 143 ] && [ -z "$(find full -name '*.part')" ] && ok 'the next are saved' || wrong "code, or left: $(find full -name '*.part')"
works "$toy" $train --resume=full/checkpoints/step-20 --steps 60 --ranks 3 --out full.on
as_whole full.on

for apart in 1 2; do
    works env LATHE_RANKS_APART=$apart "$toy" $train --ranks 3 --steps 60 --out apart$apart
    as_whole apart$apart
done
grep -q 'does not see' apart2/logs/rank-2.txt && ok 'its log says so' || wrong "its log: $(cat apart2/logs/rank-2.txt)"

${CC:-cc} -shared -fPIC -o lost.so "$top/tests/ranks/shim_lost.c" || { echo 'skipped: no C compiler'; exit 77; }
case $(nm -D "$toy" 2>/dev/null) in *__asan*) finish ;; esac
refuses 3 'model.safetensors: error: does not hold what rank 2 of 3, on .*, has written into it; step 60 is not saved' env LD_PRELOAD=./lost.so "$toy" $train --ranks 3 --steps 60 --out lost
finish
