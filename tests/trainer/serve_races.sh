# serve_races.sh: the threads of `trainer serve` under ThreadSanitizer, with clients that leave before an answer begins and
# when it ends: those who answer wait there, so that the others come first.  Then the same with a lock taken out of a copy:
# that must be reported.
top=$PWD
. tests/trainer/common
lathe=${LATHE:-$BUILD/lathe} cc=${CC:-cc}
[ -x "$lathe" ] || { echo "skipped: $lathe is not built"; exit 77; }
needs_server
echo 'int main(void) { return 0; }' >try.c
"$cc" -fsanitize=thread try.c -o try 2>err && ./try 2>err || { echo "skipped: programs with ThreadSanitizer do not build or run here"; exit 77; }
server=
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT

# One thread computes: gcc's OpenMP is not instrumented, and what its threads share would be reported.
export OMP_NUM_THREADS=1 TSAN_OPTIONS=exitcode=66:ignore_noninstrumented_modules=1
cat >late.c <<'END'
#include "trainer/shown.h"
#include "text/generate.h"
#include <unistd.h>
Text_written __real_text_written(const Tokenizer *k, const Written *w);
Text_written __wrap_text_written(const Tokenizer *k, const Written *w) { return usleep(300000), __real_text_written(k, w); }
void __real_take_asked(Text_writer *w, const Asked_text *a, Ids *to);
void __wrap_take_asked(Text_writer *w, const Asked_text *a, Ids *to) { usleep(300000), __real_take_asked(w, a, to); }
END
works "$lathe" build "$top/models/gpt.lua" --set layers=1 --set width=32 --set heads=2 --set seq=32 --set vocab=256 --set tokenizer=bytes \
    --set slots=2 --source -o small
mkdir objects
defines=$(sed -n 's/^LATHE_WITH/-D&/p' "$BUILD/definitions" | tr '\n' ' ')
flags="-g -O1 -std=gnu11 -w -fopenmp -fsanitize=thread -I$top/runtime $(pkg-config --cflags jansson)"

# What these threads share is in these files; the rest is the runtime as it is.
# shellcheck disable=SC2086
for source in "$top"/runtime/serve/*.c "$top/runtime/trainer/serve.c" "$top/runtime/text/slots.c"; do
    "$cc" $flags $defines -c "$source" -o "objects/$(basename "$source" .c)-$(basename "$(dirname "$source")").o" || wrong "$source"
done

# link TO: of objects/
link() {
    # shellcheck disable=SC2086
    "$cc" $flags -fno-strict-aliasing -Wl,--wrap=text_written,--wrap=take_asked late.c small/model.c objects/*.o "$BUILD/liblathe_rt.a" \
        -ljansson -lpcre2-8 -lzstd -ljpeg -lpng -lz -lm -ldl -o "$1"
}

# leave TRAINER: clients that leave; sets code, the server's
leave() {
    rm -f address
    "./$1" serve --weights run --port 0 >address 2>log &
    server=$!
    for i in $(seq 100); do [ -s address ] && break; sleep 0.1; done
    port=$(sed 's|.*:\([0-9]*\)/v1|\1|' address)
    echo '{"prompt": "a", "max_tokens": 3, "stream": true}' >stream
    echo '{"prompt": "a", "max_tokens": 3}' >whole
    for i in 1 2 3; do
        timeout 20 ./client "$port" leave /v1/completions stream 2>err &
        one=$!
        timeout 0.1 ./client "$port" POST /v1/completions whole >out 2>err
        timeout 20 ./client "$port" POST /v1/completions whole >out 2>err
        wait $one
    done
    says '"finish_reason"' out
    kill -TERM $server
    wait $server
    code=$?
    server=
}

link trainer || wrong "the trainer does not link"
seq 500 >text.txt
works ./trainer train --data text.txt --steps 2 --out run
leave trainer
[ $code != 66 ] && ok 'no race' || { wrong 'a race'; head -n 40 log; }
says '(left)' log
sed '/^void job_counts/,/^}/ { /pthread_mutex/d }' "$top/runtime/serve/jobs.c" >jobs.c
# shellcheck disable=SC2086
"$cc" $flags $defines -c jobs.c -o objects/jobs-serve.o && link racing || wrong "the copy does not build"
for try in 1 2 3 4 5 6 7 8 9 10; do # it is reported two times in three: other locks may order the two by chance
    leave racing
    [ $code != 66 ] || break
done
[ $code = 66 ] && says 'data race' log || wrong "a planted race was not found"
finish
