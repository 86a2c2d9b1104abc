# watch.sh: `lathe report --watch` serves a run's page on 127.0.0.1 while the run goes on: each answer is new, the run's end is
# seen, only / is there, only by this machine's name; several clients at once; a signal ends it.
top=$PWD
lathe=${LATHE:-build/lathe}
case $lathe in /*) ;; *) lathe=$PWD/$lathe ;; esac
. tests/trainer/common
needs_server
some_text t.txt 400
mkdir charts
echo 'var Dygraph;' >charts/dygraph.min.js
: >charts/dygraph.min.css
LATHE_DYGRAPHS=$PWD/charts
export LATHE_DYGRAPHS
stop_all() { [ -z "${trainer_id:-}" ] || kill "$trainer_id" 2>/dev/null; [ -z "${watcher_id:-}" ] || kill "$watcher_id" 2>/dev/null; rm -rf "$work"; }
trap stop_all EXIT
wait_for() { for i in $(seq 100); do "$@" && return; sleep 0.1; done; wrong "after 10 s still not: $*"; }
has_lines() { [ "$(grep -c . "$1" 2>/dev/null)" -gt 1 ]; }
ask() { timeout 30 ./client "$port" "$1" "$2" - "Host: ${3:-127.0.0.1:$port}" 2>err; }
get() { ask GET "$@" >page; }
step_of_page() { sed -n 's/.*"state":"[a-z ]*","step":\([0-9]*\).*/\1/p' page; }

timeout 100 "$toy" train --data t.txt --out going --steps 100000000 --no-report >going.log 2>&1 &
trainer_id=$!
wait_for has_lines going/metrics.jsonl
timeout 100 "$lathe" report going --watch --port 0 >where 2>watch.log &
watcher_id=$!
wait_for test -s where
says '^http://127.0.0.1:[0-9]*/$' where
port=$(sed 's/[^0-9]*127.0.0.1:\([0-9]*\).*/\1/' where)

get /
says '"watched":true' page
says '"state":"running"' page
before=$(step_of_page)
further() { get / && [ "$(step_of_page)" -gt "${before:-0}" ]; }
wait_for further
[ "$(step_of_page)" -gt "${before:-0}" ] && ok "renewed: step $before, then $(step_of_page)" || wrong 'the same page again'
! grep -q 'src="http\|href="http' page && ok 'nothing is fetched' || wrong 'the page fetches'

# Eight clients at once; what is not there; another name.
clients=
for k in 1 2 3 4 5 6 7 8; do ask GET / localhost >page.$k & clients="$clients $!"; done
for k in $clients; do wait "$k"; done
[ "$(grep -l '"watched":true' page.[1-8] | wc -l)" = 8 ] && ok 'eight at once' || wrong "$(wc -c page.[1-8])"
get /config.json
says 404 err
ask POST / >page
says 405 err
get / evil.example
says 'only for this machine' page

# The folder is away, as while a run starts anew in it: the last page.
mv going away
get /
says '"watched":true' page
mv away going

# The run ends: the page says so; then a signal ends the watcher.
kill "$trainer_id"
wait "$trainer_id"
trainer_id=
get /
says '"state":"stopped"' page
kill -TERM "$watcher_id"
wait "$watcher_id"
code=$?
[ $code = 0 ] || [ $code = 143 ] && ok "ended by a signal: $code" || wrong "exit code $code"
watcher_id=
finish
