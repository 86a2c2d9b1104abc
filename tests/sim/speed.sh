# speed.sh: the speed phase of tests/gpu.sh (tests/gpu/speed.py) without a GPU: the table comes last, has a row of everyone, and of who
# fails the reason; so it is when it is told to end.  PyTorch is played by a script, which fails when it is started first.
# compiled: as for users
set -eu
command -v python3 >/dev/null || { echo 'python3 is not here'; exit 77; }
failed=0
complain() { echo "failed: $*"; cat "$TMP/said"; failed=1; }
"$LATHE" build models/gpt.lua --set layers=1 --set width=16 --set heads=2 --set seq=8 --set batch=2 -o "$TMP/gpt" >"$TMP/said" 2>&1 || complain 'no trainer'
printf '#!/bin/sh\necho "there is no memory" >&2\nexit 3\n' >"$TMP/poor"
printf '#!/bin/sh\n[ "$1" != profile ] || exec sleep 100\nexec "%s/gpt/trainer" "$@"\n' "$TMP" >"$TMP/sleepy"
chmod +x "$TMP/poor" "$TMP/sleepy"
export LATHE_TORCH_PYTHON=/nowhere
speed() { timeout 100 python3 tests/gpu/speed.py --work "$TMP" --rounds 1 "$@" >"$TMP/said" 2>&1; }
table() { sed -n "/tokens\/s/,\$p" "$TMP/said" >"$TMP/table"; }      # its head, and all that follows

! speed gpt="$TMP/gpt/trainer" poor="$TMP/poor" unmade= || complain 'rows that fail are not told by the exit code'
table
grep -q '^  gpt  *lathe  *[0-9.]*  *[0-9,]* .* [0-9.]*  *[0-9.]*  *[0-9.]*$' "$TMP/table" || complain 'no row of gpt'
grep -q '^  poor  *failed: `info` ended with exit code 3: there is no memory$' "$TMP/table" || complain 'not why poor fails'
grep -q '^  unmade  *failed: no trainer: see above$' "$TMP/table" || complain 'not why unmade fails'
grep -q '^ *forward [0-9.]*, backward [0-9.]*, update [0-9.]* ms$' "$TMP/table" || complain 'no parts of a step'
[ "$(wc -l <"$TMP/table")" = 5 ] || complain 'more than the table comes at the end'
grep -q '^gpt: kernels by what they lose' "$TMP/said" || complain 'no table of kernels'

cat >"$TMP/torch" <<'TORCH'
#!/usr/bin/env python3
import json, os, sys
if sys.argv[1] == "-c":
    sys.exit(print("9.9 True"))
if not os.path.exists(sys.argv[0] + ".failed"):
    open(sys.argv[0] + ".failed", "w")
    sys.exit("CUDA out of memory")
print(json.dumps({"losses": [k + 0.5 for k in range(10)], "ms": 500}), flush=True)
for line in sys.stdin:
    print(json.dumps({"ms": [2.0] * int(line), "peak_bytes": 5000000000}), flush=True)
TORCH
chmod +x "$TMP/torch"
! LATHE_TORCH_PYTHON=$TMP/torch speed gpt="$TMP/gpt/trainer" || complain 'what fails at first is not told by the exit code'
table
grep -q '^  *torch.compile  *2.000  *8,000  *[^ ]*  *5.00 GB  *-  *1.00x  *1 (+0)  *0.50000  *4.50000  *9.50000$' "$TMP/table" ||
    complain 'PyTorch is not started again'
grep -q '^  *failed: torch.compile: CUDA out of memory$' "$TMP/table" || complain 'not why PyTorch fails'

python3 tests/gpu/speed.py --work "$TMP" --rounds 1 sleepy="$TMP/sleepy" >"$TMP/said" 2>&1 &
ready=no
for _ in $(seq 1200); do
    ! grep -q 'rows are ready' "$TMP/said" || { ready=yes; break; }
    sleep 0.1
done
[ $ready = yes ] || complain 'rows are not ready within 120 s'
sleep 1
kill $!
wait $! && complain 'stopped, and all is well'
table
grep -q '^  sleepy  *lathe ' "$TMP/table" || complain 'stopped, there is no row'
exit $failed
