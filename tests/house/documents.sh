# documents.sh: README and the pages it links are true: every command runs and prints what is shown beneath it (… stands for
# what may differ), every description and fragment of one is taken by `lathe check`, every message in the headings of the
# list of messages is printed by the commands beneath it (or, where there are none, stands in the sources), excerpts of
# generated/showcase are what it holds (`tests/run.sh bless -k documents` takes them anew), links lead somewhere, files and
# options that are named exist.
# compiled: as for users
set -u
top=$PWD
pages="README.md models/README.md examples/data.md examples/training.md examples/ranks.md examples/library.md examples/python.md examples/editors.md examples/CHANGELOG.md generated/showcase/README.md examples/troubleshooting.md"
parts=$TMP/parts doc=$TMP/doc
failures=0
wrong() { echo "FAILED: $*"; failures=$((failures + 1)); }

mkdir -p "$parts" "$doc/generated" && export HOME="$TMP"
for name in models compiler runtime tests examples README.md; do ln -s "$top/$name" "$doc/$name"; done
ln -s "$(dirname "$LATHE")" "$doc/build"
ln -s "$top/generated/showcase" "$doc/generated/showcase"
cat compiler/*/*.c >"$doc/my.txt"
cat runtime/*/*.c >"$doc/more.txt"
# shellcheck disable=SC2086
awk -v OUT="$parts" -f tests/house/documents.awk $pages >"$parts/list"

# ------------------------------------------------------------------ excerpts

# with_excerpts PAGE: the page with the block after each <!-- excerpt: FILE from "BEGINNING" to "BEGINNING" --> taken from FILE
with_excerpts() {
    awk '
    function show(file, from, to, line, on) {
        while ((getline line <file) > 0) {
            if (!on && index(line, from) == 1) on = 1
            if (on) { print line; shown = 1 }
            if (on && line != from && index(line, to) == 1) break
        }
        close(file)
    }
    /^<!-- excerpt: / { print; split($0, q, "\""); split(q[1], w, " "); file = w[3]; next }
    file && /^```/ && !inside { print; shown = 0; show(file, q[2], q[4]); if (!shown) print "(not there)"; inside = 1; next }
    file && /^```/ { inside = 0; file = ""; print; next }
    !inside { print }' "$1"
}
for page in $pages; do
    with_excerpts "$page" >"$TMP/page"
    cmp -s "$TMP/page" "$page" && continue
    if [ -n "${BLESS:-}" ] && ! grep -q '^(not there)' "$TMP/page"; then
        cat "$TMP/page" >"$page" && echo "rewrote $page"
    else
        wrong "$page: its excerpts are not what the files hold (tests/run.sh bless -k documents)"
        diff -u "$page" "$TMP/page" | head -n 20
    fi
done
[ -z "${BLESS:-}" ] || exit $failures

# ------------------------------------------------------------------ links, files, options

# Headings as they are linked to: small letters, digits, hyphens for blanks.
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); s = tolower($0); gsub(/[^a-z0-9_ -]/, "", s); gsub(/ /, "-", s); print s }' "$1"
}
for page in $pages; do
    folder=$(dirname "$page")
    for link in $(grep -o '](\([^) ]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^http'); do
        file=${link%%#*} anchor=${link#"$file"}
        [ -n "$file" ] && file=$folder/$file || file=$page
        [ -e "$file" ] || { wrong "$page links to $link"; continue; }
        [ -z "$anchor" ] || anchors "$file" | grep -qx -- "${anchor#\#}" || wrong "$page links to $link, and there is no such heading"
    done
done

# Words between backticks and in blocks without a language, from all pages.  Commands and what they print are run below.
# shellcheck disable=SC2086
awk '/^```/ { if (code) code = ""; else { code = substr($0, 4); if (code == "") code = "text" } next }
     code == "text" || code == "sh" { print; next }
     code == "" { n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' $pages >"$TMP/words"
tr -c 'A-Za-z0-9_./-' '\n' <"$TMP/words" |
    grep -E '^(compiler|runtime|models|tests|examples|generated/showcase)/[a-z_./]*[a-z]$' | sort -u |
    while read -r file; do [ -e "$file" ] || echo "FAILED: $file is named, and does not exist"; done >"$TMP/missing"

# ------------------------------------------------------------------ descriptions

# A fragment is the body of forward, or a part of the description that begins with its key.
wrapped() {
    echo 'return { config = { vocab = 256, seq = 16, batch = 4, width = 32, heads = 4, layers = 2, hidden = 24, tied = true, lr = 1e-3, steps = 10, classes = 256 }, decode = false,'
    if grep -qE '^(train|data|metrics) = ' "$1"; then cat "$1"; echo ','; fi
    echo 'forward = function(c, input) local x = nn.embedding(input.tokens, { rows = c.vocab, width = c.width, name = "given" }) do'
    grep -qE '^(train|data|metrics) = ' "$1" || cat "$1"
    echo 'end return x:mean(), { logits = x } end,'
    grep -qE '^data = ' "$1" || echo 'data = data.text { tokenizer = "bytes" },'
    echo '}'
}

lua_block() {       # N PLACE NAME
    if [ "$3" = - ]; then
        wrapped "$parts/$1.lua" >"$doc/fragment.lua"
        (cd "$doc" && build/lathe check fragment.lua) >"$TMP/out" 2>&1 || { wrong "$2: this fragment"; cat "$TMP/out"; }
    else
        cp "$parts/$1.lua" "$doc/$3"
        case $2 in *troubleshooting*) return ;; esac      # those are refused, as is shown beneath
        (cd "$doc" && build/lathe check "$3") >"$TMP/out" 2>&1 || { wrong "$2: $3"; cat "$TMP/out"; }
    fi
}

# ------------------------------------------------------------------ commands

# fits WANT GOT: every line of WANT is one of GOT's, in order, and none is left over; a line … stands for any number of lines.
fits() {
    awk '
    function pattern(s) { gsub(/[][(){}.*+?^$|\\]/, "\\\\&", s); gsub(/…/, ".*", s); return "^" s "$" }
    function trimmed(s) { sub(/[ \t\r]+$/, "", s); return s }
    NR == FNR { want[++m] = trimmed($0); next }
    { got[++n] = trimmed($0) }
    END {
        i = j = 1
        while (j <= n) {
            if (i <= m && want[i] == "…") { star = i++; mark = j }
            else if (i <= m && got[j] ~ pattern(want[i])) { i++; j++; if (i > reached) reached = i }
            else if (star) { i = star + 1; j = ++mark }
            else break
        }
        while (i <= m && want[i] == "…") i++
        if (i > m && j > n) exit 0
        if (reached <= m && reached) print "  nothing like: " want[reached]
        exit 1
    }' "$1" "$2"
}

# What is shown up to a line ^C is waited for, then comes the interrupt.
interrupt() {       # COMMAND WANT OUT
    sed '/^\^C$/,$d' "$2" >"$TMP/before"
    { printf 'exec '; cat "$1"; } >"$TMP/exec"
    : >"$3"
    sh "$TMP/exec" >"$3" 2>&1 &
    pid=$! tries=0
    until fits "$TMP/before" "$3" >/dev/null || [ $tries = 300 ] || ! kill -0 $pid 2>/dev/null; do sleep 0.1; tries=$((tries + 1)); done
    kill -INT $pid
    wait $pid
}

one_command() {     # N K PLACE
    cmd=$parts/$1.$2.cmd want=$parts/$1.$2.want out=$parts/$1.$2.out
    cd "$doc" || exit 1
    if [ -e "$want" ] && grep -q '^^C$' "$want"; then
        interrupt "$cmd" "$want" "$out"
        code=$? wanted=130
        sed -i '/^^C$/d' "$want"
    else
        timeout 100 sh "$cmd" >"$out" 2>&1 </dev/null
        code=$? wanted=$(sed -n 's/.*# exit code \([0-9]*\)$/\1/p' "$cmd")
        wanted=${wanted:-0}
        [ ! -e "$want" ] || ! grep -qE '(^|: )error: ' "$want" || wanted=error
    fi
    cd "$top" || exit 1
    case $wanted:$code in error:0) bad=1 ;; error:*) bad= ;; *) [ $code = $wanted ] && bad= || bad=1 ;; esac
    [ ! -e "$want" ] || fits "$want" "$out" >"$TMP/why" || bad="$bad differs"
    [ -n "$bad" ] || return
    wrong "$3: exit code $code: $(cat "$cmd")"
    cat "$TMP/why" && sed 's/^/  | /' "$out" | head -n 30
}

console_block() {   # N PLACE COMMANDS
    k=1
    while [ $k -le "$3" ]; do
        one_command "$1" $k "$2"
        cat "$parts/$1.$k.out" >>"$TMP/said"
        k=$((k + 1))
    done
}

# ------------------------------------------------------------------ messages

# The C sources with the parts of a string joined, so that a message is found as it is printed.
sources() { cat $(find compiler runtime -name "*.c" -o -name "*.lua" | sort) | tr '\n' ' ' | sed 's/" *"//g; s/\\"/"/g'; }
sources >"$TMP/sources"

# in_text TEXT FILE: the parts between … and %s are in the file
in_text() {
    echo "$1" | sed 's/…/\n/g' | while read -r part; do
        [ -z "$part" ] || grep -qF -- "$part" "$2" || { echo "$part"; break; }
    done | grep -q . && return 1
    return 0
}

# Of each heading, what is in backticks: in what its commands have said, or if it has none, in the sources.
check_heading() {
    [ -n "$heading" ] || return
    file=$TMP/said
    [ -s "$file" ] || file=$TMP/sources
    echo "$heading" | awk '{ n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' >"$TMP/quotes"
    while read -r quote; do
        in_text "$quote" "$file" || wrong "$heading_place: no program says: $quote"
    done <"$TMP/quotes"
}

heading=
: >"$TMP/said"
while read -r kind n place rest; do
    case $kind in
    lua) lua_block "$n" "$place" "$rest" ;;
    console) console_block "$n" "$place" "$rest" ;;
    heading) check_heading; heading=$rest heading_place=$place; : >"$TMP/said" ;;
    esac
done <"$parts/list"
check_heading

# ------------------------------------------------------------------ options, which need a trainer's help

trainer=$doc/generated/bigram/trainer
{ "$LATHE" help; "$LATHE" data info --help; for c in sweep scale report runs plot diff verify; do "$LATHE" $c --help; done; for c in train encode decode; do "$LATHE" tokenize $c --help; done; for c in train eval predict generate serve grad init export bench profile replay report info; do "$trainer" $c --help; done; } >"$TMP/help" 2>&1
{ cat tests/run.sh tests/bench/run.sh; cmake --help; } >>"$TMP/help"
echo "torchrun: --nnodes --nproc-per-node --node-rank --master-addr --no-python" >>"$TMP/help"
grep -oE '(^|[ ([])--[a-z][a-z-]*' "$TMP/words" | tr -d ' ([' | sort -u |
    while read -r option; do grep -q -- "$option" "$TMP/help" || echo "FAILED: $option is named, and nothing has such an option"; done >>"$TMP/missing"
cat "$TMP/missing"
[ $failures = 0 ] && [ ! -s "$TMP/missing" ]
