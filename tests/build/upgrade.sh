# upgrade.sh: what is kept of a build is that of one compiler: after an upgrade in the same place, by what it says of itself or by
# its file, trainers, libraries and the kept runtime of another level are compiled again, and otherwise they are not.
set -u
[ "$(uname -m)" = x86_64 ] || { echo "skipped: --for names levels of x86-64"; exit 77; }
failed=0
# A compiler that makes empty files, and notes what it makes.
cat >"$TMP/cc" <<EOF
#!/bin/sh
[ "\$1" != --version ] || exec cat "$TMP/version"
while [ "\$1" != -o ]; do shift; done
: >"\$2" && chmod +x "\$2" && echo "\$2" >>"$TMP/made"
EOF
chmod +x "$TMP/cc"
echo 'cc 12.2.0' >"$TMP/version"
cp -r runtime "$TMP/runtime" # without a build beside it, whose kept objects would be these
: >"$TMP/runtime/liblathe_rt.a"
cp "${BUILD:-build}/library.c" "$TMP/runtime"
export CC="$TMP/cc" LATHE_RUNTIME="$TMP/runtime" LATHE_CACHE="$TMP/cache"

# makes WHEN LEAST MOST PLACE OPTIONS…: how many files the compiler makes
makes() {
    when=$1 least=$2 most=$3 place=$4
    shift 4
    : >"$TMP/made"
    "$LATHE" build models/mlp.lua "$@" -o "$TMP/$place" >"$TMP/log" 2>&1 || { echo "failed: $place: $(cat "$TMP/log")"; failed=1; }
    n=$(wc -l <"$TMP/made")
    [ "$n" -ge "$least" ] && [ "$n" -le "$most" ] || { echo "failed: $when, $place: $n files were made, not $least to $most"; failed=1; }
}
all() { # WHEN: 1: all is made; 0: nothing
    makes "$1" "$2" "$2" trainer
    makes "$1" $((2 * $2)) $((2 * $2)) library --library # and its .so
    makes "$1" $((100 * $2)) $((999 * $2)) level --for x86-64-v3
}
all "at first" 1
all "a second time" 0
echo 'cc 12.3.0' >"$TMP/version"
all "after an upgrade" 1
touch -d '2001-01-01' "$TMP/cc"
makes "another build of that version" 1 1 trainer
makes "another build of that version" 100 999 level --for x86-64-v3
exit $failed
