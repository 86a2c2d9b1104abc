# training.sh: what a run does: it learns, writes its folder, counts every window once, and depends on nothing but its seed.
. tests/trainer/common
some_text t.txt 400
train="$toy train --data t.txt"

works $train --out a --json
says '"steps":60' out
says 'step 60/60 | loss' err
says '^eval 20/60 | loss' err
says 'step 60: saved a/checkpoints/step-60' err
says '"split":"train","loss":' a/metrics.jsonl
says '"split":"val"' a/metrics.jsonl
says '"lr": 0.05' a/config.json
close "$(number loss out)" 1.5 0.2 'loss after 60 steps (uniform: 3.18)'
[ "$(wc -l <a/metrics.jsonl)" = 63 ] && ok '60 steps and 3 evaluations' || wrong "$(wc -l <a/metrics.jsonl) lines of metrics"

for threads in 2 3 8; do
    works $train --out b --threads $threads
    same a/model.safetensors b/model.safetensors
done
works $train --out b --seed 2
differs a/model.safetensors b/model.safetensors
works $train --out b --set lr=0.01
differs a/model.safetensors b/model.safetensors
works $train --out b --eval-every 7 --save-every 11 --log-every 5
same a/model.safetensors b/model.safetensors
says 'step 55: saved' err
works $train --out b --epochs 1
says "step $(( ($(wc -c <t.txt) * 9 / 10 / 8 + 7) / 8 ))/" err
works $train --out b --tokens 1000
says 'step 16/16' err
works $train --out b --set optimizer=sgd --set schedule=constant --set clip=0
says '"optimizer": "sgd"' b/config.json

# Weights that a run starts from are those that another left.
works $train --out c --steps 1 --set lr=0 --init a
same a/model.safetensors c/model.safetensors

# Several files are one text.
head -c 5000 t.txt >t1.txt
tail -c +5001 t.txt >t2.txt
works "$toy" train --data t1.txt t2.txt --out b
same a/model.safetensors b/model.safetensors

# Characters beyond ASCII are found at the same places.
tr cd '\001\002' <t.txt | sed "s/$(printf '\001')/é/g; s/$(printf '\002')/€/g" >u.txt
works "$toy" train --data u.txt --out u
works "$toy" eval --data u.txt --out u --json
cp out u.out
tr cd yz <t.txt >v.txt
works "$toy" train --data v.txt --out v
works "$toy" eval --data v.txt --out v --json
close "$(number loss u.out)" "$(number loss out)" 1e-9 'loss with other letters'

# 6 windows of 8 in batches of 4, against each window alone.
head -c 49 t.txt >w.txt
works "$toy" eval --data w.txt --out a --val-fraction 1 --json
close "$(number windows out)" 6 0.1 windows
all=$(number loss out) sum=0
for i in 0 1 2 3 4 5; do
    tail -c +$((1 + 8 * i)) w.txt | head -c 9 >one.txt
    works "$toy" eval --data one.txt --out a --val-fraction 1 --json
    sum="$sum + $(number loss out)"
done
close "$all" "($sum) / 6" 1e-6 'mean over windows'

# Too little for an evaluation is said, and no reason to stop.
head -c 60 t.txt >small.txt
works "$toy" train --data small.txt --out b --steps 3
says 'note: no evaluation' err
finish
