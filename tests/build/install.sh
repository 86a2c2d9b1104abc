# install.sh: `cmake --install` writes a tree that works wherever it is moved, with blanks in its path, without HOME and without
# being written to: it begins, plans and builds a model as the build does; files of another version, or what is missing, is a message.
# compiled: as for users
set -u
BUILD=${BUILD:-build}
failed=0
complain() { echo "failed: $*"; failed=1; }
stop() { echo "failed: $*"; cat "$TMP/log"; exit 1; }
grep -q 'LATHE_SANITIZE:[A-Z]*=\(OFF\)\?$' "$BUILD/CMakeCache.txt" || { echo "skipped: not for sanitizers"; exit 77; }

DESTDIR="$TMP/staged here" cmake --install "$BUILD" --prefix "/opt/my lathe" >"$TMP/log" 2>&1 || stop 'cmake --install'
mv "$TMP/staged here/opt/my lathe" "$TMP/moved away"
prefix="$TMP/moved away" lathe="$TMP/moved away/bin/lathe"
files() { (cd "$prefix" && find . -type f -exec cksum {} +) | sort; }
files >"$TMP/before"

# refuse CODE PATTERN COMMAND…
refuse() {
    wanted=$1 pattern=$2
    shift 2
    "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
    code=$?
    if [ $code != "$wanted" ] || ! grep -Eq -- "$pattern" "$TMP/err" || [ "$(wc -l <"$TMP/err")" -gt 6 ]; then
        complain "$*: exit code $code, not $wanted; or no \"$pattern\" in: $(cat "$TMP/err")"
    fi
}

version=$(sed -n 's/^#define LATHE_VERSION "\(.*\)"/\1/p' runtime/interface/version.h)
"$lathe" --version >"$TMP/version" || complain '--version'
grep -Eq "^lathe $version(, commit [0-9a-f]{12}(-dirty)?)?\$" "$TMP/version" || complain "another version: $(cat "$TMP/version")"

# A project, a plan, a trainer and a library, of a prefix that is only read.
alone() { (cd "$TMP" && env -i PATH="$PATH" "$@") >"$TMP/log" 2>&1 || stop "$*"; }
alone "$lathe" new my --from numbers
grep -q '"stubs"' "$TMP/my/.luarc.json" && grep -q '^function nn.linear' "$TMP/my/stubs/lathe.lua" || complain "my has nothing for editors"
grep -q '^---@overload fun(x: lathe.Tensor, x2: .*, given?: nn.attention.options)' "$TMP/my/stubs/lathe.lua" || complain "editors do not know a layer with two inputs"
alone "$lathe" plan my/model.lua
alone "$lathe" build my/model.lua --set hidden=8 -o program
alone ./program/trainer bench --steps 2
alone "$lathe" build my/model.lua --set hidden=8 --amalgamation -o installed
alone "$(cd "$(dirname "$LATHE")" && pwd)/lathe" build my/model.lua --set hidden=8 --amalgamation -o built
cmp -s "$TMP/installed/model.c" "$TMP/built/model.c" || complain "installed, it writes another library"
files | cmp -s - "$TMP/before" || complain "the prefix was written to"

# What a machine may lack.
refuse 1 'no C compiler.*|apt install gcc' env PATH=/nonexistent "$lathe" build "$TMP/my/model.lua" -o "$TMP/a"
refuse 1 '/proc/nothing' "$lathe" build "$TMP/my/model.lua" -o /proc/nothing
refuse 3 '/proc/nothing' "$lathe" new /proc/nothing --from numbers
refuse 2 'did you mean tabular' "$lathe" new "$TMP/other" --from tabuler

# Files of another version.
share="$prefix/share/lathe/runtime" lib="$prefix/lib/lathe"
cp "$share/lathe_rt.h" "$TMP/kept.h"
echo '/* of another version */' >>"$share/lathe_rt.h"
refuse 1 'share/lathe/runtime: of another version than lathe' "$lathe" build "$TMP/my/model.lua" -o "$TMP/program"
"$lathe" doctor --out "$TMP/run" >"$TMP/out" 2>&1
grep -q '^BAD runtime .*another version' "$TMP/out" || complain "the doctor sees no other version"
mv "$TMP/kept.h" "$share/lathe_rt.h"
mv "$lib/library.c" "$TMP/kept.c" && sed 1d "$TMP/kept.c" >"$lib/library.c"
refuse 1 'library.c: of another version than lathe' "$lathe" build "$TMP/my/model.lua" --amalgamation -o "$TMP/b"
rm "$lib/library.c"
refuse 1 'library.c: No such file' "$lathe" build "$TMP/my/model.lua" --amalgamation -o "$TMP/b"
mv "$TMP/kept.c" "$lib/library.c"
: >"$lib/liblathe_rt.a"
refuse 1 'liblathe_rt.a: of another version than lathe' "$lathe" build "$TMP/my/model.lua" -o "$TMP/c"
rm -r "$lib"
refuse 1 'liblathe_rt.a: No such file' "$lathe" build "$TMP/my/model.lua" -o "$TMP/c"
refuse 1 'lib/lathe/lathe-data: No such file' "$lathe" new "$TMP/other" --from numbers

exit $failed
