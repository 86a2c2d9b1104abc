# manual_man.awk: man pages: lathe.1, lathe-COMMAND.1, and lathe-trainer.1 for the programs that lathe makes.

# Text of help in roff; words in backquotes are bold.
function roff(s, n, part, i, out) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/\^/, "\\(ha", s)
    gsub(/~/, "\\(ti", s)
    gsub(/…/, "...", s)
    gsub(/×/, "\\(mu", s)
    gsub(/"/, "\\(dq", s)
    n = split(s, part, "`")
    out = part[1]
    for (i = 2; i <= n; i++) out = out (i % 2 ? "\\fR" : "\\fB") part[i]
    if (n % 2 == 0) out = out "\\fR"
    return out ~ /^[.\047]/ ? "\\&" out : out
}
function put(s) { print s >page }

# Sentences, as lines of at most 76 characters.
function put_text(s, words, n, i, line) {
    n = split(roff(s), words, " ")
    line = ""
    for (i = 1; i <= n; i++) {
        if (line != "" && length(line) + length(words[i]) > 75) { put(line); line = "" }
        line = line == "" ? (words[i] ~ /^[.\047]/ ? "\\&" words[i] : words[i]) : line " " words[i]
    }
    put(line)
}

function begin(file, title, what) {
    page = OUT "/man/man1/" file ".1"
    put(".TH " toupper(roff(file)) " 1 " DATE " \"Lathe " VERSION "\" \"Lathe\"")
    put(".nh")
    put(".SH NAME")
    put_text(title " - " what)
}

# A row of a list: what is typed, its argument, what it does.
function row(typed, argument, what) {
    put(".TP")
    put(".B " roff(typed) (argument == "" ? "" : " \\fI" roff(argument) "\\fR"))
    put_text(what)
}

function put_options(p, c, i, n) {
    n = options[p, c] + 0
    if (n) put(".SH OPTIONS")
    for (i = 1; i <= n; i++) row(name[p, c, i], value[p, c, i], help[p, c, i])
}

# of: the program, trainer or lathe
function put_exit(of, diff) {
    put(".SH EXIT STATUS")
    row(0, "", diff ? "nothing differs" : "done")
    row(1, "", diff ? "something differs" : "an error")
    row(2, "", diff ? "a command line that cannot be, or another error" : "a command line that cannot be")
    row(3, "", "data or a checkpoint that cannot be read")
    if (diff) return
    row(4, "", "training diverged")
    row("128 + N", "", "ended by signal N; training saves first")
}

function lathe_page(i, c, w, n) {
    begin("lathe", "lathe", "compiles a neural network, described in Lua, to a training program")
    put(".SH SYNOPSIS\n.B lathe\n.I COMMAND\n[\\fIMODEL.lua\\fR] [\\fIoptions\\fR]")
    put(".SH DESCRIPTION")
    put_text("Lathe compiles a neural network, described in a page of Lua, into one native training program for its exact shape. The program is readable C: every size is a constant, every byte of memory is planned before it runs.")
    put(".SH COMMANDS")
    n = split(first_words["lathe"], w, " ")
    for (i = 1; i <= n; i++) {
        c = w[i]
        row(c, arguments["lathe", c] != "" ? arguments["lathe", c] : words_below("lathe", c), short_help("lathe", c))
    }
    put_options("lathe", "")
    put(".SH ENVIRONMENT")
    row("CC", "", "the C compiler (cc, gcc or clang in PATH)")
    row("NVCC", "", "the compiler for `--target cuda`")
    row("LATHE_CUDA_ARCH", "", "the only architecture of GPUs to compile for, such as 90")
    row("LATHE_RUNTIME", "", "a folder runtime/ of Lathe's sources to build with, instead of the installed one")
    row("OMP_NUM_THREADS", "", "threads of trainers")
    put(".SH FILES")
    row("generated/", "", "programs, and their source")
    row("runs/", "", "runs: settings, metrics, checkpoints")
    put_exit("lathe")
    put(".SH SEE ALSO")
    for (i = 1; i <= n; i++)
        if (w[i] != "help" && w[i] != "version") put(".BR lathe\\-" w[i] " (1),")
    put(".BR lathe\\-trainer (1)")
}

function command_page(c, file, w, below, i, n) {
    file = "lathe-" c
    begin(file, "lathe-" c, short_help("lathe", c))
    put(".SH SYNOPSIS")
    below = words_below("lathe", c)
    n = below == "" ? 1 : split(below, w, " ")
    for (i = 1; i <= n; i++) {
        if (i > 1) put(".br")
        full = below == "" ? c : c " " w[i]
        put(".B lathe " roff(full) "\n\\fI" roff(arguments["lathe", full]) "\\fR" (options["lathe", full] && arguments["lathe", full] !~ /\[options\]/ ? " [\\fIoptions\\fR]" : ""))
    }
    put(".SH DESCRIPTION")
    if (below == "") put_text(text["lathe", c])
    else put_text(short_help("lathe", c))
    for (i = 1; below != "" && i <= n; i++) {
        put(".SS " roff(c " " w[i]))
        put_text(text["lathe", c " " w[i]])
        list = c " " w[i]
        for (k = 1; k <= options["lathe", list]; k++) row(name["lathe", list, k], value["lathe", list, k], help["lathe", list, k])
    }
    put_options("lathe", c)
    if (("lathe", c) in also) {
        split(also["lathe", c], w, SUBSEP)
        put(".PP")
        put_text("All others are those of `" w[1] " " w[2] "`.")
    }
    if (c == "diff") put_exit("lathe", 1)
    put(".SH SEE ALSO\n.BR lathe (1)," "\n.BR lathe\\-trainer (1)")
}

function trainer_page(i, c) {
    begin("lathe-trainer", "lathe-trainer", "trains and runs a model: a program that lathe made")
    put(".SH SYNOPSIS\n.B trainer\n.I COMMAND\n[\\fIoptions\\fR]")
    put(".SH DESCRIPTION")
    put_text("`lathe build MODEL.lua` prints where the program `trainer` of a model is. It needs no Lathe. `trainer COMMAND --help` also lists the settings of its own model for `--set`.")
    put(".SH COMMANDS")
    for (i = 1; i <= commands["trainer"]; i++) {
        c = of_program["trainer", i]
        put(".SS " roff("trainer " c) "\n.I " roff(arguments["trainer", c]) "\n.PP")
        put_text(text["trainer", c])
        for (k = 1; k <= options["trainer", c]; k++) row(name["trainer", c, k], value["trainer", c, k], help["trainer", c, k])
    }
    put_exit("trainer")
    put(".SH SEE ALSO\n.BR lathe (1)")
}

END {
    lathe_page()
    n_commands = split(first_words["lathe"], word_of, " ")
    for (each = 1; each <= n_commands; each++)
        if (word_of[each] != "help" && word_of[each] != "version") command_page(word_of[each])
    trainer_page()
}
