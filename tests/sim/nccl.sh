# nccl.sh: trainers on several GPUs in the simulator, a process each, with an NCCL of its own (fake_nccl.cc): the same training as on one
# with a batch as large as theirs together, the same bits again and resumed, also on another number; the plan's bytes; what is told
# where a rank ends, NCCL is missing or complains; mistakes put into the runtime.  Where NCCL's header is, it agrees with ours.
# LATHE_LONG: more models, fp16.
set -eu
. tests/sim/ranks

# ---- a small one: every optimizer; parts that are uneven: elements are no multiple of 32, nor of 48
table >"$TMP/table.csv"
data="--data $TMP/table.csv"
for rows in 12 6 4; do built mlp$rows models/mlp.lua --set batch=$rows --set hidden=45; done
usual='--set eval_every=4 --set clip=0.5 --set decay=0.1'
number=0
for settings in 'optimizer=adamw' 'optimizer=adam' 'optimizer=lion' 'optimizer=rmsprop --set momentum=0.9 --set clip_weights=0.3' 'optimizer=sgd --set clip_value=0.01' 'optimizer=sgd --set momentum=0.9 --set nesterov=1'; do
    number=$((number + 1))
    # shellcheck disable=SC2086
    run mlp12 one$number $usual --steps 8 --set $settings
    # shellcheck disable=SC2086
    run mlp6 two$number $usual --gpus 2 --steps 8 --set $settings
    same "$TMP/one$number" "$TMP/two$number" 1e-4
done
# shellcheck disable=SC2086
SIM_TAKEN=1 run mlp4 three $usual --gpus 3 --steps 8
grep -q '^3 GPUs, each with this memory and 4 rows per step$' "$TMP/said" || tell "nothing is said of 3 GPUs"
planned=$("$LATHE" plan models/mlp.lua --set batch=4 --set hidden=45 --target cuda --gpus 3 | sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,)
[ "$(grep -c "^sim: $planned bytes are taken" "$TMP/said")" = 3 ] || tell "not the $planned bytes of the plan, three times"
same "$TMP/one1" "$TMP/three" 1e-4
# shellcheck disable=SC2086
{
    run mlp4 again $usual --gpus 3 --steps 8
    alike three again 8
    run mlp4 parts $usual --gpus 3 --steps 4
    cp -r "$TMP/parts" "$TMP/other"
    run mlp4 parts --gpus 3 --steps 8 --resume
    alike three parts 8
    run mlp6 other --gpus 2 --steps 8 --resume          # as many rows in all
    grep -q 'or the number of GPUs' "$TMP/said" || tell "two GPUs go on with what three have begun, without a word"
    same "$TMP/three" "$TMP/other" 1e-4
}

# ---- processes that mpirun has started, perhaps on many machines: the id and all orders go by MPI
. tests/ranks/both
for mpi in openmpi mpich; do
    starter=$(by $mpi 3) || { echo "note: $starter"; continue; }
    # shellcheck disable=SC2086
    {
        must $starter "$TMP/mlp4/trainer" train $data --set log_every=1 --out "$TMP/$mpi" $usual --steps 4 --set schedule_steps=8
        cp -r "$TMP/$mpi" "$TMP/$mpi.forked"
        must $starter "$TMP/mlp4/trainer" train --out "$TMP/$mpi" --steps 8 --resume
        run mlp4 $mpi.forked --gpus 3 --steps 8 --resume
        alike $mpi $mpi.forked 8
    }
done

# ---- … or that a launcher has with torchrun's variables: by TCP; each takes the GPU of its place among those of its machine
ranks=
for rank in 0 1 2; do
    # shellcheck disable=SC2086
    RANK=$rank WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=$((20000 + $$ % 8000)) timeout 300 "$TMP/mlp4/trainer" train $data --set log_every=1 --out "$TMP/tcp" $usual --steps 8 >"$TMP/said.$rank" 2>&1 &
    ranks="$ranks $!"
done
for pid in $ranks; do
    wait "$pid" || { cat "$TMP"/said.?; tell "exit code $? over TCP"; }
done
alike three tcp 8

# ---- parameters of bf16, whose updates draw how they round by the element: the draws of one GPU
for rows in 12 4; do built narrow$rows models/mlp.lua --set batch=$rows --set hidden=45 --precision bf16 --parameters bf16; done
# shellcheck disable=SC2086
{
    run narrow12 narrow.one $usual --steps 8
    SIM_TAKEN=1 run narrow4 narrow.three $usual --gpus 3 --steps 8
    planned=$("$LATHE" plan models/mlp.lua --set batch=4 --set hidden=45 --precision bf16 --parameters bf16 --target cuda --gpus 3 | sed -n '1s/^[^:]*: \([0-9,]*\) bytes.*/\1/p' | tr -d ,)
    [ "$(grep -c "^sim: $planned bytes are taken" "$TMP/said")" = 3 ] || tell "bf16: not the $planned bytes of the plan, three times"
    same "$TMP/narrow.one" "$TMP/narrow.three" 1e-3
    run narrow4 narrow.parts $usual --gpus 3 --steps 4
    cp -r "$TMP/narrow.parts" "$TMP/narrow.other"
    run narrow4 narrow.parts --gpus 3 --steps 8 --resume
    alike narrow.three narrow.parts 8
    run narrow12 narrow.other --steps 8 --resume
    same "$TMP/narrow.three" "$TMP/narrow.other" 1e-3
    size() { wc -c <"$TMP/$1/checkpoints/step-8/model.safetensors"; }
    [ $((10 * $(size narrow.three))) -lt $((7 * $(size three))) ] && [ "$(size narrow.three)" = "$(size narrow.one)" ] || tell "bf16: $(size narrow.three) bytes"
}

# ---- signals: all ranks end after the same step, which is saved
# shellcheck disable=SC2086
begun() {   # OUT OPTIONS…: a run in the background that has taken some steps; its process is $!
    out=$1
    shift
    "$TMP/mlp4/trainer" train $data --gpus 3 --steps 100000 --set log_every=1 --set eval_every=0 --out "$TMP/$out" "$@" >"$TMP/said" 2>&1 &
    for i in $(seq 600); do
        ! grep -q '^step 3/' "$TMP/said" || break
        sleep 0.1
    done
    [ "$i" -lt 600 ] || tell "no steps are taken"
}
ranks_of() { cat "/proc/$1/task/$1/children"; }
lives() { grep -q '^State:[^Z]*$' "/proc/$1/status" 2>"$TMP/none"; }
ended() {   # CODE: of the last one
    found=0
    wait "$!" || found=$?
    [ "$found" = "$1" ] || tell "exit code $found, not $1"
    for pid in $ranks; do
        for i in $(seq 300); do
            lives "$pid" || break
            sleep 0.1
        done
        ! lives "$pid" || tell "process $pid is left"
    done
}
begun stopped
# shellcheck disable=SC2046
ranks=$(ranks_of $!)
[ "$(echo "$ranks" | wc -w)" = 3 ] || tell "not three processes: $ranks"
kill -TERM $!
ended 143
last=$(sed -n 's/.*interrupted after step \([0-9]*\) of.*/\1/p' "$TMP/said")
[ -e "$TMP/stopped/checkpoints/step-$last/optimizer.safetensors" ] || tell "step $last is not saved"
run mlp4 stopped --gpus 3 --steps $((last + 2)) --resume

# ---- a rank that is killed, any of them, or the one that was called: none of the others is left
for victim in 1 3; do
    begun killed$victim --save-every 2
    for i in $(seq 600); do
        [ ! -e "$TMP/killed$victim/checkpoints/latest" ] || break
        sleep 0.1
    done
    ranks=$(ranks_of $!)
    kill -KILL "$(echo "$ranks" | cut -d ' ' -f $victim)"
    ended 1
    [ "$(grep -c "rank $((victim - 1)) of 3 (GPU $((victim - 1))) was killed by signal 9 (Killed), which ended the run; .*train --resume --out .* --gpus 3. continues after step" "$TMP/said")" = 1 ] ||
        tell "nothing is said of rank $((victim - 1))"
done
begun orphans
ranks=$(ranks_of $!)
kill -KILL $!
ended 137

# ---- what is told, once
LATHE_NCCL="$TMP/nothing.so" refused 1 'several GPUs need NCCL, which was not found' mlp6 --gpus 2 --steps 2
LATHE_NCCL=libm.so.6 refused 1 'has no ncclGetVersion, which several GPUs need' mlp6 --gpus 2 --steps 2
FAKE_NCCL_VERSION=21703 refused 1 'is 2.17.3, and several GPUs need 2.18' mlp6 --gpus 2 --steps 2
FAKE_NCCL_STARTS=0 refused 1 'NCCL does not start: unhandled system error: no interface was found' mlp6 --gpus 2 --steps 2
refused 1 '--gpus 4: CUDA shows 3 GPUs here' mlp6 --gpus 4 --steps 2
refused 2 '--dry-run runs on one GPU' mlp6 --gpus 2 --dry-run
refused 2 'expected 1 to 64' mlp6 --gpus 65
FAKE_NCCL_FAILS='1 9' refused 1 'remote process exited or there was a network error: a link is down' mlp6 --gpus 2 --steps 9
times=2 SIM_DEVICE='stuck 3' LATHE_NCCL_TIMEOUT=2 refused 1 'rank [01] has waited for the other GPUs for 2 seconds' mlp6 --gpus 2 --steps 9
cat >"$TMP/meeting.lua" <<'END'
return { config = { features = 4, batch = 4 }, forward = function(c, input)
  local y = nn.linear(input.features, { name = "up", out = 1 })
  return nn.mean(nn.exp(nn.matmul(y, y:transpose(0, 1))))
end, train = { optimizer = optim.sgd { lr = 0.1 }, steps = 2 }, data = data.csv { target = "class" } }
END
built meeting "$TMP/meeting.lua"
refused 2 'meeting.lua:3: .*, and each GPU would see its own rows alone' meeting --gpus 2
run meeting meeting.one --steps 2
data="--data $TMP/no.csv" refused 3 'no.csv: error' mlp6 --gpus 2
must "$LATHE" build models/mlp.lua -o "$TMP/cpu"
refused 2 'this trainer is for the processor' cpu --gpus 2

# ---- loops over layers, whose gradients are reduced one by one behind the backward pass; dropout; micro-batches; carried states
cat compiler/*/*.c | head -c 20000 >"$TMP/text.txt"
data="--data $TMP/text.txt"
small='models/gpt.lua --set layers=3 --set width=16 --set heads=2 --set seq=8 --set dropout=0.1'
usual_text='--steps 6 --set eval_every=3 --set eval_rows=3 --set warmup=2'
# shellcheck disable=SC2086
{
    built gpt4 $small --set batch=4
    built gpt2 $small --set batch=2
    run gpt4 gpt.one $usual_text
    run gpt2 gpt.two --gpus 2 $usual_text
    same "$TMP/gpt.one" "$TMP/gpt.two" 1e-4
    run gpt2 gpt.parts --gpus 2 $usual_text --steps 3 --set schedule_steps=6
    SIM_EARLY=1 run gpt2 gpt.parts --gpus 2 --steps 6 --resume
    alike gpt.two gpt.parts 6
    built gpt2.plain $small --set batch=2 --no-done     # nothing goes on behind its passes
    run gpt2.plain gpt.plain --gpus 2 $usual_text
    alike gpt.two gpt.plain 6

    tiny='models/char_rnn.lua --config tiny --precision fp64 --set vocab=256 --set carry=true'
    built rnn4 $tiny --set batch=4
    built rnn1 $tiny --set batch=1 --set accumulate=2
    run rnn4 rnn.one $usual_text --val-fraction 0       # an evaluation's rows begin where its batch says
    run rnn1 rnn.two --gpus 2 $usual_text --val-fraction 0
    same "$TMP/rnn.one" "$TMP/rnn.two" 1e-10
    run rnn1 rnn.parts --gpus 2 $usual_text --val-fraction 0 --steps 3 --set schedule_steps=6
    SIM_EARLY=1 run rnn1 rnn.parts --gpus 2 --steps 6 --resume
    alike rnn.two rnn.parts 6
    refused 3 'expected shape .*: states belong to a batch.s rows; resume with the batch, accumulation and GPUs' rnn1 "--resume=$TMP/rnn.two" --steps 9
    documents='--order epochs --documents blank --set shuffle_tokens=2000'
    run gpt4 docs.one $usual_text $documents
    run gpt2 docs.two --gpus 2 $usual_text $documents
    same "$TMP/docs.one" "$TMP/docs.two" 1e-4
    run gpt2 docs.parts --gpus 2 $usual_text $documents --steps 3 --set schedule_steps=6
    run gpt4 docs.parts --steps 6 --resume
    same "$TMP/docs.one" "$TMP/docs.parts" 1e-4
    run gpt4 docs.more $usual_text $documents --steps 3 --set schedule_steps=6
    run gpt4 docs.more --steps 6 --gpus 3 --resume
    [ "$(sed -n 's/.*"taken": *\([0-9]*\).*/\1/p' "$TMP/docs.more/checkpoints/step-6/state.json" | head -n 1)" = $((3 * 4 + 3 * 12)) ] || tell "documents are left out where three GPUs go on"
}

# ---- in the long form: fp16, whose first steps overflow on all alike
if [ -n "${LATHE_LONG:-}" ]; then
    sed 's/return loss,/return loss * 64,/' models/gpt.lua >"$TMP/loud.lua"
    built fp16 "$TMP/loud.lua" --set layers=2 --set width=16 --set heads=2 --set seq=8 --set clip=1 --set batch=2 --precision fp16
    run fp16 fp16.two --gpus 2 --steps 8 --set warmup=5 --set eval_every=0
    grep -q 'step 1 | loss scale 65536: .* the step is skipped (1 so far), and the scale is now 32768' "$TMP/said" || tell "fp16: no step is skipped"
    grep -q '^step 8/8 | loss [0-9.]* | norm [0-9]' "$TMP/said" || tell "fp16: all steps are skipped"
    run fp16 fp16.again --gpus 2 --steps 8 --set warmup=5 --set eval_every=0
    alike fp16.two fp16.again 8
fi

# ---- mistakes put into the runtime and into what is emitted, which other losses or a complaint must show
data="--data $TMP/table.csv"
# shellcheck disable=SC2086
set -- mlp6 one1 $usual --steps 8
mistake runtime/cuda/ranks.cu 'return lathe_shard(&ranks.shards, k, ranks.rank)' 'return lathe_shard(&ranks.shards, k, 0)' "$@"
mistake runtime/cuda/ranks.cu 'share_sums(o, stream);' 'if (!stream) share_sums(o, stream);' "$@"
mistake runtime/cuda/ranks.cu 'failed("an event", cudaStreamWaitEvent(stream, ranks.join, 0));' '(void)stream;' "$@"
mistake runtime/cuda/ranks.cu 'share_bucket(k, ranks.params);' 'if (k) share_bucket(k, ranks.params);' "$@"
mistake runtime/cuda/ranks.cu 'share_bucket(k, (char *)params);' 'if (k) share_bucket(k, (char *)params);' "$@"
mistake runtime/cuda/optim.cu 'part.moments - part.first' '-part.first' "$@"
data="--data $TMP/text.txt"
# shellcheck disable=SC2086
set -- gpt2 gpt.one $usual_text
mistake runtime/cuda/ranks.cu 'if (ranks.left[k] == 0) reduce_bucket(k, stream);' 'if (ranks.left[k] == 0) ranks.left[k] = stream ? REDUCED : 0;' "$@"
swapped() { # WORD OF: what is said of ln_f and of wte, which gpt2 says of each
    early="$1(\&$2->ln_f_weight, sizeof $2->ln_f_weight, stream);" late="$1(\&$2->wte_weight, sizeof $2->wte_weight, stream);"
    grep -q "$(echo "$late" | tr -d '\\')" "$TMP/gpt2/model.cu" || { echo "failed: no word of wte"; failed=1; }
    sed -i "s/$early/LATE/; s/$late/$early/; s/LATE/$late/" "$TMP/gpt2/model.cu"
}
# shellcheck disable=SC2086
{
    SIM_EARLY=1 mistake runtime/cuda/ranks.cu 'if (ranks.returning[k]) failed' 'if (!stream) failed' "$@"
    swapped parameters_needed p
    SIM_EARLY=1 LATHE_NCCL_BUCKET=64 notice gpt2 gpt.one "parameters that are awaited too late" $usual_text
    swapped parameters_needed p
    swapped gradients_done d
    LATHE_NCCL_BUCKET=64 notice gpt2 gpt.one "gradients that are reduced too early" $usual_text
}
[ "$failed" = 0 ] || exit 1

# ---- the real one's header
nvcc=$(command -v nvcc) || nvcc=/usr/local/cuda/bin/nvcc
header=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include/nccl.h
[ -e "$header" ] || header=/usr/include/nccl.h
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
if [ -e "$header" ] && [ -e "$cuda/cuda_runtime.h" ]; then
    {
        echo '#ifdef OURS'; echo '#include "cuda/nccl_api.h"'; echo '#else'; echo '#include <nccl.h>'; echo '#endif'
        cat <<'HEAD'
#include <cxxabi.h>
#include <stdio.h>
#include <typeinfo>
template <class T> struct Type {};
#define VALUE(x) printf("%s = %d\n", #x, (int)x);
#define TYPE(x)  printf("%s: %s\n", #x, abi::__cxa_demangle(typeid(Type<decltype(&x)>).name(), NULL, NULL, NULL));
int main()
{
    printf("an id: %zu bytes\n", sizeof(ncclUniqueId));
HEAD
        grep -oE '\b(nccl|NCCL)[A-Za-z0-9_]+ = ' runtime/cuda/nccl_api.h | sed 's/\(.*\) = /VALUE(\1)/'
        grep -oE '\bX\(nccl[A-Za-z]+\)' runtime/cuda/nccl_api.h | sed 's/^X/TYPE/'
        echo '}'
    } >"$TMP/words.cc"
    $CXX -std=gnu++17 -w -DOURS -Iruntime -I"$cuda" "$TMP/words.cc" -o "$TMP/ours"
    $CXX -std=gnu++17 -w -I"$(dirname "$header")" -I"$cuda" "$TMP/words.cc" -o "$TMP/theirs"
    "$TMP/ours" >"$TMP/ours.txt"
    "$TMP/theirs" >"$TMP/theirs.txt"
    diff "$TMP/ours.txt" "$TMP/theirs.txt" || { echo "failed: < ours, > NCCL's"; exit 1; }
    echo "note: $(wc -l <"$TMP/ours.txt") values and types are those of NCCL's header"
else
    echo "note: NCCL's header, or CUDA's, is not here: its values were not compared"
fi
if [ -x "$nvcc" ]; then
    "$nvcc" -std=c++20 -O3 -fmad=false -Werror all-warnings -Iruntime -arch=sm_90 -c runtime/cuda/ranks.cu -o "$TMP/nvcc.o"
    echo "note: nvcc compiles them"
fi
