# selftest.sh: `trainer selftest`, and the test at the first start, of trainers in the simulator: nothing is wrong with those as they
# are; mistakes put into algorithms and epilogues of cuBLASLt, into cuDNN's attention, into kernels that address by ids and into a loop
# in one launch are named with their lines, their second way is taken, and the next start knows.  On this processor: threads, gradients against losses,
# products against plain loops, with a mistake put into their engine.
# compiled: as for users
set -eu
. tests/sim/libraries
export LATHE_CACHE="$TMP/cache"
sh tests/sim/compile simulator "$TMP" || exit
failed=0
tell() { echo "failed: $*"; cat "$TMP/said"; failed=1; }
${CXX:-g++} -std=gnu++17 -O2 -fPIC -shared -Itests/sim/include -Itests/sim -Iruntime tests/sim/fake_cudnn.cc -o "$TMP/libfake.so"
export LATHE_CUDNN="$TMP/libfake.so"

built() { # NAME MODEL OPTIONS…
    name=$1
    shift
    "$LATHE" build "$@" --target cuda --source -o "$TMP/$name" >"$TMP/said" 2>&1 || tell "$name is not built"
    [ -z "${change:-}" ] || sed -i "$change" "$TMP/$name/model.cu"
    sh tests/sim/compile trainer "$TMP" "$TMP/$name"
    trainer=$TMP/$name/trainer
}

# tested CODE REFUSES WORDS…: what `selftest` says of a machine with that mistake
tested() {
    code=0 wanted=$1 refuses=$2
    shift 2
    rm -rf "$LATHE_CACHE"
    SIM_REFUSES=$refuses timeout 300 "$trainer" selftest --threads 1 >"$TMP/said" 2>&1 || code=$?
    [ "$code" = "$wanted" ] || tell "$name, $refuses: exit code $code, not $wanted"
    for words in "$@"; do grep -q -- "$words" "$TMP/said" || tell "$name, $refuses: not \"$words\""; done
}

trained() { # REFUSES RUN: 4 steps; what they say is in $TMP/said
    SIM_REFUSES=$1 timeout 300 "$trainer" train --data "$TMP/text.txt" --steps 4 --set log_every=1 --set eval_every=0 --out "$TMP/$2" >"$TMP/said" 2>&1 ||
        tell "$name, $1: exit code $?"
    sed -n 's/.*"loss":\([0-9.]*\).*/\1/p' "$TMP/$2/metrics.jsonl" >"$TMP/$2.losses"
}
near() { # A B: losses
    paste "$TMP/$1.losses" "$TMP/$2.losses" | awk '{ off = $1 / $2 - 1; if (off > 2e-3 || off < -2e-3) bad = 1 } END { exit bad || NR < 4 }' ||
        tell "$name: losses of $1 and $2"
}
cat compiler/*/*.c | head -c 9000 >"$TMP/text.txt"

built gpt models/gpt.lua --set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=4 --set gelu=tanh --precision bf16
tested 0 '' '^ok  *[1-9][0-9]* products' '^ok .*the same bits again' '^ok .*attention by cuDNN, backward' '^ok .*the gradient agrees' ' 0 wrong'
ls "$LATHE_CACHE" | grep -q '^selftest-' || tell 'what was found is not kept'
tested 1 wrong_all '^WRONG *[1-9][0-9]* products' 'note: .*gpt.lua:[0-9]*.*an algorithm of cuBLASLt gives other numbers'
tested 1 wrong_end '^WRONG *[1-9][0-9]* products' 'note: .*gpt.lua:[0-9]*.*an algorithm of cuBLASLt with its end gives other numbers'
tested 1 wrong_attention '^WRONG attention by cuDNN, forward: gpt.lua:[0-9]' '^WRONG attention by cuDNN, backward: gpt.lua:[0-9]'

# The first start finds the same, and trains by the second ways; the next one knows.
rm -rf "$LATHE_CACHE"
trained '' right
! grep -q 'second way\|other numbers' "$TMP/said" || tell 'a second way is taken though nothing is wrong'
rm -rf "$LATHE_CACHE"
trained 'wrong_attention wrong_wide' wrong
grep -q 'attention by cuDNN, forward.*it differs from its second way by .*, so the second way is used' "$TMP/said" || tell 'no word of wrong attention'
grep -q 'an algorithm of cuBLASLt gives other numbers' "$TMP/said" || tell 'no word of a wrong algorithm'
near right wrong
trained 'wrong_attention wrong_wide' again
grep -q 'attention by cuDNN, forward.*because it failed a test on this machine' "$TMP/said" || tell 'the second start does not know'
! grep -q 'it differs from' "$TMP/said" || tell 'the second start tests again'
near wrong again

# A gather that is wrong in one row, and a scatter that leaves out the last of equal ids: their plain loops are taken.
gather='0,/wte_weight\[id\]\[c\]/s//wte_weight[id - (r == 5 \&\& id > 0)][c]/' scatter='0,/k < many;/s//k < many - (many > 1);/'
change="$gather;$scatter" built ids models/gpt.lua --set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=4 --set gelu=tanh --precision bf16
tested 1 '' '^WRONG [a-z_]*wte[a-z_]*: gpt.lua:[0-9]* wte: it differs from its second way by .*, where bits are to be equal, so the second way is used' \
    '^WRONG wte_back: gpt.lua:[0-9]* wte: it differs' ' 2 wrong'
rm -rf "$LATHE_CACHE"
trained '' ids
[ "$(grep -c 'wte[a-z_]*: gpt.lua.*it differs from its second way' "$TMP/said")" = 2 ] || tell 'no word of wrong ids'
near right ids
trained '' ids_again
[ "$(grep -c 'wte[a-z_]*: gpt.lua.*because it failed a test on this machine' "$TMP/said")" = 2 ] || tell 'the second start does not know of ids'
near right ids_again

# A loop in one launch leaves out its last iteration; launched stretch by stretch it does not.
built rnn models/char_rnn.lua --config tiny --set hidden=24 --set batch=5
tested 0 '' '^ok .*_time: char_rnn.lua:[0-9]*' ' 0 wrong'
change='s/for (int t = grid.from; t < grid.to; t++) {/for (int t = grid.from; t < grid.to - (grid.only == WHOLE_LOOP); t++) {/' built bad models/char_rnn.lua --config tiny --set hidden=24 --set batch=5
tested 1 '' '^WRONG .*_time.*: char_rnn.lua:[0-9]*.*where bits are to be equal'

# This processor's: as it is, and with columns that are swapped where a tile is not whole.
"$LATHE" build models/gpt.lua --set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=4 -o "$TMP/cpu" >"$TMP/said" 2>&1
trainer=$TMP/cpu/trainer name=cpu
tested 0 '' '^ok .*the same bits again' '^ok  *[1-9][0-9]* products against plain loops' '^ok .*the gradient agrees' ' 0 wrong'
mkdir -p "$TMP/own/math"
cp runtime/math/gemm_own.c "$TMP/own"
sed 's/NAME(Vector) x = a\[r\] -/NAME(Vector) x = a[(r + 1) % R] -/' runtime/math/gemm_tile.h >"$TMP/own/math/gemm_tile.h"
! cmp -s runtime/math/gemm_tile.h "$TMP/own/math/gemm_tile.h" || tell 'no mistake is put into products'
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -O2 -march=native -fopenmp -fno-strict-aliasing "-I$TMP/own" -Iruntime -I"$TMP/cpu" "$TMP/cpu/model.c" "$TMP/own/gemm_own.c" $SIM_LIBRARIES -ldl -lpthread -o "$TMP/own/trainer"
trainer=$TMP/own/trainer name=own
tested 1 '' '^WRONG [a-z_0-9]*c_attn_y: gpt.lua:[0-9]* .*: an element of a product is .*, and .* by a plain loop' 'do not train here'
exit $failed
