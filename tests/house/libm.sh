# libm.sh: no exp, log, pow, sin or their kin of the C library, nor long double, where a value becomes part of a run or of a
# program: runtime/math/double.h has functions whose bits do not depend on the library. A few files that only people read may.
failed=0
complain() { echo "failed: $*"; failed=1; }
# Charts, and what a guess would give.
readers='runtime/look/draw.c runtime/trainer/check.c'

words='exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cos|sin|sincos|tan|tanh|sinh|cosh|acos|asin|atan|atan2|acosh|asinh|atanh|hypot|cbrt|erf|erfc|lgamma|tgamma'
bad="(^|[^A-Za-z0-9_.>])(($words)[fl]?\\(|long double|strtold|__float128|(float|double)_t[^A-Za-z0-9_])"

# calls FILE…: "file function" of each, comments and strings left out.
calls() {
    for file in $(grep -lE "$bad" "$@"); do
        gcc -fpreprocessed -dD -E -P "$file" 2>/dev/null | sed 's/"\([^"\\]\|\\.\)*"//g' | grep -oE "$bad" | sed "s|^|$file |"
    done
}

# shellcheck disable=SC2046  # names without blanks
calls $(find runtime compiler -name '*.[ch]' -o -name '*.def' | sort) | sort -u >"$TMP/calls"
for file in $readers; do
    grep -q "^$file " "$TMP/calls" || complain "$file calls none, and need not be excepted"
    grep -v "^$file " "$TMP/calls" >"$TMP/rest"
    mv "$TMP/rest" "$TMP/calls"
done
# What Lua calls for x ^ y, and an instruction of a GPU.
grep -v -e '^compiler/front/arithmetic.c .*pow($' -e '^runtime/math/quick.h .*exp2f($' "$TMP/calls" >"$TMP/rest"
[ ! -s "$TMP/rest" ] || complain "the C library's bits come into results; runtime/math/double.h has (name)_f64: $(cat "$TMP/rest")"

printf '/* exp(x) */\nfloat f(float x) { return 2*sinf(x) + s.log(x) + exp_f64(x); }\nlong double g(double x, const char *s) { return s == "cos(x)"; }\n' >"$TMP/bad.c"
[ "$(calls "$TMP/bad.c" | wc -l)" = 2 ] || complain "nobody minds sinf() or long double: $(calls "$TMP/bad.c")"
exit $failed
