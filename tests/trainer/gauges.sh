# gauges.sh: --metrics-port: a run's newest numbers over HTTP, on this machine alone.
top=$PWD
. tests/trainer/common
needs_server
some_text t.txt 400
run=
trap 'kill -9 $run 2>/dev/null; rm -rf "$work"' EXIT
refuses 2 'expected a number up to 65535' $toy train --data t.txt --out a --metrics-port 70000
refuses 2 'expected a number up to 65535' $toy train --data t.txt --out a --metrics-port x

$toy train --data t.txt --out 'a "b\' --steps 100000000 --eval-every 100 --metrics-port 0 --log csv 2>log &
run=$!
for i in $(seq 100); do grep -q '^eval 100/' log && break; sleep 0.1; done
port=$(sed -n 's|^metrics: http://127.0.0.1:\([0-9]*\)/metrics|\1|p' log)
asks() { timeout 30 ./client "$port" "$2" "$3" >out 2>status; [ "$(cat status)" = "$1" ] && ok "$1 $2 $3" || wrong "$2 $3: $(cat status)"; }
asks 200 GET /metrics
says '^lathe_train_loss{model="[a-z_]*",run="a \\"b\\\\"} [0-9.]*$' out
says '^# TYPE lathe_val_accuracy gauge$' out
says '^lathe_train_tokens{' out
[ "$(tail -n 1 out)" = '# EOF' ] && [ "$(grep -c '^lathe_' out)" = "$(grep -c '^# TYPE lathe_' out)" ] && ok 'OpenMetrics' || wrong "$(cat out)"
sed -n 's/^lathe_step{.*} //p' out >first
sleep 0.3
asks 200 GET /metrics
[ "$(sed -n 's/^lathe_step{.*} //p' out)" -gt "$(cat first)" ] && ok 'the newest' || wrong "step $(cat first), and no later one"
asks 404 GET /
asks 405 POST /metrics
grep -q ',val,' 'a "b\/metrics.csv' && ok 'a log beside it' || wrong 'no table'
refuses 1 'another program may have it' $toy train --data t.txt --out b --metrics-port "$port"
kill -TERM $run
wait $run
[ $? = 143 ] && ok 'ends' || wrong 'another exit code'
run=
finish
