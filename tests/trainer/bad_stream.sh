# bad_stream.sh: documents that turn out to be bad while they are trained on: files that change, shards that lie, ids beyond
# the vocabulary, a pipe that falls silent.  Exit code 3 and where it was; what was trained before is saved, and goes on when
# the data is mended.  What changes does so before a certain step (TOY_AT), when no thread can have read all of an epoch (a
# megabyte) yet, and a run takes more than two: nothing depends on time.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
export LATHE_CACHE=off

some_text some.txt 100
some_text all.txt 27000
works "$lathe" tokenize train --kind chars --out letters some.txt
mkdir good
split -l 9000 -d --additional-suffix=.txt all.txt good/
of_documents="$toy train --tokenizer letters --set shuffle_tokens=3000 --set val_fraction=0 --seed 5 --set schedule=constant --steps 34000"
train="$of_documents --order epochs --set documents=line"
works $train --data good --out good.run
says 'epoch 2 |' err

# breaks WORDS COMMAND: done before step 40, the run ends; mended, it goes on to the bytes of a run that nothing befell.
breaks() {
    rm -rf now run
    cp -r good now
    refuses 3 "$1" env TOY_AT="40 $2" $train --data now --out run
    stopped=$(sed -n 's/.*note: step \([0-9]*\) is saved; to continue.*/\1/p' err)
    [ "${stopped:-0}" -ge 40 ] && ok "saved after step $stopped" || wrong "saved after step $stopped"
    rm -rf now
    cp -r good now
    works $train --data now --out run --resume
    same run/model.safetensors good.run/model.safetensors
}
breaks 'now/01.txt: error: was there when it was found, and cannot be read any more: no such file' 'rm now/01.txt'
breaks 'now/01.txt: error: shrank from [0-9]* to [0-9]* bytes while it was in use' 'truncate -s 100 now/01.txt'

# A file that grows is read as far as it went.
cp -r good grows
works env TOY_AT='40 echo the cat sat >>grows/01.txt' $train --data grows --out grows.run
[ "$(tail -n 1 grows/01.txt)" = 'the cat sat' ] && ok 'it has grown' || wrong 'it has not grown'
same grows.run/model.safetensors good.run/model.safetensors

# Shards.  What a header says of a packed one can only be seen at its end.
mkdir shards lies beyond
for k in 0 1 2; do works "$lathe" tokenize encode --tokenizer letters --out shards/$k.bin good/0$k.txt; done
refuses 2 'token shards do not say which characters their ids are; give --tokenizer FILE' $toy train --tokenizer chars --data shards --out no
ids=$((($(wc -c <shards/1.bin) - 1024) / 2))
n=$((ids + 256))
{
    head -c 8 shards/1.bin
    printf "\\$(printf %03o $((n % 256)))\\$(printf %03o $((n / 256 % 256)))\\$(printf %03o $((n / 65536)))\0"
    tail -c +13 shards/1.bin
} >lies/1.bin
cp shards/0.bin shards/2.bin lies
refuses 3 "lies/1.bin: error: its header says $n tokens of 2 bytes, and there are $((2 * ids)) bytes after it" $of_documents --data lies --out lies.run
[ ! -e lies.run ] && ok 'no run was begun' || wrong 'a run was begun'
gzip -1 -n lies/1.bin
refuses 3 "lies/1.bin.gz: error: its header says $n tokens, and it ends after $ids tokens" $of_documents --data lies --out lies.run
says 'note: step [1-9][0-9]* is saved' err
works "$toy" eval --out lies.run --data some.txt
cp shards/0.bin shards/2.bin beyond
{ head -c $((1024 + 2 * 70000)) shards/1.bin; printf '\030\0'; tail -c +$((1024 + 2 * 70001 + 1)) shards/1.bin; } >beyond/1.bin
refuses 3 'beyond/1.bin: token 70000: error: expected ids below 24, the size of the vocabulary, found 24' $of_documents --data beyond --out beyond.run
says 'note: step [1-9][0-9]* is saved' err
refuses 3 'shards/1.bin: error: shrank from [0-9]* to [0-9]* bytes while it was in use' env TOY_AT='40 truncate -s 1500 shards/1.bin' $of_documents --data shards --out cut.run

# A pipe in which nothing comes: a signal ends what has nothing to save yet.
mkfifo silent
endless="$train --steps 100000000 --data silent --out silent.run"
$endless 2>err &
process=$!
exec 3>silent # it is open at the other end, too
kill -TERM $process
wait $process 2>/dev/null
code=$?
exec 3>&-
[ $code = 143 ] && [ ! -e silent.run/checkpoints ] && ok 'a pipe that says nothing can be left' || wrong "exit $code of a pipe that says nothing"

# It falls silent, and the disk takes for ever: the first signal ends the run and saves, the second ends that.
shim=$work/shim.so
${CC:-cc} -shared -fPIC -o "$shim" "$top/tests/trainer/shim_faults.c" || { echo 'skipped: no C compiler'; exit 77; }
# appears TEST…: within half a minute
appears() {
    for i in $(seq 300); do
        [ -s silent.run/metrics.jsonl ] && { [ -z "$1" ] || [ -n "$(find silent.run/checkpoints -name "$1" 2>/dev/null)" ]; } && return
        sleep 0.1
    done
    wrong "after 30 s no $1"
}
env FAULT='fsync -1000000 .part/' LD_PRELOAD="$shim" $endless 2>err &
process=$!
exec 3>silent
cat all.txt >&3
appears ''
kill -TERM $process
appears '*.part'
sleep 0.1 # one that follows at once is the same signal
kill -TERM $process
wait $process 2>/dev/null
code=$?
exec 3>&-
[ $code = 143 ] && ok 'the second signal ends it' || wrong "exit $code at the second signal"
finish
