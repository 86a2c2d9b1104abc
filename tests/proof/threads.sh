# threads.sh: 1, 2, 3 and 8 threads give byte-identical parameters after 50 steps with dropout 0.1.
set -eu
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%s", substr("etaoin shrdlu", x % 13 + 1, 1) } }' >"$TMP/text"
"$LATHE" build models/gpt.lua --config char --set layers=2 --set width=48 --set heads=3 --set seq=40 --set batch=5 \
    --set dropout=0.1 -o "$TMP/model" >"$TMP/build.log" 2>&1 || { cat "$TMP/build.log"; exit 1; }
for n in 1 2 3 8; do
    "$TMP/model/trainer" train --data "$TMP/text" --tokenizer chars --steps 50 --seed 7 --threads $n --out "$TMP/run-$n" \
        >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
done
same=0
for n in 2 3 8; do
    cmp "$TMP/run-1/model.safetensors" "$TMP/run-$n/model.safetensors" && same=$((same + 1))
done
echo "$same of 3 equal to one thread"
[ $same = 3 ]
