# on_hosts.sh: lathe train --hosts: the words that mpirun of each kind gets, by programs that print them; what is no list of machines.
set -eu
tell() { cat "$TMP/said"; echo "FAILED: $*"; exit 1; }
. tests/ranks/both
table >"$TMP/table.csv"
mkdir -p "$TMP/bin"
# mpirun SAYS: one of that kind
mpirun() { printf '#!/bin/sh\n[ "$1" != --version ] || { echo "%s"; exit; }\necho "$@"\n' "$1" >"$TMP/bin/mpirun"; chmod +x "$TMP/bin/mpirun"; }
started() { PATH=$TMP/bin:$PATH "$LATHE" train models/mlp.lua -o "$TMP/mlp" --hosts "$1" --data "$TMP/table.csv" --steps 3 >"$TMP/said" 2>&1; }
mpirun 'mpirun (Open MPI) 4.1.4'
started a:4,10.0.0.2 || tell "exit code $?"
grep -q -- "^--host a:4,10.0.0.2 -n 5 /.*/mlp/trainer train .*--data $TMP/table.csv --steps 3\$" "$TMP/said" || tell "not the words of Open MPI"
mpirun 'HYDRA build details:'
started a:4,b-1.c:2 || tell "exit code $?"
grep -q -- '^-hosts a:4,b-1.c:2 -n 6 /.*/mlp/trainer train ' "$TMP/said" || tell "not the words of MPICH"
for wrong in a:0 a:x a:2, -x:2 'a b:2' :3 a:99999999999999999999; do
    ! started "$wrong" || tell "$wrong is taken"
    grep -qF -- '--hosts: expected machines and their numbers of processes, such as a:4,b:4, found' "$TMP/said" || tell "nothing is said of $wrong"
done
mpirun 'Another MPI 1.0'
! started a:2 || tell "another mpirun is taken"
grep -q 'is neither Open MPI.s nor MPICH.s' "$TMP/said" || tell "nothing is said of another mpirun"
