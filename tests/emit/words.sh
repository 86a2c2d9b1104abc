# words.sh: what locals of kernels are called: by how they are made, where the description gives them no name, and nothing is a
# plain value in the backward pass of the norms; formulas say what sums run over.
set -eu
failed=0
tell() { echo "failed: $*"; failed=1; }

source_of() {  # NAME MODEL OPTION...
    name=$1 model=$2
    shift 2
    "$LATHE" build "models/$model.lua" "$@" --source -o "$TMP/$name" >"$TMP/log" 2>&1 || { cat "$TMP/log"; tell "$name"; exit 1; }
}

nameless() { grep -nE 'const (float|int) (value|gradient)(_[a-z])? =' "$@"; }

source_of gpt gpt
source_of llama llama
source_of gpu gpt --target cuda
nameless "$TMP/gpt/model.c" "$TMP/llama/model.c" "$TMP/gpu/model.cu" && tell "there are locals of which the name says nothing"

has() {  # FILE TEXT
    grep -qF "$2" "$TMP/$1" || tell "$1 has no $2"
}
has gpt/model.c 'float sums_of_squares[LANES]'
has gpt/model.c 'const float share_of_d_variance = d_variance / WIDTH;'
has gpt/model.c 'const float centred_times_rstd = centred * rstd;'
has gpt/model.c 'd_mean = sum_WIDTH(-d_centred);'
has gpt/model.c 'loss = mean_{BATCH * SEQ}(losses)'
has gpt/model.c ': VOCAB - 1);'
has gpt/model.c 'predicted = argmax_VOCAB(head_logits);'
has llama/model.c 'd_mean_square'
has gpu/model.cu 'share_of_d_variance'
exit $failed
