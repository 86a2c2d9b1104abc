# doctor.sh: `lathe doctor`: a line a finding, a remedy for whatever is not in order, exit code 1 where something will not work.
# compiled: as for users
failures=0
wrong() { echo "FAILED: $*"; failures=$((failures + 1)); }
text=$TMP/text
yes 'a line of text' | head -n 900 >"$text"

# doctor CODE ARGUMENTS…: its findings in $TMP/out
doctor() {
    wanted=$1
    shift
    "$LATHE" doctor "$@" --out "$TMP/run" >"$TMP/out" 2>"$TMP/err"
    got=$?
    [ "$got" = "$wanted" ] || { wrong "exit code $got, not $wanted: doctor $*"; cat "$TMP/out" "$TMP/err"; }
    awk '/^(ok|odd|BAD) / { if (open) bad = 1; open = $1 != "ok"; next } /^ +-> ./ { if (!open) bad = 1; open = 0; next } { bad = 1 }
         END { exit bad || open || !NR }' "$TMP/out" || { wrong "not a line a finding, with its remedy: doctor $*"; cat "$TMP/out"; }
}
says() { grep -q -- "$1" "$TMP/out" || { wrong "lacks $1"; cat "$TMP/out"; }; }

doctor 0
for topic in processor load memory 'huge pages' compiler libclang runtime BLAS products copies GPU disk; do says "^[okd]* *$topic "; done
says 'products  *[0-9.]* GFLOP/s with [0-9]* threads'
says 'disk .*MB/s'

doctor 0 models/gpt.lua --config char --data "$text"
says 'fits  *804,096 parameters'
says 'expect  *about .* ms a step, .* tokens/s'
says 'data  *0.0 MB in 1 files'
says '^odd data  *all steps see each byte about'
doctor 0 models/gpt.lua --config char --set warmup=9000 --set lr=2
says '^odd recipe  *warmup 9000 of 2000 steps'
says '^odd recipe  *lr 2 for adamw'
doctor 1 models/gpt.lua --config char --data "$TMP/nowhere"
says '^BAD data .*nowhere: No such file'
echo short >"$TMP/short"
doctor 1 models/gpt.lua --config char --data "$TMP/short"
says '^BAD data  *less than one sequence'
doctor 1 models/gpt.lua --config gpt2 --set batch=4000
says '^BAD fits '
CC=no-such-compiler doctor 1
says '^BAD compiler  *none'
printf '#!/bin/sh\necho "nvcc: release 12.9, V12.9.1"\n' >"$TMP/nvcc"
chmod +x "$TMP/nvcc"
NVCC=$TMP/nvcc doctor 0
says '^ok  GPU  *.*, nvcc 12.9, V12.9.1: '

"$LATHE" doctor models/mlp.lua --json >"$TMP/out" || wrong "doctor --json"
tr -d '\n' <"$TMP/out" | grep -Eq '^\[(\{"topic": "[^"]*", "health": "(ok|odd|bad)", "found": "[^"]*", "remedy": (null|"[^"]*")\},? ?)*\]$' ||
    { wrong "not the JSON expected"; cat "$TMP/out"; }
"$LATHE" doctor --data "$text" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'with a description' "$TMP/err" || wrong "data without a description"
[ $failures = 0 ]
