# manual_zsh.awk: completions for zsh: _lathe, and _trainer for the programs that lathe makes.
function put(s) { print s >page }
# "NAME:WHAT IT DOES" for _describe, in single quotes.
function described(what, s) {
    gsub(/\\/, "\\\\", s)
    gsub(/'/, "'\\''", s)
    gsub(/:/, "\\:", what)
    return "'" what ":" s "'"
}
function put_command(p, c, i, n, list) {
    n = all_options(p, c)
    put("        '" c "')")
    put("            options=(")
    for (i = 1; i <= n; i++) put("                " described(all_name[i], all_help[i]))
    put("                '--help:this command and its options'")
    put("            )")
    put("            case $before in")
    for (i = 1; i <= n; i++) {
        list = all_choices[i]
        if (list != "") put("                " all_name[i] ") values=(" list ")" (is_path(all_value[i]) ? " files=1" : "") " ;;")
        else if (all_value[i] != "" && !is_path(all_value[i]) && all_name[i] !~ /^--(config|set)$/) put("                " all_name[i] ") free=1 ;;")
    }
    put("            esac ;;")
}
function completion(p, i, k, n, first, below, w) {
    page = OUT "/zsh/site-functions/_" p
    put("#compdef " p)
    put("# Completions of " p " for zsh, made of its help.")
    put("local -a names options values\nlocal command=$words[2] before=$words[CURRENT-1] free= files= model=")
    put("if (( CURRENT == 2 )); then")
    put("    names=(")
    n = split(first_words[p], first, " ")
    for (i = 1; i <= n; i++) put("        " described(first[i], short_help(p, first[i])))
    put("    )")
    put("    _describe command names\n    return\nfi")
    put("case $command in")
    for (i = 1; i <= n; i++) {
        below = words_below(p, first[i])
        if (below == "") continue
        put("    " first[i] ")")
        put("        if (( CURRENT == 3 )); then names=(" below "); _describe command names; return; fi")
        put("        command=\"$command $words[3]\" ;;")
    }
    put("esac")
    put("model=${${(M)words[3,-1]:#*.lua}[1]:-}")
    put("case $command in")
    for (i = 1; i <= commands[p]; i++) put_command(p, of_program[p, i])
    put("esac")
    if (p == "lathe") {
        put("# What a description has: configurations, keys.")
        put("case $before in")
        put("    --config|--set)")
        put("        [[ -z $model ]] || values=(${(f)\"$($words[1] plan $model --help=table 2>/dev/null | awk -F '\\t' -v row=${before#--} '$1 == row { print $2 }')\"})")
        put("        if [[ $before == --set ]]; then compadd -S = -a values; else compadd -a values; fi")
        put("        return ;;")
        put("esac")
    }
    put("if [[ $PREFIX == -* ]]; then _describe option options; return; fi")
    put("if (( $#values )); then compadd -a values; [[ -n $files ]] || return; fi")
    put("[[ -n $free ]] || _files")
}
END { for (k = 1; k <= programs; k++) completion(program[k]) }
