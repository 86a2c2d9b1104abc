# trainer_nvcc.sh: `lathe build --target cuda` where nvcc is: a trainer of real libraries, which says that there is no GPU here, or runs;
# built again only where something has changed.  Where it is not, what is told.  LATHE_LONG: a bundle, built by cmake.
set -eu
. tests/models/common

found=0
NVCC=/nowhere/nvcc "$LATHE" build models/mlp.lua --target cuda -o "$TMP/none" >"$TMP/said" 2>&1 || found=$?
[ "$found" = 1 ] && grep -q 'NVCC=/nowhere/nvcc: there is no such command; the source is in' "$TMP/said" || tell "exit code $found without nvcc"
[ -e "$TMP/none/model.cu" ] && [ -e "$TMP/none/tables.c" ] || tell "no source without nvcc"
"$LATHE" plan models/mlp.lua --target cuda >"$TMP/said" 2>&1 || tell "no plan"
for word in 'on the GPU: ' '  step  ' '  workspace  ' 'on the host: ' '  pinned  '; do grep -q -- "$word" "$TMP/said" || tell "the plan lacks \"$word\""; done

command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || { echo "nvcc is not here: no trainer was linked"; exit 77; }
case $BUILD in build-*) echo "with sanitizers: nvcc has none"; exit 77 ;; esac
LATHE_CUDA_ARCH=90
export LATHE_CUDA_ARCH
build() { "$LATHE" build models/mlp.lua --target cuda -o "$TMP/mlp" >"$TMP/said" 2>&1 || tell "lathe build"; }
build
trainer=$TMP/mlp/trainer
[ "$(tail -n 1 "$TMP/said")" = "$trainer" ] || tell "it does not print the trainer's path"
"$trainer" info >"$TMP/said" 2>&1 || tell "info"
! readelf -d "$trainer" 2>/dev/null | grep NEEDED >"$TMP/said" || ! grep -i cublas "$TMP/said" || tell "it does not start without cuBLASLt"
"$trainer" init --out "$TMP/w.safetensors" >"$TMP/said" 2>&1 || tell "init, for which no GPU is needed"
found=0
"$trainer" bench --steps 2 >"$TMP/said" 2>&1 || found=$?
if [ "$found" = 0 ]; then
    echo "note: there is a GPU: $(head -n 1 "$TMP/said")"
else
    [ "$found" = 1 ] && grep -q 'this trainer is for a GPU, and there is none here\|the driver here is for CUDA' "$TMP/said" || tell "exit code $found without a GPU"
fi
touch "$TMP/then"
sleep 0.01
build
[ -z "$(find "$TMP/mlp" -newer "$TMP/then" \( -name '*.o' -o -name trainer \))" ] || tell "it is built again"
echo "a comment that is no C" >>"$TMP/mlp/tables.c"      # lathe writes its own again
build
LATHE_CUDA_ARCH=x "$LATHE" build models/mlp.lua --target cuda -o "$TMP/mlp" >"$TMP/said" 2>&1 && tell "LATHE_CUDA_ARCH=x was taken"
grep -q 'LATHE_CUDA_ARCH=x: expected a number' "$TMP/said" || tell "LATHE_CUDA_ARCH=x"

[ -n "${LATHE_LONG:-}" ] || exit 0
"$LATHE" build models/mlp.lua --target cuda --source --bundle -o "$TMP/made" >"$TMP/said" 2>&1 || tell "--bundle"
mv "$TMP/made" "$TMP/away"
(cd "$TMP/away" && cmake -DCMAKE_CUDA_ARCHITECTURES=90 -S . -B build && cmake --build build --parallel 2) >"$TMP/said" 2>&1 || tell "the bundle does not build"
"$TMP/away/build/trainer" init --out "$TMP/v.safetensors" >"$TMP/said" 2>&1 || tell "the bundle's trainer"
readelf -d "$TMP/away/build/trainer" >"$TMP/said" && grep -q 'R.*PATH.*cuda' "$TMP/said" && ! grep -i 'NEEDED.*cublas' "$TMP/said" ||
    tell "where the bundle's trainer looks for cuBLASLt"
cmp "$TMP/w.safetensors" "$TMP/v.safetensors"
