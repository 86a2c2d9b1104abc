# garbage.sh: what is no text is not taken for one: refused where tokens are made of it, said where any byte is a token.
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe}
some_text t.txt 400
awk 'BEGIN { srand(1); for (i = 0; i < 60000; i++) printf "%c", 1 + int(rand() * 255) }' | LC_ALL=C tr '\001' '\000' >noise.txt
cat t.txt noise.txt >half.txt
{ cat t.txt; printf 'a\001cat\377'; cat t.txt; } >spot.txt
works "$toy" train --data t.txt --out chars --steps 3
if [ -x "$lathe" ]; then
    works "$lathe" tokenize train --kind words --size 20 --out words t.txt
    train="$toy train --set schedule=constant --steps 3 --tokenizer words"
    for order in '' '--order epochs'; do
        # shellcheck disable=SC2086
        refuses 3 'noise.txt: error: is no text: .* bytes are control characters or not UTF-8, the first in line 1' $train $order --data noise.txt --out no
    done
    refuses 3 'half.txt: error: is no text: .*the first in line 401' $train --data half.txt --out no
    works $train --data spot.txt --out spot
    says 'note: spot.txt: 2 of .* bytes are control characters or not UTF-8, the first in line 401; they are trained on as they are' err
    works $train --data t.txt --out clean
    grep -q 'control characters' err && wrong "said of text: $(cat err)" || ok 'nothing said of text'
    works $train --data t.txt --val-data t.txt --out clean
    refuses 3 'noise.txt: error: is no text' $train --data t.txt --val-data noise.txt --out no
fi
# Any byte is a token.
refuses 3 'noise.txt:1: error: byte 0x.* is token' "$toy" train --data noise.txt --tokenizer bytes --out no
says 'note: noise.txt is no text: .* they are trained on as they are' err
refuses 3 'noise.txt:1: error: expected UTF-8' "$toy" train --data noise.txt --out no
finish
