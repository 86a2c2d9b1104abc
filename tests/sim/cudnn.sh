# cudnn.sh: attention by cuDNN in the simulator, with a cuDNN of its own: test cases of cudnn.cu; mistakes put into the graphs, each
# of which must be noticed; a trainer; messages.  Where cuDNN itself is installed (or $LATHE_CUDNN names it), its headers agree with ours, and it
# compiles our graphs for an H200 without one being here (the driver is the toolkit's stub).
set -eu
sh tests/sim/compile simulator "$TMP" || exit
CXX=${CXX:-g++}
real=${LATHE_CUDNN:-}
$CXX -std=gnu++17 -Wall -Wextra -Werror -O2 -fPIC -shared -Itests/sim/include -Itests/sim -Iruntime tests/sim/fake_cudnn.cc -o "$TMP/libfake.so"
sh tests/sim/compile program "$TMP" tests/sim/cudnn.cu runtime/cuda/cudnn.cu runtime/cuda/cudnn_graph.cu
export LATHE_CUDNN="$TMP/libfake.so" FAKE_CUDNN_NOTES=1
"$TMP/program"
FAKE_CUDNN_VERSION=91400 "$TMP/program"     # takes keys in 128s alone

failed=0
says() {    # CODE WORDS VARIABLE=VALUE…: what the program says of a cuDNN like that; 77: there is none to be tested
    code=$1 words=$2
    shift 2
    said=$(env "$@" "$TMP/program" ask) && said="0: $said" || said="$?: $said"
    case $said in "$code: "*"$words"*"attention runs in kernels of Lathe"*) ;; *) echo "failed: $*: $said"; failed=1 ;; esac
}
says 77 'cuDNN was not found' LATHE_CUDNN="$TMP/nothing.so"
[ "$(LATHE_CUDNN=none "$TMP/program" ask || echo $?)" = "cuDNN is not there
77" ] || { echo 'failed: LATHE_CUDNN=none'; failed=1; }
says 77 'is 9.5.1, and 9.6 or a later 9 is needed' FAKE_CUDNN_VERSION=90501
says 77 'is 10.0.0' FAKE_CUDNN_VERSION=100000
says 77 'known to be wrong' FAKE_CUDNN_VERSION=91001
says 1 'does not start' FAKE_CUDNN_STARTS=0
says 1 'has no cudnnGetVersion' LATHE_CUDNN=libm.so.6

mutants=0
mutant() {  # FILE FROM TO: the first line with FROM
    mutants=$((mutants + 1))
    awk -v from="$2" -v to="$3" '!done && (at = index($0, from)) {
        $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); done = 1 } { print }
        END { exit !done }' "runtime/cuda/${1#cuda_}.cu" >"$TMP/$1.cu" || { echo "failed: no \"$2\" in $1.cu"; failed=1; }
    cp "$TMP/program_$1.o" "$TMP/whole.o"
    sh tests/sim/compile program "$TMP" "$TMP/$1.cu"
    ! timeout 60 "$TMP/program" >"$TMP/said" 2>&1 || { echo "failed: nobody notices \"$3\" for \"$2\""; failed=1; }
    cp "$TMP/whole.o" "$TMP/program_$1.o"
}
mutant cuda_cudnn_graph 'CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, query, &key' 'CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, key, &query'
mutant cuda_cudnn_graph '{samples, heads, width, time}, {cudnn_between_samples(g, &x), x.head, 1, x.time}' \
    '{samples, heads, width, time}, {cudnn_between_samples(g, &x), x.head, x.time, 1}'
mutant cuda_cudnn_graph 'ds = map2(&m, CUDNN_POINTWISE_MUL, ds, scale);' ''
mutant cuda_cudnn_graph 'CUDNN_POINTWISE_SUB, dp, delta' 'CUDNN_POINTWISE_ADD, dp, delta'
mutant cuda_cudnn 'first * cudnn_between_samples' 'first / 2 * cudnn_between_samples'
mutant cuda_cudnn 'ID_LSE ? 4 : 2' 'ID_LSE ? 2 : 2'
mutant cuda_cudnn '&& x->time % 8 == 0' ''
mutant cuda_cudnn 'else if (x->batch[i] != n * apart) return -1;' ''
mutant cuda_cudnn '<= (int64_t)LIBRARY.workspace_bytes &&' '<= INT64_MAX &&'
mutant cuda_cudnn 'cudnn_forget_graph(&p->graph);' ''
mutant cuda_cudnn 'told = notes[i] !=' 'told = true || notes[i] !='
echo "note: $mutants mistakes put into the graphs and their calls"

# A trainer of a gpt in 16 bits, with it and without it: other bytes, the same losses; a line where it is missing.
. tests/sim/libraries
export LATHE_CACHE=off LATHE_CUDA_TUNE=off
"$LATHE" build models/gpt.lua --set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=4 --precision bf16 --target cuda \
    --source -o "$TMP/half" >"$TMP/said"
sh tests/sim/compile trainer "$TMP" "$TMP/half"
cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"
trained() { # NAME LIBRARY
    LATHE_CUDNN=$2 timeout 200 "$TMP/half/trainer" train --data "$TMP/text.txt" --steps 6 --set log_every=1 --out "$TMP/$1" >"$TMP/$1.said" 2>&1 ||
        { cat "$TMP/$1.said"; echo "failed: a trainer with cuDNN $1"; failed=1; }
    sed 's/.*"loss":\([0-9.]*\).*/\1/' "$TMP/$1/metrics.jsonl" >"$TMP/$1.losses"
}
trained fake "$TMP/libfake.so"
trained without none
trained missing "$TMP/nothing.so"
SIM_REFUSES=execute:9 trained failing "$TMP/libfake.so"
paste "$TMP/fake.losses" "$TMP/without.losses" | awk '{ off = $1 / $2 - 1; if (off > 1e-3 || off < -1e-3) bad = 1 } END { exit bad || NR < 7 }' ||
    { echo 'failed: other losses with cuDNN'; failed=1; }
paste "$TMP/failing.losses" "$TMP/without.losses" | awk '{ off = $1 / $2 - 1; if (off > 1e-3 || off < -1e-3) bad = 1 } END { exit bad || NR < 7 }' ||
    { echo 'failed: other losses where calls of cuDNN fail'; failed=1; }
grep -q '^note: attention by cuDNN, .*: a call fails' "$TMP/failing.said" || { echo 'failed: no word of calls that fail'; failed=1; }
! cmp -s "$TMP/fake/model.safetensors" "$TMP/without/model.safetensors" || { echo 'failed: a trainer does not use cuDNN'; failed=1; }
cmp "$TMP/missing/model.safetensors" "$TMP/without/model.safetensors" || failed=1
grep -q 'cuDNN was not found' "$TMP/missing.said" || { echo 'failed: no word of a cuDNN that is missing'; failed=1; }
! grep -q cuDNN "$TMP/without.said" || { echo 'failed: a word of a cuDNN that was not wanted'; failed=1; }
[ "$failed" = 0 ] || exit 1

# ---- the real one
export LATHE_CUDNN="$real"
nvcc=$(command -v nvcc) && toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")") || toolkit=
header=$(ls "$toolkit/include/cudnn_graph.h" "$(dirname "${real:-/}")/../include/cudnn_graph.h" 2>/dev/null | head -n 1)
if [ -n "$toolkit" ] && [ -n "$header" ]; then
    {
        echo '#ifdef OURS'; echo '#include "cuda/cudnn_api.h"'; echo '#else'; echo '#include <cudnn_graph.h>'; echo '#endif'
        cat <<'HEAD'
#include <cxxabi.h>
#include <stdio.h>
#include <typeinfo>
template <class T> struct Type {};
#define VALUE(x) printf("%s = %d\n", #x, (int)x);
#define TYPE(x)  printf("%s: %s\n", #x, abi::__cxa_demangle(typeid(Type<decltype(&x)>).name(), NULL, NULL, NULL));
int main()
{
HEAD
        grep -oE '\bCUDNN_[A-Za-z0-9_]+ = ' runtime/cuda/cudnn_api.h | sed 's/\(.*\) = /VALUE(\1)/'
        grep -oE '\bX\(cudnn[A-Za-z]+\)' runtime/cuda/cudnn_api.h | sed 's/^X/TYPE/'
        echo '}'
    } >"$TMP/words.cc"
    $CXX -std=gnu++17 -w -DOURS -Iruntime -I"$toolkit/include" "$TMP/words.cc" -o "$TMP/ours"
    $CXX -std=gnu++17 -w -I"$(dirname "$header")" -I"$toolkit/include" "$TMP/words.cc" -o "$TMP/theirs"
    "$TMP/ours" >"$TMP/ours.txt"
    "$TMP/theirs" >"$TMP/theirs.txt"
    diff "$TMP/ours.txt" "$TMP/theirs.txt" || { echo "failed: < ours, > cuDNN's"; exit 1; }
    echo "note: $(wc -l <"$TMP/ours.txt") values and types are those of cuDNN's header"
else
    echo "note: cuDNN's header, or CUDA's, is not here: its values were not compared"
fi
if [ -n "$toolkit" ]; then
    for file in cudnn cudnn_graph; do
        nvcc -Werror all-warnings -Iruntime -arch=sm_90 -c "runtime/cuda/$file.cu" -o "$TMP/nvcc.o"
    done
    echo "note: nvcc compiles them"
fi
stub=$toolkit/lib64/stubs/libcuda.so
[ -n "$toolkit" ] && [ -e "$stub" ] || { echo "note: no stub of the driver is here: cuDNN was not asked to compile anything"; exit 0; }
mkdir -p "$TMP/stub"
cp "$stub" "$TMP/stub/libcuda.so.1"
$CXX -std=gnu++17 -Wall -Wextra -Werror -isystem "$toolkit/include" -Iruntime -x c++ tests/sim/cudnn_plans.cc runtime/cuda/cudnn.cu \
    runtime/cuda/cudnn_graph.cu -x none -o "$TMP/plans" -ldl
code=0
LD_LIBRARY_PATH=$TMP/stub${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 300 "$TMP/plans" >"$TMP/said" || code=$?
[ "$code" != 77 ] || { echo "note: $(tail -n 1 "$TMP/said"): the real one compiled nothing"; exit 0; }
cat "$TMP/said"
exit "$code"
