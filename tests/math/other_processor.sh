# other_processor.sh: a trainer on a processor that lacks its instructions says so, before it meets one of them: all of
# those of its level of x86-64, by name.
# compiled: as for users
command -v qemu-x86_64 >/dev/null || { echo "skipped: no qemu-x86_64 (apt install qemu-user)"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: an emulator has no room for sanitizers"; exit 77; }
grep -q '^flags.* avx ' /proc/cpuinfo || { echo "skipped: this processor has no AVX to do without"; exit 77; }
# Distributions have compilers that fortify by default: then functions of libc are inline, and not for every processor.
for file in $(grep -l 'ANY_PROCESSOR' -r runtime --include='*.c'); do
    ${CC:-cc} -std=gnu11 -O1 -w -march=native -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Iruntime -c "$file" -o "$TMP/file.o" || { echo "FAILED: $file, fortified"; exit 1; }
done
"$LATHE" build models/mlp.lua -o "$TMP/m" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
"$TMP/m/trainer" info >"$TMP/out" || { echo "FAILED: it does not run where it was built"; exit 1; }

# lacks PROCESSOR NAME: what it says there
lacks() {
    qemu-x86_64 -cpu "$1" "$TMP/m/trainer" info >"$TMP/out" 2>"$TMP/err"
    code=$?
    if [ $code != 1 ] || ! grep -q "built for a processor with $2 instructions" "$TMP/err"; then
        echo "FAILED: exit code $code on $1, without \"$2\":"
        cat "$TMP/err"
        exit 1
    fi
}
lacks qemu64 '.*'
lacks Nehalem 'avx[0-9a-z]*'

# Each of those that the psABI names for level 3; lzcnt would not even be illegal, but another instruction.
# (glibc 2.36's functions for AVX2 take BMI1 to come with it.)
grep -q '^flags.* movbe .* abm .* avx2 ' /proc/cpuinfo || exit 0
for pair in pni:sse3 ssse3:ssse3 sse4.1:sse4.1 sse4.2:sse4.2 popcnt:popcnt cx16:cx16 lahf-lm:sahf avx2:avx2 fma:fma bmi1,-avx2:bmi bmi2:bmi2 f16c:f16c abm:lzcnt movbe:movbe; do
    lacks "max,-${pair%:*}" "${pair#*:}"
done
