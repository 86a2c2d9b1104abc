# module.sh: a model as a module of Python, without NumPy: it trains to the trainer's bits with arrays of the caller, refuses what
# is wrong with words, and is built without Python's headers, whose declarations ours are (where they are installed).
# compiled: as for users
python=${PYTHON:-python3}
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "skipped: no python3 of 3.11 or later"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt" || { echo "skipped: Python is not built with sanitizers"; exit 77; }
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
cc=${CC:-cc}
words='--set lr=0.01 --set steps=40 --set eval_every=0'
# shellcheck disable=SC2086
module=$("$LATHE" build examples/digits/digits.lua $words --python -o "$TMP/python")
# shellcheck disable=SC2086
trainer=$("$LATHE" build examples/digits/digits.lua $words -o "$TMP/trainer")
$cc -std=gnu11 -O1 -march=native -fopenmp -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror "$module" -o "$TMP/_model.abi3.so" -lm -lpthread
include=$($python -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [ -e "$include/Python.h" ]; then
    $cc -std=gnu11 -fopenmp -DLATHE_PYTHON_HEADERS "-I$include" -fsyntax-only -Wall -Wextra -Werror "$module" || complain "Python.h declares it otherwise"
else
    echo "note: no Python.h: our declarations were not compared with it"
fi

PYTHONPATH=tests/python $python -B -c '
import sys
from rows import pictures, write_npy
pixels, labels = pictures(320)
write_npy(sys.argv[1] + "/pixels.npy", pixels, (320, 8, 8))
write_npy(sys.argv[1] + "/label.npy", labels, (320,))' "$TMP"
"$trainer" train --data "$TMP/pixels.npy" "$TMP/label.npy" --seed 5 --out "$TMP/run" --no-report >"$TMP/said" 2>&1 || complain "$(cat "$TMP/said")"
PYTHONPATH=tests/python $python -B tests/python/module.py "$TMP/_model.abi3.so" "$TMP/run/checkpoints/step-40/model.safetensors" 40 || complain "module.py"

# A processor without the instructions.
program=$($python -c 'import os, sys; print(os.path.realpath(sys.executable))')
if [ "$(uname -m)" = x86_64 ] && command -v qemu-x86_64 >/dev/null 2>&1; then
    qemu-x86_64 -cpu Nehalem "$program" -S -B tests/python/module.py "$TMP/_model.abi3.so" none 0 >"$TMP/said" 2>&1 || true
    grep -q 'ImportError: open: this library was built for a processor with avx instructions, which this one lacks' "$TMP/said" || complain "Nehalem: $(cat "$TMP/said")"
else
    echo "note: no qemu-x86_64: an older processor was not tried"
fi
exit $failed
