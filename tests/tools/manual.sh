# manual.sh: man pages are clean for groff and mandoc and have every command and option of the help; completions of bash, zsh
# and fish say in those shells what may come next.
set -u
BUILD=${BUILD:-build}
failed=0
complain() { echo "failed: $*"; failed=1; }
has() { command -v "$1" >/dev/null 2>&1; }
sh compiler/tools/manual.sh "$BUILD" "$TMP/made" || complain 'manual.sh'
pages=$TMP/made/man/man1

for page in "$pages"/*.1; do
    LC_ALL=C grep -n '[^ -~]' "$page" && complain "$page is not ASCII"
    ! has groff || groff -man -ww -Tascii -z "$page" >"$TMP/log" 2>&1 && [ ! -s "$TMP/log" ] || complain "groff: $(cat "$TMP/log")"
    ! has mandoc || mandoc -Tlint -W style "$page" >"$TMP/log" 2>&1 || complain "mandoc: $(head -n 5 "$TMP/log")"
done
for command in $("$LATHE" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    case $command in help | version) continue ;; esac
    [ -s "$pages/lathe-$command.1" ] || complain "no page of lathe $command"
done
for option in $("$LATHE" plan --help | sed -n 's/^  \(-[^ ]*\).*/\1/p'); do
    grep -q "^\.B $(echo "$option" | sed 's/-/\\\\-/g')" "$pages/lathe-plan.1" || complain "lathe-plan.1 lacks $option"
done
grep -q '^\.B \\-\\-resume' "$pages/lathe-trainer.1" || complain 'lathe-trainer.1 lacks --resume'

# expect SHELL LINE WORD: it is among what was completed
expect() { grep -Fqx -- "$3" "$TMP/said" || complain "$1: '$2' is not completed to $3: $(head -c 300 "$TMP/said")"; }
# all SHELL FUNCTION: FUNCTION LINE writes what may come next
all() {
    for pair in 'lathe pl|plan' 'lathe plan --prec|--precision' 'lathe plan models/gpt.lua --config ch|char' 'lathe plan models/gpt.lua --set wid|width=' \
        'lathe build --target c|cuda' 'lathe train models/mlp.lua --resu|--resume' 'lathe tokenize e|encode' 'lathe check models/ml|models/mlp.lua' \
        'lathe build models/mlp.lua --for ris|riscv64' 'lathe dump models/mlp.lua --after kern|kernels' 'lathe new my --from tab|tabular' 'trainer gen|generate'; do
        $2 "${pair%|*}" >"$TMP/said" 2>&1
        expect "$1" "${pair%|*}" "${pair#*|}"
    done
}
mkdir "$TMP/bin"
ln -s "$(cd "$(dirname "$LATHE")" && pwd)/lathe" "$TMP/bin/lathe"
PATH=$TMP/bin:$PATH

of_bash() {
    # shellcheck disable=SC2016
    bash -c '. "$1/lathe"; . "$1/trainer"
        read -ra COMP_WORDS <<<"$2"
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        "_complete_${COMP_WORDS[0]}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$TMP/made/bash-completion/completions" "$1"
}
of_fish() { HOME=$TMP fish -c "source $TMP/made/fish/vendor_completions.d/lathe.fish; source $TMP/made/fish/vendor_completions.d/trainer.fish; complete -C '$1'" | cut -f 1; }
# A line is typed into a terminal; what Tab lists and makes of it is read.
of_zsh() {
    # shellcheck disable=SC2016
    zsh -fc 'zmodload zsh/zpty
        zpty -b z "TERM=dumb zsh -f"
        zpty -w z "PS1=; PS2=; unsetopt zle_bracketed_paste; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $3/dump; bindkey \"^I\" complete-word; report() { print -r -- \"<<\$BUFFER>>\"; zle kill-buffer }; zle -N report; bindkey \"^X\" report; print -r rea\"\"dy"
        zpty -r -m z answer "*ready*"
        zpty -w -n z "$2"$'"'"'\t\x18'"'"'
        zpty -r -m z answer "*<<*>>*"
        print -r -- "$answer"
        zpty -d z' zsh "$TMP/made/zsh/site-functions" "$1" "$TMP" | tr -d '\r' | tr -s ' <>' '\n'
}
! has bash || all bash of_bash
! has fish || all fish of_fish
! has zsh || all zsh of_zsh
for shell in fish zsh groff mandoc; do has $shell || echo "note: $shell is not there, so it has not been asked"; done
exit $failed
