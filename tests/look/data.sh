# data.sh: a run's data.json: lengths of documents and pairs and the share of padding, as they are counted from the batches; in
# the report; odd ones.
. tests/look/common
number_of() { sed "s/.*\"$1\":\([0-9.e-]*\).*/\1/" "$2"; }

# Windows: no padding, nothing of lengths.
some_text t.txt 400
works "$toy" train --data t.txt --steps 10 --out w
says '"items":"windows","unit":"tokens","train":[0-9]' w/data.json
says '"lengths":\[\]' w/data.json
[ "$(number_of targets w/data.json)" = "$(number_of counted w/data.json)" ] && ok 'all count' || wrong 'targets that do not count'
works "$toy" train --data t.txt --steps 10 --out x --no-report
[ ! -e x/data.json ] && ok 'none without a report' || wrong 'data.json without a report'

# Documents of 10 to 40 bytes, packed into rows of 64.
awk 'BEGIN { srand(3); for (i = 0; i < 3000; i++) { n = 10 + int(rand() * 31); s = ""; for (k = 0; k < n; k++) s = s sprintf("%c", 97 + int(rand() * 26)); print s } }' >docs.txt
works "$lathe" train "$top/models/gpt.lua" --config char --set pack=true --set layers=1 --set width=16 --set heads=2 --set seq=64 --set batch=4 \
    --set vocab=257 --tokenizer bytes --documents line --order epochs -o p --data docs.txt --steps 50 --out packed
cp packed/data.json .
says '"of":"documents in packed rows"' data.json
says '"held_documents":[1-9]' data.json
places=$(number_of places data.json) used=$(number_of used data.json) pieces=$(number_of pieces data.json)
[ "$places" = 12800 ] && [ "$used" -le 12800 ] && [ "$used" -gt 6400 ] && [ "$pieces" -gt 300 ] && ok "$pieces pieces, $used of $places places" || wrong "$pieces pieces, $used of $places places"
sed 's/.*"bins":\[\([^]]*\)\].*/\1/' data.json | tr , '\n' | awk -v n="$pieces" '{ sum += $1 } END { exit !(sum == n && NR == 33) }' && ok 'bins add up' || wrong 'bins do not add up'
works p/trainer train --data docs.txt --documents line --order epochs --tokenizer bytes --steps 50 --out again --threads 1
same packed/data.json again/data.json
says 'documents in packed rows' packed/report.html

mkdir a b
for run in a b; do cp w/metrics.jsonl $run; done
printf '{"items":"<b>","train":"x","seq":null,"sources":[1,{"path":"<img src=x onerror=console.error(1)>","files":7,"share":2,"held_documents":"y"}],"lengths":[{"of":"<i>","bins":[1,"z",3],"pieces":4,"places":9,"used":5,"row":6},{"bins":7},null]}\n' >a/data.json
printf '{"items":' >b/data.json
works "$lathe" report a b
says 'b/data.json:1: not JSON' err
works "$lathe" report a
command -v chromium >/dev/null || { echo 'skipped the rest: Chromium is missing'; finish; }
for run in packed a w; do
    cp $run/report.html $run.html
    HOME=$work timeout 60 chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/browser" --enable-logging=stderr \
        --virtual-time-budget=4000 --dump-dom "file://$work/$run.html" >$run.dom 2>log
    ! grep 'CONSOLE' log && ok "$run: nothing on the console" || wrong "$run: on the console"
done
grep -q 'of places are padding' packed.dom && grep -q 'aria-label="Lengths of documents in packed rows: ' packed.dom && ok 'lengths are drawn' || wrong 'no lengths'
grep -q 'documents of 1[0-9] to 4[0-9] tokens' packed.dom && ok 'documents kept for evaluation' || wrong 'nothing of documents'
! grep -q '<img src=x\|<i>' a.dom && grep -q '<h3>Data</h3>' w.dom && ok 'markup is text' || wrong 'markup in the document'
finish
