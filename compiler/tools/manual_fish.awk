# manual_fish.awk: completions for fish: lathe, and trainer for the programs that it makes.
function put(s) { print s >page }
function quoted(s) {
    gsub(/\\/, "\\\\", s)
    gsub(/'/, "\\'", s)
    return "'" s "'"
}
# The condition: the command, "tokenize train", stands on the line.
function on(c, w) {
    split(c, w, " ")
    return "__fish_seen_subcommand_from " w[1] (w[2] ? "; and __fish_seen_subcommand_from " w[2] : "")
}
function put_option(p, c, option, argument, list, what, line) {
    line = "complete -c " p " -n " quoted(on(c)) (option ~ /^--/ ? " -l " substr(option, 3) : " -s " substr(option, 2)) " -d " quoted(what)
    if (p == "lathe" && option ~ /^--(config|set)$/) line = line " -x -a " quoted("(__lathe_names " substr(option, 3) ")")
    else if (list != "") line = line (is_path(argument) ? " -r" : " -x") " -a " quoted(list)
    else if (argument != "" && is_path(argument)) line = line " -r"
    else if (argument != "") line = line " -x"
    put(line)
}
function completion(p, i, k, n, first, below) {
    page = OUT "/fish/vendor_completions.d/" p ".fish"
    put("# Completions of " p " for fish, made of its help.")
    if (p == "lathe") {
        put("# __lathe_names config|set: what the description on the line has")
        put("function __lathe_names")
        put("    set -l words (commandline -opc)")
        put("    set -l model (string match -- '*.lua' $words)[1]")
        put("    test -n \"$model\"; and $words[1] plan $model --help=table 2>/dev/null | awk -F \\t -v row=$argv[1] '$1 == row { print row == \"set\" ? $2 \"=\" : $2 }'")
        put("end")
    }
    n = split(first_words[p], first, " ")
    for (i = 1; i <= n; i++) {
        put("complete -c " p " -n __fish_use_subcommand -f -a " first[i] " -d " quoted(short_help(p, first[i])))
        below = words_below(p, first[i])
        if (below != "") put("complete -c " p " -n " quoted(on(first[i]) "; and not __fish_seen_subcommand_from " below) " -f -a " quoted(below))
    }
    for (i = 1; i <= commands[p]; i++) {
        n = all_options(p, of_program[p, i])
        for (k = 1; k <= n; k++) put_option(p, of_program[p, i], all_name[k], all_value[k], all_choices[k], all_help[k])
    }
}
END { for (k = 1; k <= programs; k++) completion(program[k]) }
