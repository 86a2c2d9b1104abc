# manual_bash.awk: completions for bash: lathe, and trainer for the programs that it makes.
function put(s) { print s >page }
function begin(p) {
    page = OUT "/bash-completion/completions/" p
    put("# Completions of " p " for bash, made of its help.")
}

# What a word behind an option may be: --config and --set ask the description on the line.
function put_values(p, c, i, n, list) {
    n = all_options(p, c)
    for (i = 1; i <= n; i++) {
        list = all_choices[i]
        if (list != "") put("        '" c " " all_name[i] "') COMPREPLY=($(compgen " (is_path(all_value[i]) ? "-f " : "") "-W '" list "' -- \"$word\")) ;;")
    }
    for (i = 1; i <= n; i++)
        if (all_value[i] != "" && all_choices[i] == "" && !is_path(all_value[i]) && all_name[i] !~ /^--(config|set)$/)
            put("        '" c " " all_name[i] "') COMPREPLY=() ;;")
}
function put_words(p, c, i, n, line) {
    n = all_options(p, c)
    line = "--help"
    for (i = 1; i <= n; i++) line = line " " all_name[i]
    put("        '" c "') options='" line "' ;;")
}

function completion(p, i, c) {
    begin(p)
    put("_complete_" p "() {")
    put("    local word=$2 before=$3 command=${COMP_WORDS[1]:-} options='' below='' model='' one")
    put("    COMPREPLY=()")
    put("    if [[ $COMP_CWORD == 1 ]]; then COMPREPLY=($(compgen -W '" first_words[p] "' -- \"$word\")); return; fi")
    put("    case $command in")
    split_n = split(first_words[p], first, " ")
    for (i = 1; i <= split_n; i++)
        if (words_below(p, first[i]) != "") put("        " first[i] ") below='" words_below(p, first[i]) "' ;;")
    put("    esac")
    put("    if [[ -n $below && $COMP_CWORD == 2 ]]; then COMPREPLY=($(compgen -W \"$below\" -- \"$word\")); return; fi")
    put("    [[ -z $below ]] || command=\"$command ${COMP_WORDS[2]:-}\"")
    put("    for one in \"${COMP_WORDS[@]:2}\"; do [[ $one != *.lua || -n $model ]] || model=$one; done")
    put("    case $command in")
    for (i = 1; i <= commands[p]; i++) put_words(p, of_program[p, i])
    put("    esac")
    put("    case $word in -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return ;; esac")
    if (p == "lathe") {
        put("    case $before in")
        put("        --config) COMPREPLY=($(compgen -W \"$(_lathe_names config \"$model\")\" -- \"$word\")); return ;;")
        put("        --set)")
        put("            COMPREPLY=($(compgen -S = -W \"$(_lathe_names set \"$model\")\" -- \"$word\"))")
        put("            compopt -o nospace 2>/dev/null")
        put("            return ;;")
        put("    esac")
    }
    put("    COMPREPLY=($(compgen -f -- \"$word\"))")
    put("    case \"$command $before\" in")
    for (i = 1; i <= commands[p]; i++) put_values(p, of_program[p, i])
    put("    esac")
    put("}")
    if (p == "lathe") {
        put("# _lathe_names config|set MODEL: what a description has")
        put("_lathe_names() { [[ -z $2 ]] || \"${COMP_WORDS[0]}\" plan \"$2\" --help=table 2>/dev/null | awk -F '\\t' -v row=\"$1\" '$1 == row { print $2 }'; }")
    }
    put("complete -o filenames -o bashdefault -F _complete_" p " " p)
}
END { for (k = 1; k <= programs; k++) completion(program[k]) }
