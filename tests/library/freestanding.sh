# freestanding.sh: --freestanding needs no libc: of the object nothing is undefined but memcpy and its like, and it links alone.
# On a Cortex-M4 (QEMU) char_rnn has the text, the scores and, trained there, the weights of this machine, to the bit.
# compiled: as for users
set -eu
failed=0
complain() { echo "failed: $*"; failed=1; }
cc=${CC:-cc}
here=$PWD/tests/library
free='-ffreestanding -fno-math-errno -Wall -Wextra -Werror -Wno-array-bounds'
fma=''
[ "$(uname -m)" != x86_64 ] || ! grep -qw fma /proc/cpuinfo || fma=-mfma
words='--config tiny --set lr=0.03 --set final_lr=0.003 --set steps=150 --amalgamation --freestanding'
# shellcheck disable=SC2086
"$LATHE" build models/char_rnn.lua $words -o "$TMP/trains" >/dev/null
# shellcheck disable=SC2086
"$LATHE" build models/char_rnn.lua $words --inference -o "$TMP/answers" >/dev/null
cd "$TMP"

# shellcheck disable=SC2086
$cc -O1 $fma $free -c trains/char_rnn.c -o trains.o
# shellcheck disable=SC2086
$cc -O2 $fma $free -c answers/char_rnn.c -o answers.o
for object in trains.o answers.o; do
    undefined=$(nm -u $object | sed 's/.* //' | grep -v -e '^_GLOBAL_OFFSET_TABLE_$' -e '^mem\(cpy\|move\|set\|cmp\)$') && complain "$object needs $undefined"
done
cat >alone.c <<'END'
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n) { for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = ((const char *)from)[i]; return to; }
void *memset(void *to, int value, size_t n) { for (size_t i = 0; i < n; i++) ((volatile char *)to)[i] = (char)value; return to; }
void print(const char *text) { (void)text; }
END
$cc -O1 -ffreestanding -fno-stack-protector -nostdlib -static -Wl,-e,main -I"$TMP/trains" alone.c "$here/freestanding_driver.c" trains.o -o alone ||
    complain "it does not link without libc"

# Words and numbers are those of libc.
$cc -O1 -DHOSTED -Itrains "$here/freestanding_driver.c" trains.o -o trained
./trained >expected || complain "here: $(cat expected)"
grep -q '^bcdefghijkabcdefghijk' expected || complain "it has not learned the alphabet: $(cat expected)"
grep -q '^next: expected a token 0 to 10, found 11$' expected || complain "other words: $(cat expected)"
{
    echo 'static const _Alignas(16) unsigned char weights[] = {'
    od -An -v -tu1 saved | sed 's/\([0-9][0-9]*\)/\1,/g'
    echo '};'
} >weights.h
[ $failed = 0 ] || exit 1

if ! command -v arm-none-eabi-gcc >/dev/null || ! command -v qemu-system-arm >/dev/null; then
    echo "skipped: gcc-arm-none-eabi and qemu-system-arm are not installed; without libc it is as it should be"
    exit 77
fi
on_arm() { # NAME FOLDER FLAGS…
    name=$1 folder=$2
    shift 2
    # shellcheck disable=SC2086
    arm-none-eabi-gcc -O1 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 $free -nostdlib -I. -I"$folder" "$@" \
        -Wl,-T,"$here/freestanding.ld" -Wl,--gc-sections "$here/freestanding_start.c" "$here/freestanding_driver.c" "$folder/char_rnn.c" \
        -lgcc -o "$name.elf" || complain "$name does not link for a Cortex-M4"
    timeout 100 qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel "$name.elf" >"$name.said" 2>&1 || complain "$name: QEMU fails"
    cmp -s expected "$name.said" || complain "$name, on a Cortex-M4: $(cat "$name.said") instead of $(cat expected)"
}
on_arm answers answers -DANSWERS
on_arm trains trains
exit $failed
