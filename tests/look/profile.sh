# profile.sh: a run times its kernels without being asked and without a changed bit; the report draws them as a flame
# graph that keys reach, and gives layers their time; a killed run, one without a profile, and odd profiles.
# compiled: as for users
. tests/look/common
some_text t.txt 400
works "$lathe" build "$top/models/gpt.lua" --config char --set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=4 --set vocab=32 -o m
train="m/trainer train --data t.txt --eval-every 20 --set save_every=20"

works $train --steps 40 --out a
works $train --steps 40 --out b --no-profile --no-report
[ -s a/profile.json ] && [ ! -e b/profile.json ] && ok 'a profile, unless it is not wanted' || wrong "$(ls a b)"
for run in a b; do sed 's/,"tok_s".*//' $run/metrics.jsonl >$run.lines; done
same a.lines b.lines
same a/checkpoints/step-40/model.safetensors b/checkpoints/step-40/model.safetensors
for part in '"steps":40' '"copy_bytes_per_s":[0-9]' '"product_flops_per_s":[0-9]' '"spent":{"data":' '"part":"backward"' '"name":"optimizer_step"' '"steps":10'; do says "$part" a/profile.json; done

# Its kernels are those of `trainer profile`, their times make up the step.
m/trainer profile --steps 2 --json >profiled 2>err
for file in a/profile.json profiled; do tr '{' '\n' <$file | grep '^"lap"' | sed 's/"bytes".*"calls"\(:[0-9]*\).*/calls\1/' | sort >$(basename $file).rows; done
same profile.json.rows profiled.rows
tr '{,' '\n\n' <a/profile.json | awk -F: '/^"ms"/ { sum += $2 } /^"step_ms"/ { step = $2 } END { print sum, step; exit !(sum > 0.5 * step && sum < 1.5 * step) }' &&
    ok 'times make up the step' || wrong 'times of kernels are not those of the step'

# A run that starts anew in its folder has no other's.
cp -r a again
works $train --steps 20 --out again --no-profile --no-histograms --no-report
[ ! -e again/profile.json ] && [ ! -e again/histograms.jsonl ] && [ -s again/before-1/profile.json ] && ok 'set aside' || wrong "$(ls again again/before-1)"

# A run that is killed has one; what is resumed has its own.
m/trainer train --data t.txt --steps 100000000 --set save_every=50 --out killed >log 2>&1 &
child=$!
for i in $(seq 100); do [ -s killed/profile.json ] && break; sleep 0.2; done
kill -9 $child
wait $child 2>/dev/null
says '"copy_bytes_per_s":null' killed/profile.json
works "$lathe" report killed

# Past the minute at which it measures the machine's rates, in the memory of calls: the steps go on to the same bits.  A
# clock that runs fast brings that minute about.
cc=${CC:-cc}
if command -v "$cc" >/dev/null && "$cc" -shared -fPIC -o shim.so "$top/tests/trainer/shim_faults.c"; then
    steps() { wc -l <"$1/metrics.jsonl" 2>/dev/null || echo 0; }
    rated() { grep -q '"copy_bytes_per_s":[0-9].*"product_flops_per_s":[0-9]' "$1/profile.json" 2>/dev/null; }
    reaches() { [ "$(steps "$1")" -gt "$2" ]; }
    wait_for() { for i in $(seq 600); do "$@" && break; sleep 0.1; done; }
    goes_on="m/trainer train --data t.txt --steps 100000000 --set save_every=0 --out"
    FAULT_CLOCK=fast LD_PRELOAD="$work/shim.so" $goes_on measured >log 2>&1 &
    child=$!
    wait_for rated measured
    wait_for reaches measured $(($(steps measured) + 30))
    kill -9 $child
    wait $child 2>/dev/null
    rated measured && ok 'rates after a minute' || wrong 'no rates after a minute'
    $goes_on unmeasured --no-profile >log 2>&1 &
    child=$!
    wait_for reaches unmeasured "$(steps measured)"
    kill -9 $child
    wait $child 2>/dev/null
    n=$(($(steps measured) - 1))
    for run in measured unmeasured; do head -n $n $run/metrics.jsonl | sed 's/,"tok_s".*//' >$run.lines; done
    [ $n -gt 30 ] && ok "$n lines" || wrong "only $n lines"
    same measured.lines unmeasured.lines
fi
says 'name":"optimizer_step"' killed/report.html
works $train --resume --out a --steps 60
says '"steps":20' a/profile.json

# What `trainer profile --json` printed is drawn, too; profiles of other kinds are left out.
mkdir c d e f
for run in c d e f; do cp a/metrics.jsonl a/config.json a/run.json $run; done
cp profiled c/profile.json
printf '{"turns":[1,{"kernels":7},{"turn":"<b>","kernels":[null,{"lap":"x","name":"<img src=x onerror=console.error(1)>","part":"</script>","path":"a.<i>.b","formula":"<s>","ms":1e-3,"floor_ms":"y"},{"name":5,"ms":2,"calls":1,"bytes":1e9}]}],"seconds":"s","spent":{"data":1,"<u>":2}}\n' >d/profile.json
printf '{"turns":' >e/profile.json
awk 'BEGIN { printf "{\"copy_bytes_per_s\":1e10,\"turns\":[{\"turn\":null,\"kernels\":["; for (i = 0; i < 20000; i++) printf "%s{\"lap\":%d,\"name\":\"kernel_%d\",\"part\":\"forward\",\"path\":\"h.%d\",\"formula\":\"%s\",\"bytes\":5,\"flops\":0,\"calls\":1,\"ms\":%g}", i ? "," : "", i, i, i % 50, "a formula of some length that is long", i / 1e3; print "]}]}" }' >f/profile.json
works "$lathe" report c d e f
says 'e/profile.json:1: not JSON' err
works "$lathe" report f
[ "$(wc -c <f/report.html)" -lt 500000 ] && ok '20,000 kernels are a small page' || wrong "20,000 kernels: $(wc -c <f/report.html) bytes"
says '"kernels":19600,' f/report.html

command -v chromium >/dev/null || { echo 'skipped the rest: Chromium is missing'; finish; }
# opened PAGE [dark]: its document as it is after its scripts, in dom; what the console said, in console.
opened() {
    scheme=1
    [ "${2:-light}" = dark ] && scheme=0
    HOME=$work timeout 60 chromium --headless=new --no-sandbox --disable-gpu --no-first-run --blink-settings=preferredColorScheme=$scheme --user-data-dir="$work/browser" --enable-logging=stderr \
        --virtual-time-budget=4000 --dump-dom "file://$work/$1" >dom 2>log
    grep 'CONSOLE' log >console
    [ ! -s console ] && ok "$1: nothing on the console" || { wrong "$1: on the console"; cut -c1-300 console; }
}
cat >reader.js <<'X'
<script>
const told = [], check = (what, holds) => told.push(what + (holds ? ' works' : ' FAILS'));
const place = document.querySelector('.flame'), say = document.querySelector('.told'), boxes = () => [...place.children];
const key = k => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true }));
const all = boxes().length, share = b => parseFloat(b.style.width);
check('boxes', all > 30 && boxes().every(b => b.getAttribute('aria-label') && b.textContent));
check('one stop of Tab', boxes().filter(b => b.tabIndex === 0).length === 1);
const rows = runs[0].profile.turns[0].kernels, kernels = boxes().filter(b => rows.some(k => b.textContent === k.name && b.title.includes(k.formula)));
check('kernels', kernels.length === rows.filter(k => k.ms > 0).length && kernels.every(b => /floor [0-9.]+ ms/.test(b.title)));
check('where they come from', kernels.some(b => b.title.includes('gpt.lua:')) && kernels.some(b => b.title.includes('GB/s')) && kernels.some(b => /bound by (multiplying|moving bytes)/.test(b.title)));
check('widths are times', Math.abs(kernels.reduce((n, b) => n + share(b), 0) - 100) < 0.1);
boxes()[0].focus(); key('ArrowDown'); key('ArrowRight');
check('arrows', document.activeElement.textContent === 'backward' && say.textContent.startsWith('backward'));
document.activeElement.click();
check('zoom', share(document.activeElement) === 100 && document.activeElement.textContent === 'backward' && boxes().length < all);
key('Escape');
check('back', boxes().length === all && share(boxes()[0]) === 100);
const layers = [...document.querySelectorAll('.tree .time')].map(e => e.textContent);
check('layers', layers.length > 10 && layers[0].endsWith('100.0 %') && document.querySelector('.tree').textContent.includes('norm and update'));
check('where time went', document.querySelector('[aria-label^="Time: "]') && document.body.textContent.includes('Where the time went'));
/* Text on its ground: WCAG's contrast. */
const shown = c => { const x = document.createElement('canvas').getContext('2d', { willReadFrequently: true }); x.fillStyle = c; x.fillRect(0, 0, 1, 1); return [...x.getImageData(0, 0, 1, 1).data].slice(0, 3); };
const light = c => { const [r, g, b] = shown(c).map(v => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const ground = e => getComputedStyle(e).backgroundColor, ink = getComputedStyle(boxes()[0]).color;
const least = Math.min(contrast(ink, ground(boxes()[0])), contrast(ink, ground(boxes()[0].querySelector('i'))));
check('contrast ' + least.toFixed(1) + ' of ' + [ink, ground(boxes()[0]), ground(boxes()[0].querySelector('i'))].join(' on '), least >= 4.5);
document.body.append(make('p', {}, 'reader: ' + told.join(', ')));
</script>
X
works m/trainer report --out a
cat a/report.html reader.js >reader.html
for mode in light dark; do
    opened reader.html $mode
    grep -o 'reader: boxes.*' dom | sed 's/<.*//' >told
    [ "$(grep -o ' works' told | wc -l)" = 11 ] && ! grep -q FAILS told && ok "the flame graph, $mode" || wrong "the flame graph, $mode: $(cat told)"
done
works "$lathe" report c d e f -o odd.html
opened odd.html
works "$lathe" report d -o d.html
opened d.html
grep -q 'data-boxes' dom && ! grep -q '<img src=x\|<s>\|<u>' dom && ok 'markup is text' || wrong 'markup in the document, or no flame graph'
works "$lathe" report c -o c.html
opened c.html
grep -q 'data-boxes' dom && ok 'what trainer profile printed' || wrong 'nothing drawn of what trainer profile printed'
rm e/profile.json
works "$lathe" report e -o e.html
opened e.html
! grep -q 'data-boxes' dom && grep -q 'Layers: parameters and bytes</h3>' dom && ok 'a run without a profile' || wrong 'a run without a profile'
finish
