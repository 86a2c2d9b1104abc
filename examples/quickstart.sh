#!/bin/sh
# quickstart.sh: from nothing to a small language model in a few minutes.
#
#   examples/quickstart.sh          trains on the King James Bible (Debian's bible-kjv)
#   examples/quickstart.sh FILE     trains on your own text
#
# Installs the Debian packages that are missing, builds Lathe, compiles models/gpt.lua into a trainer cut to its exact
# shape, trains it for about two minutes on two cores on tokens that are words and parts of words, and prints a sample of
# what it has learned.
set -eu
text=
case ${1:-} in
'') ;;
-*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
*)  text=$(readlink -f -- "$1")
    [ -r "$text" ] || { echo "quickstart.sh: cannot read $1" >&2; exit 3; } ;;
esac
cd "$(dirname "$0")/.."

. tests/setup.sh
need_compiler_packages
need_report_packages
[ -n "$text" ] || need bible bible-kjv
install_wanted
build_lathe lathe

mkdir -p generated
if [ -z "$text" ]; then
    text=$PWD/generated/bible.txt
    bible -f gen1:1-rev22:21 | sed 's/^[^ ]* *//' >"$text"       # "Ge1:1 In the beginning …" without the reference
fi

# Tokens from the part of the text that is trained on: the last tenth is for evaluation.
run=runs/quickstart tokens=generated/quickstart-tokens
head -c $(($(wc -c <"$text") * 9 / 10)) "$text" | build/lathe tokenize train --size 2048 --out $tokens -

build/lathe train models/gpt.lua --config quickstart -o generated/quickstart --data "$text" --tokenizer $tokens --out $run
echo
echo "A sample:"
generated/quickstart/trainer generate --out $run --data "$text"
echo
echo "The trainer and its source are in generated/quickstart, the run in $run; $run/report.html shows it in a browser."
