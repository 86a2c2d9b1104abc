# rooms.sh: files of the compiler and of the runtime include headers of their own room and of those that rooms.txt
# grants, no room reaches itself through others, and the check itself sees an arrow that climbs.
failed=0
complain() { echo "failed: $*"; failed=1; }

# arrows FOLDER: "room/file what it includes", of quoted includes, as they are written.
arrows() {
    (cd "$1" && find . -name "*.[ch]" -o -name "*.cu" -o -name "*.cuh" | sort | xargs grep -H '^ *#include "' |
        sed 's|^\./||; s|: *#include "\([^"]*\)".*| \1|')
}

# faults RULE <arrows: those that the rule does not grant; and rooms without a rule.
faults() {
    awk '
        FNR == NR && /^#/ { next }
        FNR == NR { room = $1; sub(/:$/, "", room); known[room] = 1; for (i = 2; i <= NF; i++) may[room, $i] = 1; next }
        {
            from = index($1, "/") ? $1 : "./" $1
            sub(/\/[^\/]*$/, "", from)
            to = $2
            if (!index(to, "/")) to = (from == "." && (to == "lathe.h" || to == "line.h")) || from == "interface" || from == "math" ? from : to
            else if (!((from, to) in may)) sub(/\/[^\/]*$/, "", to)
            if (!(from in known)) print "room " from " has no rule"
            else if (to != from && !((from, to) in may)) print $1 " includes " $2
        }' "$1" -
}

# circles RULE: rooms that are granted a room which is granted them, through others too.
circles() {
    awk '!/^#/ { sub(/:$/, "", $1); for (i = 2; i <= NF; i++) print $1, $i; print $1, $1 }' "$1" | tsort 2>&1 >/dev/null
}

# holds FOLDER LEAST: its rule.
holds() {
    arrows "$1" >"$TMP/arrows"
    [ "$(wc -l <"$TMP/arrows")" -gt "$2" ] || complain "only $(wc -l <"$TMP/arrows") includes were found in $1"
    faults "$1/rooms.txt" <"$TMP/arrows" >"$TMP/faults"
    [ ! -s "$TMP/faults" ] || complain "$(cat "$TMP/faults")"
    [ -z "$(circles "$1/rooms.txt")" ] || complain "$1/rooms.txt goes in a circle: $(circles "$1/rooms.txt")"
}
holds compiler 200
holds runtime 500

# seen FOLDER ARROW: that the rule forbids it.
seen() { [ -n "$(echo "$2" | faults "$1/rooms.txt")" ] || complain "nobody minds that $2"; }
seen compiler 'graph/graph.c lower/lower.h'
seen compiler 'kernels/view.c plan/plan.h'
seen compiler 'desc/desc.h lathe.h'
seen compiler 'cellar/x.c base/util.h'
seen runtime 'data/data.c trainer/trainer.h'
seen runtime 'token/utf8.c data/data.h'
seen runtime 'base/words.h interface/lathe_model.h'
seen runtime 'cuda/tensor.cuh sim_tensor.h'
exit $failed
