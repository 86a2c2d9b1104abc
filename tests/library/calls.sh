# calls.sh: what a caller can do wrong is a code and words, and leaves the instance whole; a thousand instances; nothing is
# allocated after open, and handlers, locale, folder, output and threads are as before.  With sanitizers of addresses and of
# threads.
# compiled: as for users
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
cc=${CC:-cc}
words="--set hidden=8 --set batch=4 --set steps=50"
# shellcheck disable=SC2086
source=$("$LATHE" build models/mlp.lua $words --amalgamation -o "$TMP/mlp")
# shellcheck disable=SC2086
"$LATHE" build models/mlp.lua $words --inference --amalgamation -o "$TMP/answers" >/dev/null

tried() { # NAME FLAGS…
    name=$1
    shift
    $cc -w "$@" -g -I"$TMP/mlp" "$source" tests/library/calls_driver.c -lm -lpthread -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap \
        -o "$TMP/$name" -x none || complain "$name does not compile"
    "$TMP/$name" >"$TMP/said" 2>&1 || complain "$name: $(cat "$TMP/said")"
}
# gomp.c takes the place of libgomp: objects are compiled with -fopenmp and linked without.
$cc -w -O0 -fopenmp -g -I"$TMP/mlp" -c "$source" -o "$TMP/mlp.o"
source="$TMP/mlp.o"
tried plain -O1
source="$TMP/mlp/mlp.c"
tried addresses -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
$cc -w -O1 -fopenmp -fsanitize=thread -g -I"$TMP/mlp" -c "$source" -o "$TMP/mlp.o"
source="$TMP/mlp.o"
tried threads -O1 -fsanitize=thread

# libc and libm are all that it includes.
grep "^#include <" "$TMP/mlp/mlp.c" | grep -v -e pthread -e signal -e stdatomic -e unistd -e fcntl -e sys/types -e sys/stat -e errno -e omp.h -e immintrin -e arm_neon -e "<\(assert\|limits\|math\|stdarg\|stdbool\|stddef\|stdint\|stdio\|stdlib\|string\).h>" && complain "it includes more than libc has"

# A library that only answers has no step, and takes what one that trains has saved.
grep -q mlp_step "$TMP/answers/mlp.h" && complain "--inference has a step"
$cc -w -O0 -DANSWERS -I"$TMP/answers" "$TMP/answers/mlp.c" tests/library/calls_driver.c -lm -lpthread -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap -o "$TMP/answers/tried" || complain "--inference does not compile"
"$TMP/plain" save "$TMP/saved" || complain "nothing was saved"
"$TMP/answers/tried" load "$TMP/saved" >"$TMP/said" 2>&1 || complain "--inference: $(cat "$TMP/said")"

# Whatever the file is called, and whatever its sizes are; in one file of a build with warnings, and from C++.
mkdir "$TMP/named"
taken() { # NAME SIZE
    sed "s/readings = 8/$2 = 8/; s/\"readings\"/\"$2\"/; s/c.readings/c.$2/" examples/sensor/sensor.lua >"$TMP/named/$1.lua"
    file=$("$LATHE" build "$TMP/named/$1.lua" --amalgamation -o "$TMP/named/$1") && $cc -fsyntax-only -Wall -Wextra -Werror "$file" ||
        complain "$1.lua with the size $2 makes no library"
}
taken MLP channels
taken _my rows
taken 2nets cells
taken call ahead
taken E first_loss_scale
taken weight block_words
printf '#include "MLP.h"\nint main() { return MLP_bytes(nullptr) > 0 ? 0 : 1; }\n' >"$TMP/named/one.cpp"
! command -v g++ >/dev/null || g++ -fsyntax-only -Wall -Wextra -Werror -I"$TMP/named/MLP" "$TMP/named/one.cpp" || complain "C++ refuses the header"

# What cannot be a library is refused.
refused() { # OPTIONS WORDS
    # shellcheck disable=SC2086
    "$LATHE" build models/gpt.lua --config char --library $1 -o "$TMP/none" >"$TMP/said" 2>&1 && complain "$1 is taken"
    grep -q -- "$2" "$TMP/said" || complain "$1: $(cat "$TMP/said")"
}
cp examples/sensor/sensor.lua "$TMP/named/sin.lua"
"$LATHE" build "$TMP/named/sin.lua" --amalgamation -o "$TMP/none" >"$TMP/said" 2>&1 && complain "a library is called sin"
grep -q "copy .* to another name" "$TMP/said" || complain "sin.lua: $(cat "$TMP/said")"
refused "--target cuda" "processors"
refused "--lora rank=2" "--lora"
refused "--parameters q8_0" "8 or 4 bits"
for both in "--library --amalgamation" "--library --python"; do
    # shellcheck disable=SC2086
    "$LATHE" build models/mlp.lua $both -o "$TMP/none" >"$TMP/said" 2>&1 && complain "$both is taken"
    grep -q "give one of --library" "$TMP/said" || complain "$both: $(cat "$TMP/said")"
done
"$LATHE" build models/mlp.lua --inference -o "$TMP/none" >"$TMP/said" 2>&1 && complain "--inference makes a trainer"
"$LATHE" train models/mlp.lua --library >"$TMP/said" 2>&1 && complain "train makes a library"
grep -q "is for build" "$TMP/said" || complain "train --library: $(cat "$TMP/said")"
exit $failed
