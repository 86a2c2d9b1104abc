# package.sh: the package lathe and the wheel of a model: installed by pip without a compiler, refused by its tag elsewhere; what its
# objects do with NumPy, and with PyTorch where it is.
# compiled: as for users
python=${PYTHON:-python3}
$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "skipped: no python3 of 3.11 or later"; exit 77; }
$python -c 'import numpy' 2>/dev/null || { echo "skipped: no NumPy (python3-numpy)"; exit 77; }
$python -m pip --version >/dev/null 2>&1 || { echo "skipped: no pip (python3-pip)"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "${BUILD:-build}/CMakeCache.txt" || { echo "skipped: Python is not built with sanitizers"; exit 77; }
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
export CFLAGS=-O1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# The compiler's own, which finds lathe and the runtime where it is installed.
unset LATHE
$python -m pip wheel -q --no-index --no-deps --no-build-isolation -w "$TMP/wheels" compiler/python >"$TMP/said" 2>&1 || complain "$(cat "$TMP/said")"
$python -m pip install -q --no-index --no-deps --target "$TMP/compiler" "$TMP"/wheels/lathe-*.whl >"$TMP/said" 2>&1 || complain "$(cat "$TMP/said")"
PYTHONPATH="$TMP/compiler"
export PYTHONPATH
"$TMP/compiler/bin/lathe" check models/mlp.lua >"$TMP/said" 2>&1 || complain "$(cat "$TMP/said")"

wheel=$($python -m lathe wheel examples/digits/digits.lua --name digits_of_test -o "$TMP/wheels")
case $wheel in
*/digits_of_test-1.0-cp311-abi3-manylinux_2_[0-9]*_"$(uname -m)".whl | */digits_of_test-1.0-cp311-abi3-linux_"$(uname -m)".whl) ;;
*) complain "the wheel is called $wheel" ;;
esac
install() { $python -m pip install -q --no-index --no-deps --target "$TMP/installed" "$1" >"$TMP/said" 2>&1; }
other="$TMP/digits_of_test-1.0-cp311-abi3-musllinux_1_1_$(uname -m).whl"
cp "$wheel" "$other"
! install "$other" || complain "a wheel of another libc is installed"
grep -q 'not a supported wheel' "$TMP/said" || complain "another libc: $(cat "$TMP/said")"
install "$wheel" || complain "$(cat "$TMP/said")"
mkdir "$TMP/nothing"
program=$($python -c 'import sys; print(sys.executable)')

# Weights of this very model.
wheel_with() { CFLAGS=-O0 $python -m lathe wheel examples/digits/digits.lua --set hidden=8 --weights "$1" -o "$TMP/wheels" >"$TMP/said" 2>&1; }
PYTHONPATH="$TMP/installed:$TMP/compiler" "$program" -c 'import sys, digits_of_test as d; d.open().save(sys.argv[1], weights=True)' "$TMP/larger"
! wheel_with "$TMP/larger" || complain "a wheel with another model's weights"
grep -q "error: --weights $TMP/larger: tensor first.weight: expected 8 in axis 0, found 256" "$TMP/said" || complain "$(cat "$TMP/said")"
! wheel_with "$TMP/none" || complain "a wheel with weights that are not there"
grep -q "error: --weights $TMP/none: No such file" "$TMP/said" || complain "$(cat "$TMP/said")"
PATH="$TMP/nothing" PYTHONPATH="$TMP/installed" "$program" -c 'import digits_of_test as d; print(d.open())' >"$TMP/said" 2>&1 || complain "without a compiler: $(cat "$TMP/said")"
! PATH="$TMP/nothing" "$program" -m lathe wheel models/mlp.lua -o "$TMP/wheels" >"$TMP/said" 2>&1 || complain "there is no compiler"
grep -q 'no C compiler: looked for cc, gcc and clang' "$TMP/said" || complain "$(cat "$TMP/said")"

trainer=$("$TMP/compiler/bin/lathe" build models/char_rnn.lua --set tokenizer=bytes --set vocab=256 --set hidden=16 --set width=8 --set seq=8 --set batch=2 -o "$TMP/trainer")
PYTHONPATH="$TMP/compiler:$TMP/installed" $python tests/python/package.py "$TMP" "$TMP/cache" "$trainer" >"$TMP/said" 2>&1 || complain "package.py: $(cat "$TMP/said")"
grep '^note' "$TMP/said" || true
# What the page shows first, in a folder like the top one.
mkdir "$TMP/page"
ln -s "$PWD/examples" "$TMP/page/examples"
awk '/^```python/ { on = !n++; next } /^```/ { on = 0 } on' examples/python.md >"$TMP/page/first.py"
(cd "$TMP/page" && PYTHONPATH="$TMP/compiler" XDG_CACHE_HOME="$TMP/cache" $python first.py) >"$TMP/said" 2>&1 || complain "python.md: $(cat "$TMP/said")"
awk 'END { exit !($1 > 0.9) }' "$TMP/said" || complain "python.md learns nothing: $(cat "$TMP/said")"
if $python -m mypy --version >/dev/null 2>&1; then
    $python -m mypy --strict --cache-dir "$TMP/mypy" tests/python/typed.py >"$TMP/said" 2>&1 || complain "mypy: $(cat "$TMP/said")"
else
    echo 'note: no mypy: types were not checked'
fi
XDG_CACHE_HOME="$TMP/cache" $python tests/python/notebook.py examples/digits/digits.ipynb >"$TMP/said" 2>&1 ||
    complain "digits.ipynb: $(cat "$TMP/said")"
exit $failed
