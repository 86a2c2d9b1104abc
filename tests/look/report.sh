# report.sh: a run leaves run.json and a report; what is cut off, odd, marked up or no run; every number that is drawn is in
# the page; a million steps are a small page; without dygraphs a run says nothing.
lathe=${LATHE:-build/lathe}
case $lathe in /*) ;; *) lathe=$PWD/$lathe ;; esac
. tests/trainer/common
some_text t.txt 400
mkdir charts
printf 'var Dygraph = "</script><!-- <b>";\n//# sourceMappingURL=x.map\n' >charts/dygraph.min.js
echo '.dygraph-legend { top: 0 } /*# sourceMappingURL=x.css.map */' >charts/dygraph.min.css
LATHE_DYGRAPHS=$PWD/charts
export LATHE_DYGRAPHS
page() { sed -n 's/.*<script type="application\/json" id="data">\(.*\)<\/script>.*/\1/p' "$1"; }

# A run, its end, and its report again.
train="$toy train --data t.txt --steps 40 --eval-every 10"
works $train --out a
says '"how":"done","step":40' a/run.json
says '"words":\["[^"]*toy_model","train"' a/run.json
says '"processor":\|"cores":' a/run.json
[ -s a/report.html ] && ok 'a report at the end' || wrong "no report: $(ls a)"
works "$toy" report --out a --to again.html
page a/report.html | sed 's/"made":"[^"]*"//' >one
page again.html | sed 's/"made":"[^"]*"//' >two
[ -s one ] && same one two
works $train --out b --no-report
[ ! -e b/report.html ] && ok 'none where none is wanted' || wrong 'a report in spite of --no-report'
works $train --resume --out a --steps 60 --set schedule_steps=40
[ "$(grep -o '"began"' a/run.json | wc -l)" = 2 ] && ok 'both starts are told' || wrong 'another number of starts'
cp a/run.json run.before
works $train --out a
[ -e a/before-1/run.json ] && [ -e a/before-1/report.html ] && ok 'moved aside with its run' || wrong "$(ls a a/before-1)"

# Every number of a short run that is drawn is in its page.
page a/report.html >data
missing=0
for number in $(sed 's/"\(step\|time\|tokens\|rows\|windows\)":[^,}]*//g' a/metrics.jsonl | grep -o '":-\{0,1\}[0-9][-+.e0-9]*' | sed 's/^"://' | sort -u); do
    short=$(printf '%.9g' "$number")
    grep -qF -e "$number" -e "$short" data || { missing=$((missing + 1)); echo "    | $number"; }
done
[ "$missing" -lt 3 ] && [ "$(wc -l <a/metrics.jsonl)" = 44 ] && ok 'the numbers are in the page' || wrong "$missing numbers are not in the page"

# Without dygraphs: a run says nothing, a command what to install.
works env LATHE_DYGRAPHS=/nowhere $train --out c
! grep -qi 'dygraph\|report' err && [ ! -e c/report.html ] && ok 'nothing is said at the end' || wrong 'a run speaks of reports'
refuses 1 'apt install libjs-dygraphs' env LATHE_DYGRAPHS=/nowhere "$lathe" report a
refuses 1 'apt install libjs-dygraphs' env LATHE_DYGRAPHS=/nowhere "$toy" report --out a

# No runs.
mkdir empty
refuses 3 "expected a run's folder, found no metrics.jsonl in it" "$lathe" report empty
refuses 3 "expected a run's folder, found a file" "$lathe" report t.txt
refuses 3 "expected a run's folder, and it cannot be read: no such file" "$lathe" report nowhere
refuses 2 "report needs a run's folder" "$lathe" report
refuses 2 'report draws at most 64 runs at once, 65 were given' "$lathe" report $(seq 65 | sed s/.*/a/)
refuses 3 'nowhere/x.html: error: cannot be made' "$lathe" report a -o nowhere/x.html
refuses 2 '--port is for --watch' "$lathe" report a --port 5
refuses 3 'expected a run' "$toy" report --out empty

# A run that is being written, of another version, with lines that are none.
mkdir odd
cat >odd/metrics.jsonl <<'X'
{"step":1,"split":"train","loss":2.5,"new":{"inner":7.25},"time":0.1,"tokens":5}
{"step":2,"split":"train","loss":NaN,"grad_norm":-inf,"time":0.2,"tokens":10}
nonsense
{"step":3,"split":"train","loss":null,"time":0.3,"tokens":15}
{"split":"train","loss":1}
{"step":4,"split":"train","loss":123456.75,"time":0.4,"tokens":20}
X
printf '{"step":5,"split":"train","lo' >>odd/metrics.jsonl
echo '{"model":' >odd/config.json
works "$lathe" report odd
says 'odd/metrics.jsonl:3: expected a JSON object; the line is left out' err
says 'odd/metrics.jsonl: 2 lines were left out' err
says 'odd/config.json:[0-9]*: not JSON' err
page odd/report.html >data
for part in '"new.inner"' '"odd":2' '"NaN"' '"-Infinity"' '123456.75' '"state":"cut off"'; do says "$part" data; done
! grep -q ':NaN\|:-\{0,1\}inf\|,NaN' data && ok 'no bare NaN' || wrong 'JSON with NaN'
: >odd/metrics.jsonl
works "$lathe" report odd
mkdir folder folder/metrics.jsonl
refuses 3 "expected a run's folder" "$lathe" report folder
mkdir pipe
mkfifo pipe/metrics.jsonl
refuses 3 "expected a run's folder" "$lathe" report pipe

# Markup and control characters in names and settings stay text.
bad=$(printf 'x<img src=x onerror=alert(1)>\033[31m')
mkdir "$bad"
printf '{"model":"</script><script>alert(1)</script>","recipe":{"lr":"<!--","\\u2028":"&amp;"}}\n' >"$bad/config.json"
printf '{"step":1,"split":"train","<svg onload=alert(1)>":1,"loss":1,"time":1}\n{"step":1,"split":"sample","prompt":"</script>","text":"<b>\\u001b[31m","outputs":{"<i>":{"shape":[1],"values":[1]}}}\n' >"$bad/metrics.jsonl"
works "$lathe" report "$bad" -o bad.html
page bad.html >data
[ -s data ] && ! grep -q '[<>&]' data && ok 'no markup in the data' || wrong 'markup in the data'
[ "$(grep -c '<script' bad.html)" = "$(grep -c '<script' a/report.html)" ] && ! grep -q 'onerror=alert(1)>' bad.html && ok 'no script but our own' || wrong 'a script of the data'
! grep -q 'sourceMappingURL' bad.html && grep -qF '<\/script>' bad.html && ok 'code that ends its script does not' || wrong "dygraphs' code as it was"
! grep -q "$(printf '\033')" out && ok 'no control characters' || wrong 'control characters on the terminal'
! grep -oE '(src|href)="?[^"# >]*[/:][^" >]*' bad.html | grep -v '^href="#' && ok 'nothing is fetched' || wrong 'something is fetched'

# A million steps: the page has a megabyte at most, and the one spike.
mkdir long
awk 'BEGIN { for (i = 1; i <= 1000000; i++) printf "{\"step\":%d,\"split\":\"train\",\"loss\":%.6g,\"lr\":%.6g,\"grad_norm\":%.6g,\"tok_s\":%.6g,\"tokens\":%.0f,\"time\":%.3f}\n", i, i == 654321 ? 77.125 : 5 / sqrt(i) + rand() / 50, .001 - i * 1e-9, rand(), 1000 + rand(), 4096 * i, i * .013 }' >long/metrics.jsonl
timeout 100 "$lathe" report long >out 2>err || wrong 'a million steps'
bytes=$(wc -c <long/report.html)
[ "$bytes" -lt 875000 ] && ok "a million steps are $bytes bytes (dygraphs: 125 KB more)" || wrong "a million steps are $bytes bytes"
page long/report.html >data
grep -qF ,77.125, data && ok "the spike is drawn" || wrong "the spike is gone"
grep -qF '"greatest":[654321,2680098816,8506.173,77.125]' data && ok 'where it was' || wrong 'it is elsewhere'
finish
