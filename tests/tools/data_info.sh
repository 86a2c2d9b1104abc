# data_info.sh: `lathe data info` on files whose figures were worked out by hand.
set -u
failed=0
cd "$TMP" || exit 1

wrong() { echo "FAILED: $*"; failed=1; }
has() { grep -qF -- "$1" out || { wrong "no $1 in:"; cat out; }; }
info() { "$LATHE" data info "$@" >out 2>err || { wrong "data info $*"; cat err; }; }

# Documents of 10, 128, 129 and 659 bytes at 128, the next byte the target: windows of 9; 127; 128; 5 of 128 and one of 18.
letters() { head -c "$1" /dev/zero | tr '\0' a; }
for n in 10 128 129 659; do printf '{"id": %d, "text": "%s"}\n' "$n" "$(letters $n)"; done >four.jsonl
info four.jsonl --seq 128 --json
has '"documents":4,"unit":"bytes","text":{"sum":926,"min":10,"mean":231.5,"median":128,"p95":659,"max":659,'
has '"histogram":[{"from":8,"below":16,"documents":1},{"from":128,"below":256,"documents":2},{"from":512,"below":1024,"documents":1}]'
has '"forecast":{"seq":128,"stride":128,"sequences":9,"full":6,"cut":1,"dropped":0,"places":922,"rows":{"rows":9,"padding":0.1996'
has '"packed_in_order":{"rows":9,"padding":0.1996'
has '"packed":{"rows":8,"padding":0.0996'
info four.jsonl --seq 128 --drop-short --json
has '"sequences":6,"full":6,"cut":1,"dropped":154,"places":768,"rows":{"rows":6,"padding":0'
info four.jsonl --seq 128 --stride 64 --json
has '"sequences":13,"full":10,"cut":1,'
info four.jsonl --seq 128 --stride 1 --json
has '"sequences":534,"full":532,"cut":1,'

# The same by other ways in; words; a folder.
gzip -k four.jsonl
mkdir folder
cp four.jsonl.gz folder/
printf 'two words\n\n\nthree more words\n' >folder/plain.txt
info folder --tokenizer words --split blank --json
has '"files":2,'
has '"documents":6,"unit":"words","text":{"sum":9,"min":1,"mean":1.5,"median":1,"p95":3,"max":3,'
"$LATHE" data info - <four.jsonl >out 2>err || wrong 'standard input'
has 'documents   4'

# Pairs; what is malformed is counted, and told.
printf 'mr,ref\na b,"c ""d"" e"\nx\nf,g\n' >pairs.csv
info pairs.csv --text mr --target ref --tokenizer words
has 'documents   2 pairs'
has 'source      3 words; min 1, mean 1.5, median 1, 95 % within 2, max 2'
has 'target      4 words; min 1, mean 2.0, median 1, 95 % within 3, max 3'
info pairs.csv --text mr --target ref --tokenizer words --seq 2
has 'above 2   sources: 0 (0.00 %), targets: 1 (50.00 %)'
has 'malformed   1 records skipped; the first: pairs.csv:3: expected 2 fields, as the first line has, found 1'

# What training makes of pairs: sources of 6, targets of 5 with the end, batches of 2; sources of 2 6 2 8 bytes and targets of
# 1 4 2 7: places 2+2 6+5 2+3 6+5 = 31 of 44; alike ones together 2 (2+3) + 2 (6+5) = 32; else 44, or the same by chance.
printf 'source\ttarget\nab\tx\nabcdef\twxyz\ncd\txy\nabcdefgh\tabcdefg\n' >four.tsv
info four.tsv --source-seq 6 --seq 5 --batch 2
has 'training    4 pairs, sources of 18 tokens (2 to 8, mean 4.5), targets of 14 tokens (1 to 7, mean 3.5); 1 cut to 6 and 5; padding: 29.5 % with full rows, '
has ' % with batches cut to their longest row, 3.1 % with rows of similar length together, as this run has them'
info four.tsv --source-seq 6 --seq 5 --batch 2 --json
has '"training":{"source_seq":6,"seq":5,"batch":2,"buckets":100,"rows":4,"cut":1,"skipped":0,"padding":0.2954545'
has '"padding_in_buckets":0.03125'
info four.tsv --source-seq 6 --seq 5 --batch 2 --skip-long --json  # 20 of 33; 2 (2+3) + (6+5) = 21
has '"rows":3,"cut":0,"skipped":1,"padding":0.393939'
has '"padding_in_buckets":0.047619'
refuses() {     # MESSAGE ARGUMENT…
    message=$1
    shift
    "$LATHE" data info "$@" >out 2>err && wrong "taken: $*"
    grep -qF -- "$message" err || { wrong "no $message in:"; cat err; }
}
refuses 'pairs.csv:3: error: expected 2 fields' pairs.csv --text mr --target ref --bad-records 0
refuses 'pairs.csv:3: error: expected 2 fields, as the first line has, found 1' pairs.csv
refuses 'there is no column "text", nor "source" and "target"; say which is meant of "mr", "ref"' pairs.csv --format csv

# Columns that are no texts are a table: 9 rows, sizes 10 … 90 but for one that is missing, and a price that is no number.
awk 'BEGIN { print "city,size,sold,price"; for (r = 1; r < 10; r++) print (r % 3 ? "Bern" : "Zug") "," (r == 4 ? "" : 10 * r) ",2024-02-0" r "," (r == 5 ? "1.2.3" : r) }' >houses.csv
info houses.csv
has 'table       9 rows, 4 columns'
has 'city        text, 2 different: "Bern" 6, "Zug" 3'
has 'size        numbers, 10 to 90, mean 51.25, 8 different: "10" 1, '
has '; 1 missing'
has 'sold        dates, 2024-02-01 to 2024-02-09'
has '8 of its 9 values are numbers; "1.2.3" (houses.csv:6, column "price") is not one'
info houses.csv --json
has '{"rows":9,"columns":{"city":{"kind":"text","present":9,"missing":0,"different":2},"size":{"kind":"numbers","present":8,"missing":1,'
printf '{"a": 1, "b": null}\n{"a": 3, "b": "x"}\n' >rows.jsonl
info rows.jsonl
has 'a           numbers, 1 to 3, mean 2'

# Arrays: [3][2] floats with a NaN, and ids.
{ printf "\223NUMPY\1\0\166\0%-117s\n" "{'descr': '<f2', 'fortran_order': False, 'shape': (3, 2), }"; printf '\0\074\0\100\0\176\0\074\0\074\0\074'; } >x.npy
{ printf "\223NUMPY\1\0\166\0%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"; printf '\1\0\1'; } >y.npy
info x.npy label=y.npy
has 'x           3 rows of float16 [2]; 1 to 2, mean 1.2; 1 NaN and 0 infinite, the first in row 1'
has 'label       3 rows of uint8 []; 0 to 1, mean 0.666667; 0 in 1, 1 in 2 rows'
info x.npy --json
has '{"arrays":[{"name":"x","shape":[3,2],"rows":3,"min":1.0,"max":2.0,"mean":1.2,"nan":1,"infinite":0,"type":"float16"}]}'
refuses 'nothing: error: expected a file, but there is none of that name' nothing
refuses '--stride 9: expected at most --seq' four.jsonl --seq 8 --stride 9
refuses '--split lines: there is no such choice; did you mean line' four.jsonl --split lines
refuses '--source-seq 6: expected --seq and --batch' four.tsv --source-seq 6
refuses 'needs files to read'

# Tokens; the share of those that the tokenizer does not know.
printf 'a a a b b c' >words.txt
"$LATHE" tokenize train --kind words --size 3 --out three words.txt >out 2>err || wrong 'three words'
info words.txt --tokenizer three
has 'text        6 tokens; min 6'
has 'unknown     1 (16.667 %)'
if [ -d "$DATA/gpt2-bpe" ]; then    # in two parts
    info "$DATA/tinyshakespeare.txt" --tokenizer "$DATA/gpt2-bpe" --json
    has '"documents":1,"unit":"tokens","text":{"sum":338025,'
fi
if [ -d "$DATA/scitldr" ]; then     # as its README has it: 3,229 papers
    info "$DATA/scitldr/"*.jsonl --json
    has '"documents":3229,'
    has '"bad_records":0,'
fi
exit $failed
