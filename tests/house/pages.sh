# pages.sh: the page of each room names every source file of the room, and no file that is not there.
failed=0
complain() { echo "failed: $*"; failed=1; }

# unnamed ROOM: its files that its page does not name.
unnamed() {
    for file in "$1"/*.c "$1"/*.cu "$1"/*.cuh "$1"/*.def; do
        [ ! -e "$file" ] || grep -q "[\`/]${file##*/}\`" "$1/README.md" || echo "${file##*/}"
    done
}

# missing ROOM: files that its page names and that are nowhere; a folder may stand before a name.
missing() {
    grep -o '`[a-z_./]*\.\(c\|h\|cu\|cuh\|def\)`' "$1/README.md" | tr -d '`' | while read -r name; do
        case $name in model.c | model.h | model.plan.h | model.cu | tables.c) continue ;; esac # what lathe writes
        [ ! -e "$1/$name" ] || continue
        [ -n "$(find ./compiler ./runtime ./tests -path "*/${name#../}")" ] || echo "$name"
    done
}

for page in compiler/*/README.md runtime/*/README.md; do
    room=${page%/README.md}
    names=$(unnamed "$room" | tr '\n' ' ')
    [ -z "$names" ] || complain "$page does not name $names"
    names=$(missing "$room" | tr '\n' ' ')
    [ -z "$names" ] || complain "$page names what is not there: $names"
done

# The check sees a file without a place on the page, and a place without a file.
mkdir "$TMP/room" && touch "$TMP/room/one.c" && echo 'Only `two.c`.' >"$TMP/room/README.md"
[ "$(unnamed "$TMP/room") $(missing "$TMP/room")" = "one.c two.c" ] || complain "nobody minds a page that is wrong"
exit $failed
