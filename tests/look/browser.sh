# browser.sh: reports in Chromium, offline: no error on its console, every chart has its points, nothing of the data is
# executed; also with a run.json of another version.
lathe=${LATHE:-build/lathe}
case $lathe in /*) ;; *) lathe=$PWD/$lathe ;; esac
command -v chromium >/dev/null || { echo 'skipped: Chromium is missing'; exit 77; }
[ -e /usr/share/javascript/dygraphs/dygraph.min.js ] || { echo 'skipped: libjs-dygraphs is missing'; exit 77; }
. tests/trainer/common
some_text t.txt 400

# opened PAGE: its document as it is after its scripts, in dom; what the console said, in console.
opened() {
    HOME=$work timeout 60 chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/browser" --enable-logging=stderr \
        --virtual-time-budget=4000 --dump-dom "file://$work/$1" >dom 2>log
    grep 'CONSOLE' log >console
    [ ! -s console ] && ok "$1: nothing on the console" || { wrong "$1: on the console"; cut -c1-300 console; }
    grep -q "data-ready=\"$2\"" dom && ok "$1: $2 charts" || wrong "$1: not $2 charts: $(grep -o 'data-ready="[0-9]*"' dom)"
}
points() {  # HOW OFTEN
    got=$(grep -o 'data-points="[0-9]*"' dom | sort | uniq -c | tr -s ' ')
    [ "$got" = "$1" ] && ok "points of the charts:$got" || wrong "points of the charts: $got, not $1"
}

works "$toy" train --data t.txt --steps 40 --eval-every 10 --out a
opened a/report.html 6
points ' 2 data-points="4"
 3 data-points="40"
 1 data-points="44"'

# What a reader does: keys on a chart, another axis, smoothing, a log scale, a column to sort by.
cat >reader.js <<'X'
<script>
const told = [], check = (what, holds) => told.push(what + (holds ? ' works' : ' FAILS'));
const key = (k, more) => charts[0].canvas.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true, ...more }));
const range = c => c.g.xAxisRange(), wide = c => range(c)[1] - range(c)[0], all = wide(charts[0]);
key('+'); check('zoom', Math.abs(wide(charts[0]) / all - 0.5) < 0.01 && Math.abs(wide(charts[1]) - wide(charts[0])) < 1e-6);
const from = range(charts[0])[0];
key('ArrowRight', { shiftKey: true }); check('moving', range(charts[0])[0] > from);
key('0'); check('all of it', Math.abs(wide(charts[0]) / all - 1) < 0.01);
key('ArrowRight'); check('the cursor', charts[0].readout.textContent.includes('step 1'));
const choose = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event('input')); };
choose('smooth', 60); check('smoothing', charts[0].g.numColumns() === 5 && byId('smoothed').textContent === '0.60');
byId('log').click(); check('a log scale', charts[0].g.getOption('logscale') === true);
document.querySelector('input[name=axis][value="1"]').click(); check('tokens', range(charts[0])[1] > 1000);
document.querySelector('input[name=axis][value="2"]').click(); check('time', charts.every(c => c.g.numRows() > 0));
check('tabs', [...document.querySelectorAll('.canvas')].every(c => c.tabIndex === 0 && c.getAttribute('aria-label')));
document.body.append(make('p', {}, 'reader: ' + told.join(', ')));
</script>
X
cat a/report.html reader.js >reader.html
opened reader.html 6
grep -o 'reader: .*' dom | sed 's/<.*//' >told
[ "$(grep -o ' works' told | wc -l)" = 9 ] && ! grep -q FAILS told && ok 'keys and controls' || wrong "keys and controls: $(cat told)"

# On paper: a canvas that has something in it is an image of the PDF.
HOME=$work timeout 60 chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/browser" --print-to-pdf=paper.pdf "file://$work/a/report.html" >log 2>&1
images=$(grep -a -c '/Subtype /Image' paper.pdf)
[ "$images" -ge 6 ] && ok 'curves on paper' || wrong "paper.pdf has $images images, not one for each of 6 charts: $(cat log)"

# Two runs, one of them with what is not finite and 5,000 steps.
mkdir b
awk 'BEGIN { for (i = 1; i <= 5000; i++) printf "{\"step\":%d,\"split\":\"train\",\"loss\":%s,\"lr\":%g,\"grad_norm\":%g,\"tok_s\":%d,\"tokens\":%d,\"time\":%.3f}\n", i, i == 70 ? "NaN" : 5 / i, 1 / i, i % 7, i, i, i / 3000 }' >b/metrics.jsonl
works "$lathe" report a b -o two.html
opened two.html 6
grep -q '✕ 1 not finite, the first at step 70' dom && ok 'a mark' || wrong 'no mark of a value that is not finite'
grep -q '1 of\|differ' dom && ok 'what differs' || wrong 'nothing of what differs'

# Three trials of a sweep, one of which explodes: their names, and a range in which the others are seen; all of it is asked for.
mkdir sw
echo '{"--over":["lr=1e-4,1e-3,1e-2"]}' >sw/sweep.json
for k in 1 2 3; do
    mkdir sw/trial-00$k
    echo "{\"recipe\":{\"lr\":0.00$k}}" >sw/trial-00$k/config.json
    awk -v k=$k 'BEGIN { for (i = 1; i <= 40; i++) printf "{\"step\":%d,\"split\":\"train\",\"loss\":%g,\"time\":%d}\n", i, 3 - i / 20 + (i > 9 && k == 3) * 1e6, i }' >sw/trial-00$k/metrics.jsonl
done
works "$lathe" report sw -o sw.html
cat >far.js <<'Y'
<script>
const highest = () => charts[0].g.yAxisRange()[1], usual = highest(), said = charts[0].readout.textContent;
byId('whole').click();
document.body.append(make('p', {}, 'far: ' + (usual < 4) + (highest() > 9e5) + said.includes('cut off') + !charts[0].readout.textContent.includes('cut off') + runs.map(r => r.title)));
</script>
Y
cat sw.html far.js >far.html
opened far.html 1
says 'far: truetruetruetruelr=0.001,lr=0.002,lr=0.003' dom

# Markup everywhere, and a run.json whose parts are of other kinds.
mkdir c
printf '{"model":"<img src=x onerror=\\"document.title=1\\">","recipe":{"<script>console.error(1)</script>":"</script>"}}\n' >c/config.json
printf '{"starts":[1,{"words":["<b>"]}],"parameters":[3,{"name":"a.b","count":1,"bytes":4}],"memory":7,"plan":{"work_bytes":"x","buffers":[{"name":"<i>","bytes":4,"offset":0,"first":0,"last":1}],"kernels":[null]}}\n' >c/run.json
printf '{"step":1,"split":"train","<img src=x onerror=console.error(2)>":1,"loss":1,"time":1}\n{"step":2,"split":"train","<img src=x onerror=console.error(2)>":2,"loss":2,"time":2}\n{"step":2,"split":"sample","prompt":"<script>console.error(3)</script>","text":"<iframe srcdoc=x>"}\n' >c/metrics.jsonl
printf '{"metrics":{"accuracy":0.5,"confusion":[[3,1],[0,2]],"calibration":[{"rows":5,"confidence":0.7,"accuracy":0.6},7]}}\n' >c/eval.json
works "$lathe" report c a -o c.html
opened c.html 7
grep -q '&lt;iframe srcdoc=x&gt;' dom && ! grep -q '<iframe\|<img src=x' dom && ok 'markup is text' || wrong 'markup in the document'
grep -q 'class 0 taken for 1' dom && grep -q 'Calibration' dom && ok 'confusion and calibration' || wrong 'no confusion'
finish
