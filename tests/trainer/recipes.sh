# recipes.sh: every optimizer under every schedule goes on after a stop to the bits of a run that was never stopped; the best
# evaluation by any metric, patience, samples on the way, evaluations by epochs and over a part.
. tests/trainer/common
some_text t.txt 300
cycle='--set start_div=25 --set final_div=1e4 --set warm_fraction=0.3 --set cycle_momentum=1 --set low_momentum=0.85 --set high_momentum=0.95'

# resumes SETTINGS…: 23 steps at once; the same stopped after 11, with other threads.
resumes() {
    rm -rf whole part
    works "$toy" train --data t.txt --out whole --steps 23 --threads 2 "$@"
    works "$toy" train --data t.txt --out part --steps 23 --save-every 11 "$@"
    rm -rf part/checkpoints/step-2*
    works "$toy" train --resume --out part --threads 3
    says 'continues after step 11 of 23' err
    same whole/checkpoints/step-23/model.safetensors part/checkpoints/step-23/model.safetensors
    moments=whole/checkpoints/step-23/optimizer.safetensors
    [ ! -e $moments ] || same $moments part/checkpoints/step-23/optimizer.safetensors
}

# shellcheck disable=SC2086
resumes --set optimizer=adamw --set schedule=one_cycle $cycle
# shellcheck disable=SC2086
resumes --set optimizer=sgd --set momentum=0.9 --set nesterov=true --set schedule=one_cycle --set warmup=8 $cycle
resumes --set optimizer=adam --set decay=0.1 --set schedule=inverse_sqrt
resumes --set optimizer=rmsprop --set lr=0.01 --set decay=0.1 --set momentum=0.9 --set clip_weights=0.5
resumes --set optimizer=lion --set lr=0.01 --set decay=0.1 --set schedule=step --set step_factor=0.5 --set milestones=9,12,20
resumes --set optimizer=sgd --set momentum=0 --set clip=0 --set clip_value=0.01 --set schedule=constant --set cooldown=15
resumes --set schedule=cosine --set schedule_steps=15

# Noise has nothing to be learnt, so evaluations soon get no better.
awk 'BEGIN { for (i = 0; i < 3000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >n.txt
told="--set eval_every=10 --set best=perplexity --set patience=3"
lines() { sed 's/,"tok_s":.*//' "$1/metrics.jsonl" >"$1.lines"; }

# shellcheck disable=SC2086
{
    rm -rf whole part
    works "$toy" train --data n.txt --out whole --steps 200 $told --set samples='["the ", "no"]' --set sample_tokens=9 --json
    says '"stopped": *true' out
    says 'no better perplexity in 3 evaluations' err
    at=$(number steps out)
    grep -o '"split":"sample","prompt":"the ","text":"the [^"]*' whole/metrics.jsonl | sort -u >texts
    [ "$(wc -l <texts)" -ge $((at / 10 - 1)) ] && ok 'each sample is another' || wrong 'samples are the same'

    # Stopped in an evaluation amidst patience: of 10 calls each (38 windows in batches of 4, and a remainder of two).
    refused=0
    TOY_STOP_IN_EVAL=$((11 * (at / 10 - 1) - 5)) "$toy" train --data n.txt --out part --steps 200 $told --set sample_tokens=9 \
        --set samples='["the ", "no"]' >out 2>err || refused=$?
    [ $refused = 143 ] && ok 'stopped by a signal' || wrong "exit $refused"
    works "$toy" train --resume --out part --json --threads 3
    [ "$(number steps out)" = "$at" ] && ok "patience ends at step $at again" || wrong "patience ended at $(number steps out), not $at"
    for file in model optimizer; do same whole/checkpoints/step-$at/$file.safetensors part/checkpoints/step-$at/$file.safetensors; done
    lines whole; lines part
    same whole.lines part.lines
    same whole/checkpoints/best/model.safetensors part/checkpoints/best/model.safetensors

    # With more patience it goes on; samples and evaluations touch no bit of what is trained.
    works "$toy" train --resume --out part --set patience=0 --steps 200
    works "$toy" train --data n.txt --out other --steps 200 --set eval_epochs=1 --set eval_every=0 --set eval_rows=7 --set best=accuracy
    same part/model.safetensors other/model.safetensors
    says '"windows":7' other/metrics.jsonl
    [ "$(grep -c '"val"' other/metrics.jsonl)" = $((200 * 8 / (2699 / 8) + 1)) ] && ok 'an evaluation an epoch, and at the end' ||
        wrong "$(grep -c '"val"' other/metrics.jsonl) evaluations"
}
works "$toy" train --resume --out other --steps 210 --set best=loss
says 'it was by accuracy, so none is the best yet' err
works "$toy" train --data n.txt --out other --steps 20 --set warmup=30 --set patience=2 --set eval_every=0
says 'patience counts evaluations, and the only one is at the end' err
says 'the learning rate never reaches lr' err

refuses 2 "no such metric; this model has loss, accuracy, perplexity" "$toy" train --data n.txt --set best=bleu
refuses 2 'expected a text, or a JSON array' "$toy" train --data n.txt --set samples='[1]'
refuses 3 'is not one of the' "$toy" train --data n.txt --set samples=XYZ
refuses 2 'expected steps in ascending order' "$toy" train --data t.txt --set milestones=9,7
refuses 2 'out of range' "$toy" train --data t.txt --set clip_value=-1
refuses 2 'expected a number' "$toy" train --data t.txt --set step_factor=nan
refuses 2 'did you mean lion' "$toy" train --data t.txt --set optimizer=lio
finish
