# threads.sh: 1, 2, 3 and 8 threads give byte-identical parameters after 50 steps, gpt with dropout 0.1.
# compiled: as for users
set -eu
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
same=0

compare() {     # MODEL CONFIG ARGUMENTS…
    model=$1 config=$2
    shift 2
    "$LATHE" build "models/$model.lua" --config "$config" "$@" -o "$TMP/$model" >"$TMP/build.log" 2>&1 || { cat "$TMP/build.log"; exit 1; }
    for n in 1 2 3 8; do
        "$TMP/$model/trainer" train --data "$TMP/text" --tokenizer chars --steps 50 --seed 7 --threads $n --out "$TMP/$model-$n" \
            >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
    done
    for n in 2 3 8; do
        cmp "$TMP/$model-1/model.safetensors" "$TMP/$model-$n/model.safetensors" && same=$((same + 1))
    done
}

compare gpt char --set layers=2 --set width=48 --set heads=3 --set seq=40 --set batch=5 --set dropout=0.1
compare llama char --set layers=2 --set width=48 --set heads=6 --set hidden=88 --set seq=40 --set batch=5
compare char_rnn tiny --set vocab=13 --set tokenizer=chars --set hidden=40 --set batch=20 --set seq=24
echo "$same of 9 equal to one thread"
[ $same = 9 ]
