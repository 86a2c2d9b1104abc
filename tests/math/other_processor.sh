# other_processor.sh: a trainer on a processor that lacks its instructions says so, before it meets one of them.
# compiled: as for users
command -v qemu-x86_64 >/dev/null || { echo "skipped: no qemu-x86_64 (apt install qemu-user)"; exit 77; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: an emulator has no room for sanitizers"; exit 77; }
grep -q '^flags.* avx ' /proc/cpuinfo || { echo "skipped: this processor has no AVX to do without"; exit 77; }
"$LATHE" build models/mlp.lua -o "$TMP/m" >"$TMP/log" 2>&1 || { cat "$TMP/log"; exit 1; }
"$TMP/m/trainer" info >"$TMP/out" || { echo "FAILED: it does not run where it was built"; exit 1; }
for processor in Nehalem qemu64; do
    qemu-x86_64 -cpu $processor "$TMP/m/trainer" info >"$TMP/out" 2>"$TMP/err"
    code=$?
    if [ $code != 1 ] || ! grep -q 'built for a processor with .* instructions' "$TMP/err"; then
        echo "FAILED: exit code $code on $processor:"
        cat "$TMP/err"
        exit 1
    fi
done
