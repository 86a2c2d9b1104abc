# refused.sh: what `lathe sweep` does not take: each line of refused.txt is the end of a command, and what it says (BLESS=1 writes them anew).
top=$PWD
cd "$top/tests/sweep" || exit 1
if "$LATHE" sweep tiny.lua --over lr=0..1 --out "$TMP/a/b" --data nowhere >"$TMP/out" 2>&1; then echo 'FAILED: data that is not there'; exit 1; fi
grep '^\$' refused.txt | sed 's/^\$ //' | while read -r words; do
    echo "\$ $words"
    eval "timeout 60 \"\$LATHE\" sweep $words" 2>&1 >/dev/null </dev/null
    code=$?
    [ "$code" = 2 ] || echo "exit code $code"
done >"$TMP/now"
[ -z "${BLESS:-}" ] || cp "$TMP/now" refused.txt
diff -u refused.txt "$TMP/now"
