# command_line.sh: mistakes on the command line: each has its message, and exit code 2; help names everything.
. tests/trainer/common

refuses 2 'usage: trainer' "$toy"
refuses 2 'no command trian; did you mean train?' "$toy" trian
refuses 2 'no option --stpes; did you mean --steps?' "$toy" train --stpes 5
refuses 2 'train has no option --prompt; generate has' "$toy" train --prompt x
refuses 2 'no option --zzzzzzzzz; `trainer eval --help` lists them' "$toy" eval --zzzzzzzzz
refuses 2 'expected an option, found file.txt' "$toy" bench file.txt
refuses 2 '--seed needs a value' "$toy" train --seed
refuses 2 '--seed -1: expected a whole number' "$toy" train --seed -1
refuses 2 '--threads 0: expected a whole number, 1 to 1024' "$toy" train --threads 0
refuses 2 '--json takes no value' "$toy" info --json=1
refuses 2 '--memory-limit big: expected a size' "$toy" bench --memory-limit big
refuses 2 'steps=ten: expected a whole number' "$toy" train --steps ten

refuses 2 '--set lrr: there is no such setting; did you mean lr?' "$toy" train --set lrr=1
refuses 2 '--set layer: there is no such setting; did you mean layers?' "$toy" train --set layer=1
refuses 2 'layers is fixed when built: it is 2 here; rebuild with `lathe build MODEL.lua --config tiny --set layers=6`' \
    "$toy" train --set layers=6
refuses 2 'accumulate is fixed when built: it is 2 here' "$toy" train --set accumulate=4
refuses 2 'expected name=value' "$toy" train --set lr
refuses 2 'lr=fast: expected a number' "$toy" train --set lr=fast
refuses 2 'lr=nan: expected a number' "$toy" train --set lr=nan
refuses 2 'val_fraction=1.5 is out of range: expected 0 to 1' "$toy" train --val-fraction 1.5
refuses 2 'train has no option --lr; did you mean --set lr=VALUE' "$toy" train --lr 0.1
refuses 2 'lr=-1 is out of range: expected 0 or more' "$toy" train --set lr=-1
refuses 2 'steps=1e17: expected a whole number\|out of range' "$toy" train --set steps=1e17
works "$toy" info --set lr=2e9
refuses 2 'schedule=cosin: expected constant, linear, cosine, one_cycle, step or inverse_sqrt; did you mean cosine?' "$toy" train --set schedule=cosin
refuses 2 'train needs --data PATH…: the text to read: files, folders, or - for standard input' "$toy" train
refuses 2 'split=groups: expected last, hash, group or stratified; did you mean group?' "$table" train --set split=groups
refuses 2 'grad needs --weights' "$toy" grad
refuses 2 'init needs --out' "$toy" init
some_text t.txt 50
refuses 2 'found t.txt; did you mean --data t.txt' "$toy" train t.txt
refuses 2 '--steps and --epochs both say how long' "$toy" train --data t.txt --steps 3 --epochs 1
refuses 2 'give one' "$toy" train --data t.txt --epochs 1 --tokens 5
refuses 2 'does not say how long to train' "$toy" train --data t.txt --set steps=0
refuses 2 '--fold divides rows, and .* reads text' "$toy" train --data t.txt --fold 1/5
refuses 2 'split divides rows, and .* reads text' "$toy" train --data t.txt --set split=hash

for command in train check; do
    works "$BUILD/lathe" $command --help
    says "usage: lathe $command MODEL.lua" out
done
works "$toy" --help
says 'generate ' out
works "$toy" train --help
says '--eval-every N' out
says 'repetition_penalty' out
works "$toy" info
says 'planned' out
works "$toy" info --json
says '"parameter_count":624' out
works "$toy" bench --steps 3 --json
for key in tokens_per_s step_ms median flops_per_step gemm_floor_ms planned_bytes lower_bound_bytes peak_rss_bytes startup_ms; do
    says "\"$key\"" out
done
finish
