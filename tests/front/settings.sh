# settings.sh: the table of settings in models/README.md is the one that `lathe settings` prints; each setting that a trainer
# takes is in its help, in the checkpoint's recipe and in the table, under one name.  `bless -k settings` takes it anew.
set -eu
page=models/README.md
"$LATHE" settings >"$TMP/table"
awk -v TABLE="$TMP/table" '
    /^<!-- settings -->/ { print; while ((getline line <TABLE) > 0) print line; inside = 1; next }
    /^<!-- end of settings -->/ { inside = 0 }
    !inside { print }' "$page" >"$TMP/page"
if [ -n "${BLESS:-}" ]; then
    cmp -s "$TMP/page" "$page" || { cat "$TMP/page" >"$page"; echo "rewrote $page"; }
    exit 0
fi
diff -u "$page" "$TMP/page" || { echo "failed: $page has another table (tests/run.sh bless -k settings)"; exit 1; }

trainer=$BUILD/toy_model
"$trainer" train --help | sed -n '/^Settings for --set/,$p' | sed -n 's/^  \([a-z0-9_]*\) .*/\1/p' | sort >"$TMP/helped"
"$trainer" info --json | tr -d ' \n' | sed 's/.*"recipe":{\([^{}]*\)}.*/\1/; s/,"/\n"/g' | sed 's/^"\([a-z0-9_]*\)":.*/\1/' | sort >"$TMP/remembered"
grep -v 'fixed when built' "$TMP/table" | sed -n 's/^| `\([a-z0-9_]*\)` .*/\1/p' | sort >"$TMP/listed"
[ "$(wc -l <"$TMP/listed")" -gt 60 ] || { echo "failed: the table lists few settings"; exit 1; }
diff "$TMP/listed" "$TMP/helped" || { echo "failed: table and help differ"; exit 1; }
[ "$(comm -13 "$TMP/listed" "$TMP/remembered" | tr '\n' ' ')" = 'accumulate accumulate_at ' ] && [ -z "$(comm -23 "$TMP/listed" "$TMP/remembered")" ] || {
    echo "failed: checkpoints remember others than help lists, and accumulate, accumulate_at: $(comm -3 "$TMP/listed" "$TMP/remembered")"; exit 1; }
