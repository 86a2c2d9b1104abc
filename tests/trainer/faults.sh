# faults.sh: a loss that is not finite, signals, too little memory, a full disk: the exit code, and nothing saved is lost.
. tests/trainer/common
some_text t.txt 400
train="$toy train --data t.txt"

export TOY_NAN_AT=30
refuses 4 'step 31: expected a finite loss, found loss nan .*nothing had been saved yet' $train --out a
says '--set lr=0.005' err
[ -e a/model.safetensors ] && wrong 'a diverged run saved its weights' || ok 'nothing saved'
refuses 4 'the weights of step 20 are kept in a/model.safetensors' $train --out a --save-every 20
unset TOY_NAN_AT
works "$toy" eval --data t.txt --out a
works $train --out b --steps 20 --set schedule=constant
works $train --out c --steps 60 --set schedule=constant --save-every 20
says 'step 20: saved' err

# interrupt SIGNAL: sent while it trains; the step is finished and saved.
interrupt() {
    rm -rf run
    $train --out run --steps 1000000000 --eval-every 0 2>err &
    process=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; [ -s run/metrics.jsonl ] && break; done
    kill -s "$1" $process
    wait $process
    code=$?
    [ $code = "$2" ] && ok "exit $code after SIG$1" || wrong "exit $code after SIG$1, expected $2"
    says 'interrupted after step [0-9]* of 1000000000' err
    works "$toy" eval --data t.txt --out run
    works "$toy" generate --out run --tokens 5
}
interrupt INT 130
interrupt TERM 143

# A text that is cut short while it is trained on.
some_text long.txt 4000
rm -rf run
"$toy" train --data long.txt --out run --steps 1000000000 --eval-every 0 2>err &
process=$!
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.2; [ -s run/metrics.jsonl ] && break; done
: >long.txt
wait $process
code=$?
[ $code = 3 ] && ok 'exit 3 when the text is cut' || wrong "exit $code when the text is cut, expected 3"
says 'a file that is being read became shorter' err

refuses 1 'train needs 13.7 KB (13,696 bytes), and --memory-limit is 10.2 KB; nothing was taken' $train --out d --memory-limit 10K
says 'lathe build MODEL.lua --set batch=N' err
works $train --out d --memory-limit 13696 --steps 1

refuses 3 'the run folder cannot be made' $train --out t.txt/run
mkdir -p full
ln -s /dev/full full/model.safetensors.part
refuses 3 'full/model.safetensors: error: cannot be written: no space left' $train --out full --steps 1
cp a/model.safetensors old
mkdir -p half
cp old half/model.safetensors
ln -s /dev/full half/model.safetensors.part
refuses 3 'what it held before is still there' $train --out half --steps 1
same half/model.safetensors old
finish
