# trials.sh: `train --overfit` and `train --dry-run`: what they say, and that they write nothing.
. tests/trainer/common
# The toy is a bigram model: a text in which each letter has one successor can be learnt, another one not.
awk 'BEGIN { for (i = 0; i < 200; i++) printf "abcdefghij" }' >cycle.txt
some_text t.txt 100

works "$toy" train --data cycle.txt --overfit --out r
says 'overfit: the loss went from 3.1.* to less than 1 % of it' out
works "$toy" train --data cycle.txt --overfit --json
says '"overfit": *true' out
refuses 1 'step 1 | loss' "$toy" train --data t.txt --overfit --steps 300
says 'and stays there' out
refuses 1 'loss' "$toy" train --data t.txt --overfit --steps 20 --set lr=0.02
says 'and still falls: give it more steps' out
refuses 1 'loss' "$toy" train --data t.txt --overfit --steps 30 --set lr=0
says 'it does not fall' out
refuses 4 'expected a finite loss' env TOY_NAN_AT=0 "$toy" train --data t.txt --overfit
refuses 2 'leave --resume out' "$toy" train --data t.txt --overfit --resume
refuses 2 'give one' "$toy" train --data t.txt --overfit --dry-run

works "$toy" train --data t.txt --dry-run --set samples=the
says 'step: loss 3.1.*guessing gives 3.178' out
says 'evaluation: loss 3.1.* over 4 of' out
says 'samples: about' out
says 'the whole run: 60 steps and 3 evaluations, about' out
works "$toy" train --data t.txt --dry-run --json --set eval_every=0 --set eval_epochs=2 --steps 500
says '"evaluations": *[0-9]' out
refuses 4 'the first step: expected a finite loss, found loss nan' env TOY_NAN_AT=0 "$toy" train --data t.txt --dry-run
for made in r runs; do [ ! -e $made ] && ok "no $made" || wrong "$made was written"; done
finish
