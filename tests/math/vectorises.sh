# vectorises.sh: loops that call math/math.h's float functions must become vector code without calls, with the compiler and the
# flags of generated programs.
# compiled: as for users
cc=${CC:-gcc}
if ! $cc --version 2>/dev/null | grep -qi 'gcc\|free software'; then
    echo "needs gcc"
    exit 77
fi
grep -q -w avx2 /proc/cpuinfo || { echo "needs a CPU with AVX2"; exit 77; }

flags="-std=gnu11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -Iruntime"
{
    echo '#include "math/math.h"'
    for name in exp expm1 log sqrt rsqrt sin cos tanh erf abs sign floor; do
        echo "void $name(float *restrict y, const float *restrict x, int n) { for (int i = 0; i < n; i++) y[i] = ${name}_f32(x[i]); }"
    done
    for name in max min pow; do
        echo "void $name(float *restrict y, const float *restrict x, const float *restrict z, int n)" \
            "{ for (int i = 0; i < n; i++) y[i] = ${name}_f32(x[i], z[i]); }"
    done
    echo "void philox(float *restrict y, int row, int n) { for (int i = 0; i < n; i++) y[i] = u01_f32(philox_word(1, 2, 3, row, i)); }"
    echo "void in_rows(int *y, int row, int n) { philox_row(y, n, 1, 2, 3, row, 0); }"
    echo "void mod(int *restrict y, const int *restrict x, int n) { for (int i = 0; i < n; i++) y[i] = mod_i32(x[i], 12) + idiv_i32(x[i], 7); }"
} | sed 's/^void \([a-z0-9]*\)/void loop_\1/' >"$TMP/loops.c"

$cc $flags -fopt-info-vec -c "$TMP/loops.c" -o "$TMP/loops.o" 2>"$TMP/said" || { cat "$TMP/said"; exit 1; }
failed=0
line=1
while read -r text; do
    case $text in
    'void loop_in_rows('*) grep -q "philox.h.*loop vectorized" "$TMP/said" || { echo "not vectorised: philox_row()"; failed=1; } ;;
    void*) grep -q "loops.c:$line:.*loop vectorized" "$TMP/said" || { echo "not vectorised: $text"; failed=1; } ;;
    esac
    line=$((line + 1))
done <"$TMP/loops.c"
calls=$(nm -u "$TMP/loops.o")
[ -z "$calls" ] || { echo "calls: $calls"; failed=1; }
exit $failed
