# odd_files.sh: pipes where files are expected, links to other people's files, a lock that is removed by hand, a folder
# that is put in another's place.  Nothing waits for ever; nothing is shown that was not given.
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
some_text t.txt 400
train="$toy train --data t.txt --set schedule=constant"
works $train --out run
mkfifo pipe pipe.lua part.lua pipe.graph pipe.safetensors pipe.json pipe.npy pipe.csv

# Pipes that nobody writes to.
refuses 3 'pipe: error: expected a safetensors file' "$toy" eval --data t.txt --weights pipe
refuses 3 'pipe.safetensors: error: expected a safetensors file' "$toy" train --data t.txt --out new --init pipe.safetensors
refuses 3 'pipe.json: error: expected a tokenizer' "$toy" train --data t.txt --out new --tokenizer pipe.json
refuses 3 'pipe.npy: error: expected a regular file' "$table" train --data pipe.npy t.txt.npy --out new
works $train --out piped --steps 20
rm piped/checkpoints/step-20/state.json && mkfifo piped/checkpoints/step-20/state.json
refuses 3 'expected the state of a checkpoint' "$toy" train --resume --out piped
if [ -x "$lathe" ]; then
    refuses 1 'pipe.lua: error: cannot be read: it is not a regular file' "$lathe" check pipe.lua
    echo 'return require "part"' >whole.lua
    refuses 1 'part.lua: error: cannot be read: it is not a regular file' "$lathe" check whole.lua
    refuses 1 'pipe.graph: error: cannot be read: it is not a regular file' "$lathe" dump pipe.graph
    refuses 3 'pipe.json: error: expected a tokenizer' "$lathe" tokenize encode --tokenizer pipe.json --json t.txt
    refuses 3 'pipe: error: expected a regular file' "$lathe" tokenize decode --tokenizer run/tokenizer.json pipe
fi
# As data a pipe is fine: it is said, and waited for.
(sleep 0.3; cat t.txt >pipe) &
works "$toy" train --data pipe --out from_pipe --steps 3 --tokenizer run/tokenizer.json --order epochs
says 'pipe is a pipe: it is read as soon as another program writes to it' err

# A link beside a description shows no lines of what it leads to.
if [ -x "$lathe" ]; then
    mkdir apart beside
    echo 'secret words (of another' >apart/secret
    ln -s ../apart/secret beside/part.lua
    echo 'return require "part"' >beside/model.lua
    refuses 1 'beside/part.lua is a link to a file elsewhere' "$lathe" check beside/model.lua
    grep -q secret err && wrong 'a line of another file is shown' || ok 'no line of another file'
    rm beside/part.lua
    echo 'return = 3' >beside/other.lua
    ln -s other.lua beside/part.lua
    refuses 1 'part.lua:' "$lathe" check beside/model.lua # a link to what lies beside is fine, and its line is shown
    says 'return = 3' err
    # One call that would take years: ended by a signal's handler, with its line.
    printf 'local s = ("a"):rep(40)\nlocal n = s:find(("a*"):rep(20) .. "b")\nreturn {}\n' >late.lua
    LATHE_LUA_SECONDS=1 refuses 1 'late.lua:2: error: the description has run for too long' "$lathe" check late.lua
    printf 'while true do end\n' >loop.lua
    LATHE_LUA_SECONDS=1 refuses 1 'loop.lua:1: error: the description has run for' "$lathe" check loop.lua
fi

# The lock is the folder's: whoever removes the file lets nobody in.
wait_for() { for i in $(seq 300); do grep -q "$1" "$2" && return; sleep 0.1; done; wrong "after 30 s still not: $1"; cat "$2"; }
long="$train --steps 1000000000 --eval-every 0 --log-every 1000000"
$long --out held 2>first &
first=$!
wait_for '^step 1/' first
rm held/lock
refuses 3 'held: error: another trainer (process unknown) is writing into this run folder; wait for it' $train --out held
# Another folder in its place: the run goes on there while it is free, and stops where another trainer has it.
mv held elsewhere
mkdir -p held/checkpoints
kill -USR1 $first
wait_for 'saved held/checkpoints' first
says 'note: held was replaced by another folder during the run; the run continues in the new one' first
refuses 3 "another trainer (process $first) is writing" $train --out held
mv held again
$long --out held 2>second &
second=$!
wait_for '^step 1/' second
kill -USR1 $first
wait $first
code=$?
[ $code = 3 ] && ok 'the first one stops' || wrong "exit $code, expected 3"
says "another trainer (process $second) is writing into this run folder; this trainer had the folder" first
kill -TERM $second
wait $second
code=$?
[ $code = 143 ] && ok 'the second one saves' || wrong "exit $code, expected 143"
works "$toy" eval --data t.txt --out held
finish
