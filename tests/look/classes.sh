# classes.sh: a classifier's run leaves its confusion and calibration without being asked, equal to what `trainer eval`
# says; other runs leave none; of many classes the report has the most frequent confusions.
. tests/look/common
awk 'BEGIN { srand(7); print "a,b,kind"; split("red <b>green</b> blue", c, " "); for (i = 0; i < 600; i++) { k = int(rand() * 3); printf "%.4f,%.4f,%s\n", k + rand() * 2, rand() - k, c[k + 1] } }' >rows.csv
works "$lathe" train "$top/models/tabular.lua" --data rows.csv --set target=kind --steps 60 -o m --out a
says '"confusion"' a/eval.json
says '"over":' a/eval.json
works m/trainer eval --out a --json
tr -d ' \n' <a/eval.json | sed 's/.*"metrics":\({.*\]\]}\).*/\1/' >left
tr -d ' \n' <out | sed 's/.*"metrics":\({.*\]\]}\).*/\1/' >told
[ -s left ] && same left told
works m/trainer report --out a
says '"classes":\[' a/report.html
works m/trainer train --data rows.csv --steps 10 --out b --no-report
[ ! -e b/eval.json ] && ok 'none without a report' || wrong 'eval.json without a report'
some_text t.txt 400
works "$toy" train --data t.txt --steps 10 --out c
[ ! -e c/eval.json ] && ok 'none of texts' || wrong 'eval.json of a text'

mkdir d
cp a/metrics.jsonl d
awk 'BEGIN { printf "{\"metrics\":{\"accuracy\":0.5,\"confusion\":["; for (k = 0; k < 1000; k++) { printf "%s[", k ? "," : ""; for (i = 0; i < 1000; i++) printf "%s%d", i ? "," : "", k == 5 && i == 999 ? 77 : (k * i) % 7; printf "]" } print "]},\"classes\":7}" }' >d/eval.json
works "$lathe" report d
[ "$(wc -c <d/report.html)" -lt 300000 ] && ok 'a thousand classes are a small page' || wrong "a thousand classes: $(wc -c <d/report.html) bytes"
says '"confused":\[\[77,5,999\],\[6,' d/report.html

command -v chromium >/dev/null || { echo 'skipped the rest: Chromium is missing'; finish; }
for run in a d; do
    cp $run/report.html $run.html
    HOME=$work timeout 60 chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/browser" --enable-logging=stderr \
        --virtual-time-budget=4000 --dump-dom "file://$work/$run.html" >$run.dom 2>log
    ! grep 'CONSOLE' log && ok "$run: nothing on the console" || wrong "$run: on the console"
done
grep -q 'Calibration' a.dom && grep -q 'class &lt;b&gt;green&lt;/b&gt; taken for\|class red taken for' a.dom && ! grep -q '<b>green' a.dom && ok 'classes by their names' || wrong 'no classes'
grep -q 'most often confused' d.dom && ok 'what is confused' || wrong 'nothing that is confused'
finish
