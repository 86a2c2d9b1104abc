# files.sh: an instance in a file: the bytes that go to memory, nothing allocated; what cannot be written or read is a code and
# words, and leaves file and instance as they were, whichever call of the system fails.
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
cc=${CC:-cc}
words="--set hidden=400 --set batch=4 --set steps=50"
# shellcheck disable=SC2086
source=$("$LATHE" build models/mlp.lua $words --amalgamation -o "$TMP/mlp")
# shellcheck disable=SC2086
"$LATHE" build models/mlp.lua $words --inference --amalgamation -o "$TMP/answers" >/dev/null
# shellcheck disable=SC2086
"$LATHE" build models/mlp.lua $words --freestanding --amalgamation -o "$TMP/bare" >/dev/null
grep -q '_file(\|_FILE' "$TMP/bare/mlp.h" && complain "--freestanding has files"
grep -q 'save_file\|weights_file\|PATH.part' "$TMP/answers/mlp.h" && complain "--inference saves to files"

wraps=-Wl
for name in malloc calloc realloc mmap open read write lseek fsync close rename; do wraps="$wraps,--wrap=$name"; done
sanitized='-O1 -fsanitize=address'
# shellcheck disable=SC2086
$cc $sanitized -std=c11 -Wall -Wextra -Werror -c "$source" -o "$TMP/mlp.o"
# shellcheck disable=SC2086
$cc $sanitized -w -I"$TMP/mlp" "$TMP/mlp.o" tests/library/files_driver.c -lm $wraps -o "$TMP/driver"
# shellcheck disable=SC2086
$cc -O1 -w -DANSWERS -I"$TMP/answers" "$TMP/answers/mlp.c" tests/library/files_driver.c -lm $wraps -o "$TMP/answers/driver"
mkdir "$TMP/folder"
"$TMP/driver" "$TMP/folder" >"$TMP/said" 2>&1 || complain "$(cat "$TMP/said")"
"$TMP/answers/driver" "$TMP/folder" >"$TMP/said" 2>&1 || complain "--inference: $(cat "$TMP/said")"
exit $failed
