# verify.sh: a run's hashes are the same file for any number of threads, also where it was killed and went on; anyone can check
# them with sha256sum; verify computes steps again and names what was changed: an element, a line of the data, the seed, a
# setting; what it cannot verify is said; it changes nothing.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
export LATHE_CACHE="$PWD/cache"
some_text t.txt 400
train="$toy train --data t.txt --save-every 20 --eval-every 15 --log-hashes"
cut_to() {      # RUN COPY STEP: the run as it was at that checkpoint, and killed a little later
    rm -rf "$2"
    cp -R "$1" "$2"
    for c in "$2"/checkpoints/step-*; do [ "${c##*-}" -le "$3" ] || rm -rf "$c"; done
    printf '{"step":999,"spl' >>"$2/hashes.jsonl"
}
again() { rm -rf b; cp -R a b; }
flip() { old=$(od -An -tu1 -j"$2" -N1 "$1"); printf "\\$(printf %03o $((old ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
finds() {       # WORDS OPTIONS…: a difference
    words=$1
    shift
    timeout 60 "$toy" verify "$@" >out 2>err </dev/null
    got=$?
    if [ $got = 5 ] && grep -q -- "$words" out; then ok "$words"; else wrong "exit 5 and \"$words\" expected, exit $got found: $*"; cat out err; fi
}
same_as() { works "$toy" verify "$@"; says '^same: ' out; }

works $train --out a --threads 1
for n in 2 3; do
    works $train --out b --threads $n
    same a/hashes.jsonl b/hashes.jsonl
done
for step in 20 45; do
    cut_to a b $step
    works "$toy" train --out b --resume --threads $((step % 3 + 1))
    same a/hashes.jsonl b/hashes.jsonl
done
works $train --out c --log-hashes=7 --steps 5 --on-eval 'echo >>ran'
grep -c '"parameters"' c/hashes.jsonl >count
[ "$(cat count)" = 2 ] && ok 'every 7, and the last' || wrong "$(cat count) hashes of parameters in 5 steps"

# As anyone may check it: a line's hash is that of its text, and the next line has it; hashes of files are those of sha256sum.
previous=
while IFS= read -r line; do
    text=${line%,\"hash\":*}
    case $text in *"\"previous\":\"$previous\"") ;; *) wrong "a line does not follow: $line" ;; esac
    previous=$(printf %s "$text" | sha256sum | cut -c1-64)
    [ "$text,\"hash\":\"$previous\"}" = "$line" ] || wrong "another hash: $line"
done <a/hashes.jsonl
if command -v python3 >/dev/null; then     # the page's own program
    awk '/^```python/ { getline; on = /^import hashlib/ } /^```$/ { on = 0 } on' "$top/examples/training.md" >check.py
    works python3 check.py a/hashes.jsonl
    says "^67 lines, the last hash is $previous" out
fi
says "\"name\":\"t.txt\",\"bytes\":[0-9]*,\"sha256\":\"$(sha256sum <t.txt | cut -c1-64)\"" a/hashes.jsonl

# The same, from the beginning and from a checkpoint; nothing is left behind.
find a | sort >before
find a -type f -exec sha256sum {} + | sort >>before
same_as --out a --threads 3
says 'the last hash is '"$previous"'$' out
says 'same: steps 1 to 60; 8 hashes of all parameters; 4 evaluations; 6 checkpoints$' out
same_as --out a --steps 41..50
says 'steps 41 to 50, computed from a/checkpoints/step-40' out
find a | sort >after
find a -type f -exec sha256sum {} + | sort >>after
same before after
mkdir elsewhere
cd elsewhere || exit 1
if [ -x "$lathe" ]; then works "$lathe" verify ../a --trainer "$toy" --steps 55.. --json; else works "$toy" verify --out ../a --steps 55.. --json; fi
says '{"same":true,"from":45,"steps":\[55,60\]' out
cd ..

# What was changed, by name.
again
flip b/checkpoints/step-40/model.safetensors 1000
finds 'step 40: tensor: table.weight (toy.lua:4), in model.safetensors: element \[5\]\[22\] is .*, and was .* (bit 4 is flipped)' --out b --steps 41..
finds 'step 40: tensor: table.weight (toy.lua:4) in b/checkpoints/step-40/model.safetensors: element \[5\]\[22\]' --out b --steps 31..50
again
flip b/checkpoints/step-40/optimizer.safetensors 2000
finds 'exp_avg.table.weight (toy.lua:4), in optimizer.safetensors: element \[13\]\[14\]' --out b --steps 41..
again
flip b/checkpoints/step-45/optimizer.safetensors 2000
finds 'step-45/optimizer.safetensors does not have the checksum' --out b --steps 46..
sed '100s/e/o/' t.txt >u.txt
finds 'u.txt (data): line 100 differs$' --out a --data u.txt
says 'steps 1 to 60 are the same: what differs does not reach them' out
sed '7s/e/o/' t.txt >u.txt
finds 'u.txt (data): line 7 differs$' --out a --data u.txt
says '^differs at step [0-9]*: batch: the inputs (tokens, targets).*the same rows have other contents' out
says '^differs at step [0-9]*: loss' out
sed '150d' t.txt >u.txt
finds 'u.txt (data): it differs between line 145 and line 160: it has [0-9,]* bytes, and had 13,688' --out a --data u.txt
finds 'seed: the seed is 3 as given, and was 1' --out a --seed 3
works $train --out other --seed 2
again
cp other/hashes.jsonl b
finds 'seed: b/checkpoints/step-40/state.json says seed 1, and hashes.jsonl says 2' --out b --steps 41..
works $train --out other --set lr=0.02
cp other/hashes.jsonl b
finds 'setting: lr is 0.05 here, and was 0.02' --out b --steps 41..

# Another setting from a checkpoint on is another head: each piece is verified by its own.
cut_to a b 40
works "$toy" train --out b --resume --set lr=0.01
same_as --out b
says 'from step 41 on the run had other settings or data$' out
says '^same: steps 1 to 40; 5 hashes of all parameters; 2 evaluations; 4 checkpoints$' out
says '^same: steps 41 to 60' out
works "$toy" verify --out b --steps 31..50 --json
[ "$(grep -c '^{"same":true,.*"steps":\[\(31,40\|41,50\)\]' out)" = 2 ] && ok 'an object a part' || wrong "parts: $(cat out)"
cp -R b c2
flip c2/checkpoints/step-20/model.safetensors 1000
finds 'from step 41 on .*: these steps were not computed$' --out c2
rm -r c2/checkpoints/step-[24]0
refuses 3 'the nearest checkpoint is of step 30' "$toy" verify --out c2 --steps 31..
flip b/checkpoints/step-60/model.safetensors 1000
finds '^differs at step 60: tensor: table.weight' --out b
says '^same: steps 1 to 40' out

# Without hashes: losses and checkpoints.
again
rm b/hashes.jsonl
same_as --out b
says 'the run has no hashes' out
flip b/checkpoints/step-60/model.safetensors 1000
finds 'step 60: tensor: table.weight .*element \[5\]\[22\]' --out b --steps 50..
sed -i '5s/"loss":[0-9]/"loss":7/' b/metrics.jsonl
finds 'step 5: loss: .* here, and 7.* in metrics.jsonl' --out b
sed -i '5s/"loss":[0-9.]*/"loss":null/' b/metrics.jsonl
finds 'step 5: loss: .* here, and 0 in metrics.jsonl' --out b
again
rm b/hashes.jsonl
sed -i '/"split":"train"/d' b/metrics.jsonl
same_as --out b --steps 21..50
says 'same: steps 21 to 50; 3 checkpoints$' out
refuses 3 'nothing to compare' "$toy" verify --out b --steps 21..29

cut_to a b 40
rm b/hashes.jsonl
works "$toy" train --out b --resume --set lr=0.01
same_as --out b
says '^same: steps 1 to 40; .* checkpoints$' out
says '^same: steps 41 to 60; .* checkpoints$' out
rm -r b/checkpoints/step-[24]*
refuses 3 'from step 41 on .* the nearest checkpoint is of step 30' "$toy" verify --out b --steps 41..

again
head -n 40 a/hashes.jsonl >b/hashes.jsonl
finds 'chain: it ends at step [0-9]*, and a checkpoint of step 60 is there' --out b

# Of a stranger's folder no program runs that the command line does not name, or that has not trained here; no command runs.
[ -e ran ] && rm ran || wrong 'no --on-eval ran'
same_as --out c
[ ! -e ran ] || wrong 'verify runs the command of --on-eval'
if [ -x "$lathe" ]; then
    printf '#!/bin/sh\necho >>ran\n' >evil
    chmod +x evil
    for word in evil ./evil "$PWD/evil" 'gone\u001b[2J'; do
        printf '{"starts": [{"words": ["%s", "train"], "folder": "%s", "step": 0}]}' "$word" "$PWD" >c/run.json
        case $word in gone*) said='not there any more' ;; *) said="no note says that you have trained.*say --trainer .*$word" ;; esac
        refuses 2 "$said" "$lathe" verify c
        ! grep -q "$(printf '\033')" err || wrong 'an escape of run.json reaches the terminal'
    done
    [ ! -e ran ] || wrong 'verify runs the program of run.json'
    works "$lathe" verify a --steps 55..
    says '^same: ' out
    refuses 2 'no note says that you have trained' env LATHE_CACHE="$PWD/other" "$lathe" verify a
    for note in "$LATHE_CACHE"/trainers/*; do
        printf %s "$PWD/evil" >"$note"
    done
    refuses 2 'no note says that you have trained' "$lathe" verify a
    cp "$toy" own       # another program in the place of one's own
    works ./own train --data t.txt --out d --steps 2 --log-hashes
    works "$lathe" verify d
    rm own
    cp evil own
    refuses 2 'no note says that you have trained' "$lathe" verify d
    [ ! -e ran ] || wrong 'verify runs what lies in the place of a known program'
fi

# What cannot be verified.
again
sed -i '30s/"norm":"3/"norm":"4/' b/hashes.jsonl
refuses 3 'hashes.jsonl: error: line 30: its text does not have the hash' "$toy" verify --out b
refuses 3 'hashes.jsonl: error: line 30: .*the chain cannot go on' "$toy" train --out b --resume --steps 70
again
sed -i 30d b/hashes.jsonl
refuses 3 'line 30: it does not have the hash of the line before' "$toy" verify --out b
again
truncate -s -40 b/hashes.jsonl
same_as --out b --steps 50..
says 'half a line, as a kill leaves it' out
rm b/checkpoints/step-45/optimizer.safetensors
refuses 3 'optimizer.safetensors: error: .*cannot be read' "$toy" verify --out b --steps 46..
refuses 2 '--steps 50..70: a has 60 steps' "$toy" verify --out a --steps 50..70
refuses 2 'expected steps such as 400..500' "$toy" verify --out a --steps 9..3
refuses 3 'found nothing there' "$toy" verify --out none
refuses 2 '--log-hashes=0: expected a number of steps' $train --out c --log-hashes=0
refuses 2 '--log-hashes takes its number after an equals sign' $train --out c --log-hashes 5
mv t.txt gone.txt
refuses 3 't.txt: error: expected this file of the run.s data' "$toy" verify --out a
same_as --out a --data gone.txt --steps 55..
mv gone.txt t.txt
refuses 3 'expected a trainer of toy in fp32' "$table" verify --out a
works env TOY_AT="30 $toy verify --out live >live.out 2>live.err; echo \$? >live.rc" $train --out live
[ "$(cat live.rc)" = 3 ] && says 'another trainer .* is writing into this run folder; wait for it, or copy' live.err || wrong "while it runs: $(cat live.rc)"
if ${CC:-cc} -shared -fPIC "$top/tests/trainer/shim_faults.c" -o shim.so -ldl 2>/dev/null; then
    works env FAULT='write 28 hashes.jsonl 15000' LD_PRELOAD="$PWD/shim.so" $train --out full
    says 'full/hashes.jsonl is not complete: it cannot be written: no space' err
    same a/model.safetensors full/model.safetensors
    refuses 2 'full has [0-9]* steps' "$toy" verify --out full --steps 50..60
    finds 'chain: it ends at' --out full
    same_as --out full --steps 1..20
fi
finish
