# gemm_floor.sh: the bench's floor does the products it says: each right in each way, and as many as the formula has.
# compiled: as for users
set -eu
cc=${CC:-cc}
library=$(find /usr/lib -path '*openblas-openmp/libopenblas.so.0' | head -n 1)
[ -n "$library" ] || { echo "skipped: no OpenBLAS under /usr/lib"; exit 77; }
$cc -std=gnu11 -O2 -Wall -Wextra -Werror -fopenmp tests/bench/gemm_floor.c -o "$TMP/floor" -ldl

floor() { "$TMP/floor" "$library" --threads 2 "$@"; }

plain="--layers 2 --heads 3 --kv-heads 3 --width 48 --hidden 80 --up 1 --seq 20 --batch 2 --vocab 37 --passes 1"
grouped="--layers 3 --heads 4 --kv-heads 2 --width 64 --hidden 96 --up 2 --seq 17 --batch 3 --vocab 50 --passes 1"
floor $plain --check
floor $plain --in-out --check
floor $grouped --check
if floor $plain --heads 5 2>/dev/null; then echo "5 heads in a width of 48"; exit 1; fi

# 6 x rows x weights of all matrices, and 6 products of 2 seq^2 width for each sequence and layer.
flops() { sed 's/{"flops": \([0-9]*\),.*/\1/'; }
[ "$(floor $plain | flops)" = $((6 * 40 * (2 * (48 * 144 + 48 * 48 + 2 * 48 * 80) + 48 * 37) + 12 * 2 * 2 * 20 * 20 * 48)) ]
[ "$(floor $grouped | flops)" = $((6 * 51 * (3 * (64 * 128 + 64 * 64 + 3 * 64 * 96) + 64 * 50) + 12 * 3 * 3 * 17 * 17 * 64)) ]
