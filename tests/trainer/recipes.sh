# recipes.sh: every optimizer under every schedule goes on after a stop to the bits of a run that was never stopped.
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
    says 'goes on after step 11 of 23' err
    same whole/checkpoints/step-23/model.safetensors part/checkpoints/step-23/model.safetensors
    moments=whole/checkpoints/step-23/optimizer.safetensors
    [ ! -e $moments ] || same $moments part/checkpoints/step-23/optimizer.safetensors
}

# shellcheck disable=SC2086
resumes --set optimizer=adamw --set schedule=one_cycle $cycle
# shellcheck disable=SC2086
resumes --set optimizer=sgd --set momentum=0.9 --set nesterov=1 --set schedule=one_cycle --set warmup=8 $cycle
resumes --set optimizer=adam --set decay=0.1 --set schedule=inverse_sqrt
resumes --set optimizer=lion --set lr=0.01 --set decay=0.1 --set schedule=step --set step_factor=0.5 --set milestones=9,12,20
resumes --set optimizer=sgd --set momentum=0 --set clip=0 --set clip_value=0.01 --set schedule=constant --set cooldown=15
resumes --set schedule=cosine --set schedule_steps=15

refuses 2 'expected steps in ascending order' "$toy" train --data t.txt --set milestones=9,7
refuses 2 'out of range' "$toy" train --data t.txt --set clip_value=-1
refuses 2 'expected a number' "$toy" train --data t.txt --set step_factor=nan
refuses 2 'did you mean lion' "$toy" train --data t.txt --set optimizer=lio
finish
