# gnn.sh: what a graph network says of a graph does not depend on how its nodes are numbered, in which order its edges come
# and what it is filled up with; it learns from padded graphs, to the same bits by any number of threads.
set -eu
. tests/models/common
. tests/npy
sizes="--set nodes=6 --set edges=10 --set node_kinds=4 --set edge_kinds=3 --set width=8 --set rounds=3 --set batch=8 --set steps=300 --set lr=0.01"
# shellcheck disable=SC2086
must "$LATHE" build models/gnn.lua $sizes -o "$TMP/built"
# shellcheck disable=SC2086
must "$LATHE" build models/gnn.lua $sizes --set classes=2 -o "$TMP/classes"
trainer="$TMP/built/trainer"
cd "$TMP"

# Rings of n nodes, n = 3 … 5, one node of which has a kind of its own, and a chord of another kind where n is 5.  The
# target is n plus ten times that kind, the class whether there is a chord.  Renumbered: node i is node 5 - i, and edges come from the
# last on; the places of no edge are between them, and have other ends.
graphs() {      # FOLDER RENUMBERED
    mkdir "$1"
    awk -v turned="$2" -v folder="$1" '
        function edge(a, b, k) { from[e] = a; to[e] = b; kind[e++] = k }
        BEGIN {
            for (r = 0; r < 60; r++) {
                n = 3 + r % 3; special = 2 + int(r / 3) % 2; e = 0
                for (i = 0; i < 6; i++) node[i] = i >= n ? 0 : i == r % n ? special : 1
                for (i = 0; i < n; i++) edge(i, (i + 1) % n, 1)
                if (n == 5) { edge(0, 2, 2); edge(2, 0, 2) }
                while (e < 10) edge(turned ? e % 6 : 0, turned ? 2 : 0, 0)
                for (i = 0; i < 6; i++) print node[turned ? 5 - i : i] >folder "/node.txt"
                for (i = 0; i < 10; i++) {
                    j = turned ? (9 - i) * 7 % 10 : i
                    print (turned ? 5 - from[j] : from[j]), (turned ? 5 - to[j] : to[j]) >folder "/edge.txt"
                    print kind[j] >folder "/edge_kind.txt"
                }
                print n + 10 * (special - 2) >folder "/target.txt"; print (n == 5) >folder "/class.txt"
            }
        }'
    npy "$1/node.npy" '(60, 6)' "$(octal_of <"$1/node.txt")"
    npy "$1/edge.npy" '(60, 10, 2)' "$(octal_of <"$1/edge.txt")"
    npy "$1/edge_kind.npy" '(60, 10)' "$(octal_of <"$1/edge_kind.txt")"
    npy "$1/target.npy" '(60,)' "$(octal_of <"$1/target.txt")"
    npy "$1/class.npy" '(60,)' "$(octal_of <"$1/class.txt")"
}
graphs plain 0
graphs turned 1

must "$trainer" train --data plain/node.npy plain/edge.npy plain/edge_kind.npy plain/target.npy --out run --threads 1
must "$trainer" train --data plain/node.npy plain/edge.npy plain/edge_kind.npy plain/target.npy --out other --threads 2
cmp run/model.safetensors other/model.safetensors || tell "other bits with other threads"
for name in plain turned; do
    must "$trainer" predict --data $name/node.npy $name/edge.npy $name/edge_kind.npy --weights run --only prediction,embedding --out $name.csv
done
paste -d , plain.csv turned.csv | awk -F , 'NR > 1 { for (i = 1; i <= 9; i++) if (($i - $(i + 9)) ^ 2 > 1e-10 * (1 + $i * $i)) { print; exit 1 } }' >said ||
    tell "a graph is another when its nodes are renumbered"
cut -d , -f 1 plain.csv | tail -n +2 | paste -d ' ' - plain/target.txt | awk '{ e += ($1 - $2) ^ 2 } END { print e / NR; exit !(e / NR < 0.5) }' >said ||
    tell "squares of errors of easy graphs"
must classes/trainer train --data plain/node.npy plain/edge.npy plain/edge_kind.npy target=plain/class.npy --out sorted
must classes/trainer eval --out sorted --data plain/node.npy plain/edge.npy plain/edge_kind.npy target=plain/class.npy --json
grep -q '"accuracy": *1\.0' said || tell "the classes are easy"

npy bad.npy '(60, 10, 2)' "$(sed '7s/.*/6 0/' plain/edge.txt | octal_of)"
refuse 3 'bad.npy: row 0: error: input edge: expected ids from 0 to 5, found 6' "$trainer" predict --data plain/node.npy edge=bad.npy plain/edge_kind.npy --weights run
