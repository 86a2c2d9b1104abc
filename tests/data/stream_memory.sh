# stream_memory.sh: a corpus much larger than the memory that it streams through: 200 MB of text and of ids (5 GB with
# LATHE_LONG=1), sparse files, through blocks of a million ids: less than 64 MB resident.
set -eu
mb=200
[ -z "${LATHE_LONG:-}" ] || mb=5000
drive=${BUILD:-build}/stream_drive
limit=65536     # KB
mkdir "$TMP/corpus"
for k in 1 2 3 4; do
    printf 'a document that begins with words\n' >"$TMP/corpus/$k.txt"
    truncate -s $((mb / 4))M "$TMP/corpus/$k.txt"
done
truncate -s ${mb}M "$TMP/ids.bin"
for data in 'corpus/*.txt' ids.bin; do
    # shellcheck disable=SC2086
    "$drive" 1 1000000 0 0 $TMP/$data >"$TMP/said"
    echo "note: $mb MB, $data: $(cat "$TMP/said")"
    peak=$(sed -n 's/.*peak \([0-9]*\) KB/\1/p' "$TMP/said")
    rows=$(sed -n 's/^rows \([0-9]*\),.*/\1/p' "$TMP/said")
    [ "$rows" -gt $((mb * 3900)) ] || [ "$data" = ids.bin ] || { echo "only $rows rows"; exit 1; }
    [ "$peak" -lt $limit ] || { echo "peak of $peak KB, more than $limit"; exit 1; }
done
