# logs.sh: --log: the files of a run that is stopped and goes on have what metrics.jsonl has; another run moves them aside.
# --on-eval: a command for each evaluation, which cannot harm the run.
. tests/trainer/common
some_text t.txt 400
train="$toy train --data t.txt --steps 40 --eval-every 10"
rows() { [ "$(wc -l <"$1/metrics.csv")" = "$(($(wc -l <"$1/metrics.jsonl") + 1))" ] && ok "$1: a row a line" || wrong "$1: other rows than lines"; }
column() { awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } $k != "" { print $1, $2, $k }' "$1/metrics.csv"; }
lines() { sed -n "s/^{\"step\":\([0-9]*\),\"split\":\"\([a-z]*\)\".*\"$2\":\([-0-9.e+]*\)[,}].*/\1 \2 \3/p" "$1/metrics.jsonl"; }
alike() {       # RUN NAME…
    run=$1
    shift
    for name; do
        lines "$run" "$name" >lines
        column "$run" "$name" | cmp -s - lines && [ -s lines ] && ok "$run: $name" || wrong "$run: $name is another column"
    done
}

refuses 2 'expected tensorboard, csv' $train --out a --log tensorboard,wandb
refuses 2 'expected tensorboard, csv' $train --out a --log ''
works $train --out a
[ ! -e a/metrics.csv ] && ok 'no log that was not asked for' || wrong 'a log that was not asked for'

works $train --out b --log csv,tensorboard
rows b
alike b loss lr grad_norm accuracy
[ "$(head -c 12 b/events.out.tfevents.000000 | wc -c)" = 12 ] && ok 'an event file' || wrong 'no event file'

works $train --out c --log csv --steps 20 --set schedule_steps=40
works $train --out c --resume --log tensorboard --steps 40 --set schedule_steps=40
rows c
alike c loss lr accuracy
[ -e c/events.out.tfevents.000000 ] && ok 'a log that is asked for later' || wrong 'no event file after resuming'
works $train --out c --resume --steps 60
rows c
[ -e c/events.out.tfevents.000001 ] && ok 'both go on' || wrong "event files: $(ls c)"

works $train --out c
[ -e c/before-1/metrics.csv ] && [ -e c/before-1/events.out.tfevents.000001 ] && [ ! -e c/metrics.csv ] && ok 'moved aside' || wrong "$(ls c c/before-*)"

works $train --out e --on-eval 'read -r line; echo "$LATHE_STEP $LATHE_RUN $line" >>told; echo heard'
sed -n 's/^{"step":\([0-9]*\),"split":"val"/\1 e &/p' e/metrics.jsonl | cmp -s - told && [ "$(wc -l <told)" = 4 ] && ok 'a command for each evaluation' || wrong "told: $(cat told)"
says heard err
same b/model.safetensors e/model.safetensors
works $train --out e --on-eval 'exit 3'
says 'the command for step 10 ended with exit code 3; the run goes on' err
works $train --out e --on-eval 'kill -9 $$'
says 'the command for step 40 ended with signal 9' err
works $train --out e --on-eval 'exec sleep 1'
says 'the command for step 10 still runs, so there is none for step 20' err

mkdir d
mkdir d/metrics.csv
refuses 3 'd/metrics.csv' $train --out d --log csv
finish
