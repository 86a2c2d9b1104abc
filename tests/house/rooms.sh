# rooms.sh: files of the compiler include headers of their own room and of those that compiler/rooms.txt grants, no
# room reaches itself through others, and the check itself sees an arrow that climbs.
failed=0
complain() { echo "failed: $*"; failed=1; }

# arrows FOLDER: "room/file what it includes", of quoted includes, as they are written.
arrows() {
    (cd "$1" && grep -H '^#include "' ./*.[ch] ./*/*.[ch] | sed 's|^\./||; s|:#include "\([^"]*\)".*| \1|')
}

# faults <arrows: those that the rule does not grant; and rooms without a rule.
faults() {
    awk '
        FNR == NR && /^#/ { next }
        FNR == NR { room = $1; sub(/:$/, "", room); known[room] = 1; for (i = 2; i <= NF; i++) may[room, $i] = 1; next }
        {
            from = index($1, "/") ? $1 : "./" $1
            sub(/\/[^\/]*$/, "", from)
            to = $2
            if (!index(to, "/")) to = ((to == "lathe.h" || to == "line.h") && from == ".") ? "." : to
            else if (!((from, to) in may)) sub(/\/[^\/]*$/, "", to)
            if (!(from in known)) print "room " from " has no rule"
            else if (to != from && !((from, to) in may)) print $1 " includes " $2
        }' compiler/rooms.txt -
}

# circles: rooms that are granted a room which is granted them, through others too.
circles() {
    awk '!/^#/ { sub(/:$/, "", $1); for (i = 2; i <= NF; i++) print $1, $i; print $1, $1 }' compiler/rooms.txt | tsort 2>&1 >/dev/null
}

arrows compiler >"$TMP/arrows"
[ "$(wc -l <"$TMP/arrows")" -gt 200 ] || complain "only $(wc -l <"$TMP/arrows") includes were found"
faults <"$TMP/arrows" >"$TMP/faults"
[ ! -s "$TMP/faults" ] || complain "$(cat "$TMP/faults")"
[ -z "$(circles)" ] || complain "rooms.txt goes in a circle: $(circles)"

for climb in 'graph/graph.c lower/lower.h' 'kernels/view.c plan/plan.h' 'desc/desc.h lathe.h' 'cellar/x.c base/util.h'; do
    [ -n "$(echo "$climb" | faults)" ] || complain "nobody minds that $climb"
done
exit $failed
