# mpi.sh: messages between ranks by MPI (runtime/ranks/mpi.c), under the mpirun of Open MPI and that of MPICH: messages of 0
# bytes to some MB, also of several pieces, arrive whole and in order; our signal handlers stay; nothing is written on
# standard output.  Refused: the library of the other mpirun, none, one without MPI, ranks that nobody has promised.
drive=$BUILD/carrier_drive
failed=0 tried=''
complain() { echo "failed: $*"; sed 's/^/    | /' "$TMP/said"; failed=1; }
unset LATHE_MPI

# runs MPI N WORD…: carrier_drive as N ranks; standard error lies in $TMP/said.
runs() {
    kind=$1 n=$2
    shift 2
    case $kind in
    openmpi) set -- --allow-run-as-root --oversubscribe --bind-to none -n "$n" "$drive" "$@" ;;
    mpich) set -- -n "$n" "$drive" "$@" ;;
    esac
    timeout -k 2 60 "mpirun.$kind" "$@" >"$TMP/out" 2>"$TMP/said" </dev/null
}

# refuses MPI LIBRARY WORDS
refuses() {
    LATHE_MPI=$2 runs "$1" 2 mpi && complain "$1 with $2"
    grep -q "$3" "$TMP/said" || complain "$1 with $2 does not say: $3"
}

for mpi in openmpi mpich; do
    case $mpi in
    openmpi) library=libmpi.so.40 name='Open MPI' ;;
    mpich) library=libmpich.so.12 name=MPICH ;;
    esac
    command -v mpirun.$mpi >/dev/null 2>&1 || continue
    tried="$tried $library"
    for n in 1 2 3; do
        runs $mpi $n mpi || complain "$name, $n ranks: exit $?"
        [ "$(grep -c "^rank . of $n, $name" "$TMP/said")" = $n ] || complain "$name: $n ranks were to say that they are there"
        [ ! -s "$TMP/out" ] || complain "$name writes on standard output: $(cat "$TMP/out")"
    done
    refuses $mpi libm.so.6 'LATHE_MPI names a library that is no MPI'
    refuses $mpi "$TMP/none.so" "LATHE_MPI names $TMP/none.so, which cannot be loaded: .*or unset LATHE_MPI"
    runs $mpi 2 mpi lose 1 exit
    case $mpi-$? in
    *-7 | mpich-9) ;; # MPICH may tell how it ended the other rank
    *) complain "$name: the exit code of a rank that left was to be that of mpirun" ;;
    esac
done
[ -n "$tried" ] || { echo 'skipped: neither mpirun.openmpi nor mpirun.mpich is installed (Debian: openmpi-bin, mpich)'; exit 77; }

case $tried in
*libmpi.so*libmpich*)
    refuses openmpi libmpich.so.12 'Open MPI has promised 2 ranks, .*MPICH.*sees 1: unset LATHE_MPI, or name libmpi.so.40 (Debian, Ubuntu: package libopenmpi3)'
    refuses mpich libmpi.so.40 'MPICH has promised 2 ranks, .*Open MPI.*sees 1: unset LATHE_MPI, or name libmpich.so.12 (Debian, Ubuntu: package libmpich12)'
    ;;
esac

# As launchers promise ranks, and no launcher is there.
promised() { env "$@" "$drive" mpi >"$TMP/said" 2>&1 && complain "$*: it runs"; }
promised A=b
grep -q 'no launcher has promised ranks' "$TMP/said" || complain 'without a launcher'
promised PMI_RANK=0 PMI_SIZE=2 LATHE_MPI=nowhere.so
grep -q '2 ranks of MPICH' "$TMP/said" || complain 'PMI'
promised PMIX_RANK=1 SLURM_NTASKS=4 LATHE_MPI=nowhere.so
grep -q '4 ranks of PMIx' "$TMP/said" || complain 'PMIx of Slurm'
promised OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=3
grep -q 'no launcher' "$TMP/said" || complain 'rank 3 of 3'
exit $failed
