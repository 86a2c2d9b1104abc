# plan_cuda.sh: the plan of GPT-2 with 64 sequences on a GPU, by its shapes: 4 bytes a parameter (2 under --parameters bf16), 4 a gradient,
# 8 of moments; inputs are ids, of a step and of the next one; work is no less than what backward needs of each layer in 16 bits; the parts are the whole.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
B=64 T=1024 C=768 L=12 V=50257 tensors=$((12 * 12 + 4))
P=$((V * C + T * C + L * (C * 3 * C + 3 * C + C * C + C + 2 * (4 * C * C) + 4 * C + C + 4 * C) + 2 * C))
[ "$P" = 124439808 ] || complain "GPT-2 has 124,439,808 parameters, and the formula $P"
for w in fp32 bf16; do
    "$LATHE" plan models/gpt.lua --config gpt2 --set batch=$B --set accumulate=1 --target cuda --precision bf16 --parameters $w --json >"$TMP/$w"
    tr -d '\n' <"$TMP/$w" >"$TMP/$w.line"
done
of() { grep -o "\"$2\": [0-9]*" "$TMP/$1.line" | sed -n "${3:-1}s/.*: //p"; }      # the second "parameters" is of bytes
between() { [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || complain "$1: $2, not $3 to $4"; }
for w in fp32 bf16; do
    size=4
    [ $w = fp32 ] || size=2
    flat=$(($(of $w gradients) / 4))
    between "$w: parameters" "$(of $w parameters)" $P $P
    between "$w: elements with padding" $flat $P $((P + 16 * tensors))
    between "$w: bytes of parameters" "$(of $w parameters 2)" $((size * flat)) $((size * flat + 63))
    between "$w: optimizer" "$(of $w optimizer)" $((8 * flat)) $((8 * flat))
    between "$w: inputs" "$(of $w inputs)" $((2 * 2 * 4 * B * T)) $((2 * 2 * 4 * B * T + 2048))
    # of each layer: queries, keys and values (3 C), what attention makes (C), what goes into the gelu (4 C); at the top the logits of a chunk
    between "$w: work" "$(of $w work)" $((2 * 8 * C * B * T * L)) $((2 * 8 * C * B * T * L * 2))
    sum=0
    for part in "parameters 2" gradients optimizer states inputs outputs work generation step workspace; do
        # shellcheck disable=SC2086  # two words
        sum=$((sum + $(of $w $part)))
    done
    between "$w: the sum of its parts" "$(of $w planned_bytes)" $sum $sum
    between "$w: the bound" "$(of $w lower_bound_bytes)" $((14 * P)) "$(of $w planned_bytes)"
    image=$((($(of $w inputs) - 256) / 2)) # the next ones lie behind a head, and on the GPU alone
    for part in "parameters 2" optimizer states generation step outputs; do
        # shellcheck disable=SC2086
        image=$((image + $(of $w $part)))
    done
    between "$w: on the host" "$(of $w image)" $image $image
    between "$w: pinned" "$(of $w pinned)" $((2 << 20)) $(((2 << 20) + 65536)) # two pieces of a megabyte: the inputs are smaller
done
# Without the copies of 16 bits that products read: of all weights of layers.
saved=$(($(of fp32 work) - $(of bf16 work)))
between 'what parameters of 16 bits save in work' $saved $((2 * 12 * C * C * L / 2)) $((2 * (P + V * C)))
exit $failed
