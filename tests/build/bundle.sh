# bundle.sh: a folder of `lathe build --bundle`, copied away, is built by cmake and a C compiler alone, and
# trains to the same bits as the trainer that Lathe built.
# compiled: as for users
set -u
failures=0
wrong() { echo "failed: $*"; failures=$((failures + 1)); }
stop() { cat "$TMP/log"; echo "failed: $*"; exit 1; }

"$LATHE" build models/gpt.lua --config char --set layers=2 --bundle -o "$TMP/made" >"$TMP/log" 2>&1 || stop 'lathe build --bundle'
mkdir "$TMP/away" "$TMP/tools"
cp -r "$TMP/made" "$TMP/away/folder"
rm -f "$TMP/away/folder/trainer" "$TMP/away/folder/.built"

# Nothing but these is there to be called.
for tool in cmake cc gcc make ninja as ld ar ranlib nm sh; do
    path=$(command -v $tool) && ln -s "$path" "$TMP/tools/$tool"
done
generator='Unix Makefiles'
[ -e "$TMP/tools/make" ] || generator=Ninja
alone() { (cd "$TMP/away/folder" && env -i PATH="$TMP/tools" "$TMP/tools/cmake" "$@") >"$TMP/log" 2>&1; }
alone -G "$generator" -S . -B build || stop 'cmake'
alone --build build --parallel 2 || stop 'cmake --build'
grep -i 'warning:' "$TMP/log" && wrong 'the bundle builds with warnings'
case $(ldd "$TMP/away/folder/build/trainer") in
*blas*) wrong 'it links a BLAS' ;;
*"$PWD"*) wrong "it links what lies in $PWD" ;;
esac
! grep -q "$PWD" "$TMP/away/folder/build/Makefile" "$TMP/away/folder/build/build.ninja" 2>/dev/null || wrong "its build looks into $PWD"

# The same text, each time.
awk 'BEGIN { for (i = 0; i < 4000; i++) { x = (x * 1103515245 + 12345) % 2147483648; printf "%c", 97 + int(x / 65536) % 26 } }' >"$TMP/text"
for trainer in made/trainer away/folder/build/trainer; do
    name=${trainer%%/*}
    "$TMP/$trainer" init --seed 5 --out "$TMP/$name.init" >"$TMP/log" 2>&1 &&
        "$TMP/$trainer" train --data "$TMP/text" --seed 5 --steps 4 --set eval_every=2 --out "$TMP/$name.run" >"$TMP/log" 2>&1 ||
        stop "$trainer does not run"
done
cmp "$TMP/made.init" "$TMP/away.init" || wrong 'trainer init gives other bytes'
cmp "$TMP/made.run/model.safetensors" "$TMP/away.run/model.safetensors" || wrong 'training gives other bytes'

# What is missing or in the way is said.
"$LATHE" build models/gpt.lua --config char --set layers=2 -o "$TMP/bare" >"$TMP/log" 2>&1 || stop 'lathe build'
cmake -S "$TMP/bare" -B "$TMP/bare/build" >"$TMP/log" 2>&1 && wrong 'cmake takes a folder without the runtime'
grep -q 'no runtime in' "$TMP/log" || { cat "$TMP/log"; wrong 'no word about the missing runtime'; }
: >"$TMP/made/runtime/mine.c"
"$LATHE" build models/gpt.lua --config char --set layers=2 --bundle -o "$TMP/made" >"$TMP/log" 2>&1 && wrong 'mine.c is taken for runtime'
grep -q 'mine.c is no file of this' "$TMP/log" || { cat "$TMP/log"; wrong 'no word about mine.c'; }
[ -e "$TMP/made/runtime/mine.c" ] || wrong 'mine.c is gone'
[ "$failures" = 0 ]
