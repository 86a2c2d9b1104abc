# histograms.sh: a run's gradients and updates, parameter by parameter: the same for any number of threads and over a
# resume, without a changed bit of the training; the report draws them, keys reach them; files that are cut off or odd.
. tests/look/common
some_text t.txt 400
works "$lathe" build "$top/models/gpt.lua" --config char --set layers=2 --set width=32 --set heads=2 --set seq=16 --set batch=4 --set vocab=32 -o m
train="m/trainer train --data t.txt --set save_every=20 --steps 120"

works $train --threads 1 --out a
works $train --threads 2 --out b --log tensorboard
works $train --out c --no-histograms --no-report
same a/histograms.jsonl b/histograms.jsonl
[ ! -e c/histograms.jsonl ] && ok 'none where none are wanted' || wrong 'histograms in spite of --no-histograms'
same a/checkpoints/step-120/model.safetensors c/checkpoints/step-120/model.safetensors
[ "$(wc -l <a/histograms.jsonl)" = 41 ] && ok 'a third of the steps' || wrong "$(wc -l <a/histograms.jsonl) lines"
cp -R a d
rm -r d/checkpoints/step-120 d/checkpoints/step-100 d/model.safetensors
printf '{"step":100' >>d/histograms.jsonl
works m/trainer train --resume=d/checkpoints/step-80 --out d
same a/histograms.jsonl d/histograms.jsonl
tr '{' '\n' <a/histograms.jsonl | awk -F'"counts":' '/^"zeros"/ { split($1, z, /[:,]/); n = z[2]; sub(/\].*/, "", $2); sub(/\[/, "", $2); k = split($2, c, ","); for (i = 1; i <= k; i++) n += c[i]; if (n != 64 && n != 32 && n != 128 && n != 192 && n != 256 && n != 48) { bad = 1; print n } } END { exit bad }' &&
    ok 'counts add up to the elements looked at' || wrong 'counts that do not add up'

# In the page; of a run that goes on for ever, of another version, cut off.
works m/trainer report --out a
says '"histograms":{"steps":\[1,3' a/report.html
mkdir e f
for run in e f; do cp a/metrics.jsonl a/config.json a/run.json $run; done
cat >e/histograms.jsonl <<'X'
{"step":1,"split":"histograms","parameters":[{"name":"<img src=x onerror=console.error(1)>","rms":{"gradient":NaN,"update":"x"},"gradient":{"zeros":0,"from":-3,"counts":[1,-5,"a",NaN,9]},"ratio":7},4,{"name":5},{"name":"w","gradient":{"from":1e9,"counts":[1]},"ratio":{"from":-9,"counts":[]}}]}
nonsense
{"step":"x","parameters":[]}
{"step":5,"parameters":{"a":1}}
{"step":9,"parameters":[{"name":"w","gradient":{"from":-2,"counts":[4,4]}}]}
X
printf '{"step":12,"parameters":[{"na' >>e/histograms.jsonl
works "$lathe" report e
says '"histograms":{"steps":\[1,5,9\]' e/report.html
awk 'BEGIN { for (s = 1; s <= 2000; s++) { printf "{\"step\":%d,\"parameters\":[", s; for (k = 0; k < 200; k++) printf "%s{\"name\":\"h.%d.w\",\"rms\":{\"gradient\":%g,\"update\":%g,\"weight\":1},\"gradient\":{\"from\":-30,\"counts\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]},\"ratio\":{\"from\":-30,\"counts\":[1,2,3,4]}}", k ? "," : "", k, s / 7, s / 9; print "]}" } }' >f/histograms.jsonl
works "$lathe" report f
[ "$(wc -c <f/report.html)" -lt 650000 ] && ok "2,000 steps of 200 parameters: $(wc -c <f/report.html) bytes" || wrong "2,000 steps of 200 parameters: $(wc -c <f/report.html) bytes"

command -v chromium >/dev/null || { echo 'skipped the rest: Chromium is missing'; finish; }
cat >reader.js <<'X'
<script>
const heard = [], check = (what, holds) => heard.push(what + (holds ? ' works' : ' FAILS'));
const all = [...document.querySelectorAll('.strip')], say = [...document.querySelectorAll('.told')].pop();
check('a strip each', all.length === 2 * runs[0].histograms.rows.length && all.every(c => c.tabIndex === 0 && c.getAttribute('aria-label')));
check('cells', all.every(c => Number(c.dataset.cells) >= 41));
const ink = c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].filter((v, i) => i % 4 === 3 && v > 0).length;
check('drawn', all.every(c => ink(c) === Number(c.dataset.cells)));
all[0].focus(); check('told', say.textContent.includes('step 120 ') && say.textContent.includes('|gradient| mostly 2^'));
all[0].dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true, cancelable: true }));
check('arrows', say.textContent.includes('step 117 ') && say.textContent.includes('weight '));
document.body.append(make('p', {}, 'reader: ' + heard.join(', ')));
</script>
X
# opened PAGE: its document as it is after its scripts, in dom; nothing on the console.
opened() {
    HOME=$work timeout 60 chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/browser" --enable-logging=stderr \
        --virtual-time-budget=4000 --dump-dom "file://$work/$1" >dom 2>log
    grep 'CONSOLE' log >console
    [ ! -s console ] && ok "$1: nothing on the console" || { wrong "$1: on the console"; cut -c1-300 console; }
}
cat a/report.html reader.js >reader.html
opened reader.html
grep -o 'reader: a strip.*' dom | sed 's/<.*//' >told
[ "$(grep -o ' works' told | wc -l)" = 5 ] && ! grep -q FAILS told && ok 'strips' || wrong "strips: $(cat told)"
for run in e f; do
    cp $run/report.html $run.html
    opened $run.html
done
grep -q 'data-cells' dom && ok 'strips of a long run' || wrong 'no strips of a long run'
finish
