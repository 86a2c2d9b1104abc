# header_words.awk: the words that headers declare for a whole file, from what the C preprocessor gives of them with -dD: macros,
# functions, types, variables and members of enums.  As a table of C, in order; everywhere: no variable has its name either, as it is
# a macro, or declared in a file of FOLDER, for what is generated to use.
# A macro that a table (recipe.def) undefines again is no such word.
# A word inside of other brackets is no such word, but for the name in `typedef int (*name)(int)`.
function add(word, use) { if (!(word in everywhere) || use) everywhere[word] = use }
function define(word) { if (here && !(word in everywhere)) passing[word] = 1; add(word, 1) }

/^# [0-9]+ "/ { here = index($0, "\"" FOLDER "/") > 0; table = here && /\.def"/; next }
/^#define / { split($2, name, "("); define(name[1]); next }
/^#undef / { if (table && $2 in passing) { delete passing[$2]; delete everywhere[$2] } next }
/^#/ { next }
{
    text = $0
    while (match(text, /"([^"\\]|\\.)*"|[A-Za-z_][A-Za-z_0-9]*|[0-9][A-Za-z_0-9.]*|[^ \t]/)) {
        token = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (token == "{") { depth++; if (depth == 1 && !round) listed = enumerated; enumerated = 0 }
        else if (token == "}") { depth--; listed = 0 }
        else if (token == "(") round++
        else if (token == ")") round--
        else if (token == ";" && !depth) enumerated = 0
        else if (token ~ /^[A-Za-z_]/) {
            if (token == "enum" && !depth) enumerated = 1
            if ((!depth || (depth == 1 && listed)) && (!round || (round == 1 && last == "*" && before == "("))) add(token, here)
        }
        before = last
        last = token
    }
}

END {
    print "/* Made by header_words.awk. */\n#include \"emit/emit.h\"\n\nconst Header_word header_words[] = {"
    sort = "LC_ALL=C sort"
    for (word in everywhere) { count++; printf "    {\"%s\", %s},\n", word, everywhere[word] ? "true" : "false" | sort }
    close(sort)
    print "};\nconst int header_word_count = " count ";"
}
