# two_hosts.sh: ranks on two hosts (network namespaces with names and addresses of their own), by Open MPI and MPICH: what
# they send each other is whole, and has crossed the cable between the hosts; so it is over a cable that is slow and loses packets.
. tests/ranks/hosts
hosts_possible || { echo "skipped: $why"; exit 77; }
drive=$BUILD/carrier_drive
failed=0 tried=''
complain() { echo "failed: $*"; sed 's/^/    | /' "$TMP/said"; failed=1; }
unset LATHE_MPI
trap remove_hosts EXIT
trap 'exit 1' INT TERM
make_hosts || { echo 'failed: two hosts could not be made'; exit 1; }

# runs MPI WORD…: carrier_drive as two ranks
runs() { (kind=$1; shift; mpirun_hosts "$kind" 2 "$drive" mpi "$@" >"$TMP/out" 2>"$TMP/said" </dev/null); }

for mpi in openmpi mpich; do
    command -v mpirun.$mpi >/dev/null 2>&1 || continue
    tried=yes
    cable 0 0 0
    before=$(bytes_crossed)
    runs $mpi || complain "$mpi: exit $?"
    crossed=$(($(bytes_crossed) - before))
    for rank in 0 1; do
        grep -q "^rank $rank of 2, .*, node$((rank + 1))$" "$TMP/said" || complain "$mpi: rank $rank was to be on node$((rank + 1))"
    done
    sent=$(sed -n 's/^rank 0 sent \([0-9]*\) bytes and received \([0-9]*\)$/\1 \2/p' "$TMP/said" | awk '{ print $1 + $2 }')
    [ "${sent:-0}" -gt 10000000 ] && [ $crossed -ge "$sent" ] || complain "$mpi: of $sent bytes $crossed crossed the cable"
done
[ -n "$tried" ] || { echo 'skipped: neither mpirun.openmpi nor mpirun.mpich is installed (Debian: openmpi-bin, mpich)'; exit 77; }

command -v mpirun.mpich >/dev/null 2>&1 && mpi=mpich || mpi=openmpi
cable 20 1 0
runs $mpi cross 100000 || complain "$mpi, a slow cable: exit $?"
took=$(sed -n 's/^rank 0: twice .* bytes each way in \([0-9]*\) ms$/\1/p' "$TMP/said")
[ "${took:-0}" -ge 40 ] || complain "a message and its answer over a cable of 20 ms took $took ms"
exit $failed
