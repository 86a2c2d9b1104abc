# manual_table.awk: reads the tables of help (manual.sh) for the forms that they are printed in.
#
# program[1 … programs]; of a program P: first_words[P], its commands; of_program[P, 1 … commands[P]], their names, "tokenize
# train" for "tokenize"; of P and command C ("": the program itself): arguments[P, C], text[P, C], and options
# name[P, C, 1 … options[P, C]], with value[…] and help[…]; values[P, C, NAME] are the words
# that a table of the compiler's has for its argument.
BEGIN { FS = "\t" }
$1 == "usage" {
    P = $2
    C = $3
    if (!(P in commands)) { program[++programs] = P; commands[P] = 0 }
    if (C != "" && !((P, C) in text)) of_program[P, ++commands[P]] = C
    arguments[P, C] = $4
    if ($5 != "") text[P, C] = $5
}
$1 == "command" {
    brief[P, $2] = $4
    first_words[P] = first_words[P] (P in first_words && first_words[P] != "" ? " " : "") $2
    if ($2 == "help" || $2 == "version") { of_program[P, ++commands[P]] = $2; arguments[P, $2] = ""; text[P, $2] = $4 }
}
$1 == "option" {
    n = ++options[P, C]
    name[P, C, n] = $2
    value[P, C, n] = $3
    help[P, C, n] = $4
}
$1 == "value" { values[P, C, $2] = values[P, C, $2] " " $3 }
$1 == "also" { also[P, C] = $2 SUBSEP $3 }

# The words of "fp32|bf16|…", where they are alternatives; else "".
function choices(argument, list, n, i, out) {
    sub(/,?…$/, "", argument)
    if (argument !~ /^[a-z0-9_-]+(\|[a-z0-9_-]+)+$/) return ""
    gsub(/\|/, " ", argument)
    return argument
}

# Whether an argument is a file or a folder.
function is_path(argument) { return argument ~ /(FILE|PATH|DIR|RUN|MODEL|W\.safetensors|I\.safetensors|G\.safetensors|TEACHER\.lua)/ }

# Every option that a command takes, those of the command it hands on to as well: sets all_name[1 … n], all_value, all_choices, all_help, and returns n.
function all_options(p, c, key, n, i, seen) {
    n = 0
    for (key = p SUBSEP c; key != ""; key = key in also ? also[key] : "")
        for (i = 1; i <= options[key]; i++) {
            if (name[key, i] in seen) continue
            seen[name[key, i]] = 1
            all_name[++n] = name[key, i]
            all_value[n] = value[key, i]
            all_help[n] = help[key, i]
            all_choices[n] = choices(value[key, i])
            if ((key, name[key, i]) in values) all_choices[n] = substr(values[key, name[key, i]], 2)
        }
    return n
}

# Whether a command has commands of its own: "tokenize" has "tokenize train".
function words_below(p, c, i, out, w) {
    out = ""
    for (i = 1; i <= commands[p]; i++)
        if (split(of_program[p, i], w, " ") == 2 && w[1] == c) out = out (out == "" ? "" : " ") w[2]
    return out
}

function short_help(p, c) { return (p, c) in brief ? brief[p, c] : text[p, c] }
