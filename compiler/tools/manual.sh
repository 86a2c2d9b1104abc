#!/bin/sh
# manual.sh: man pages and completions for bash, zsh and fish, made of the help of the programs of a build (runtime/base/help.h).
#
#     manual.sh BUILD OUT     OUT/man/man1, OUT/bash-completion/completions, OUT/zsh/site-functions, OUT/fish/vendor_completions.d
set -eu
here=$(dirname "$0")
build=$1 out=$2
mkdir -p "$out/man/man1" "$out/bash-completion/completions" "$out/zsh/site-functions" "$out/fish/vendor_completions.d"
tab=$(printf '\t')

# tables PROGRAM: of its own help, and of each of its commands; a command's commands are the first word of its arguments.
tables() {
    "$1" --help=table >"$out/commands"
    cat "$out/commands"
    while IFS="$tab" read -r row command arguments _; do
        [ "$row" = command ] || continue
        case $command in help | version) continue ;; esac
        below=${arguments%% *}
        case $below in "" | *[!a-z\|]*) "$1" "$command" --help=table ;;
        *) for one in $(echo "$below" | tr '|' ' '); do "$1" "$command" "$one" --help=table; done ;; esac
    done <"$out/commands"
}
tables "$build/lathe" >"$out/lathe.table"
# Any trainer has the same; this one's model is written by hand.
{ printf 'usage\ttrainer\t\tCOMMAND [options]\n'; tables "$build/toy_model"; } >"$out/trainer.table"

version=$("$build/lathe" --version | sed -n '1s/^lathe \([0-9.]*\).*/\1/p')
date=$(sed -n 's/^## [0-9.]* (\(.*\))$/\1/p' "$here/../../examples/CHANGELOG.md" | head -n 1)
for form in man bash zsh fish; do
    awk -v OUT="$out" -v VERSION="$version" -v DATE="$date" -f "$here/manual_table.awk" -f "$here/manual_$form.awk" "$out/lathe.table" "$out/trainer.table"
done
rm "$out/commands" "$out/lathe.table" "$out/trainer.table"
