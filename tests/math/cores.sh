# cores.sh: how many threads a trainer has: those of its affinity, of its share among a launcher's processes, of the user's word; binding
# threads does not lose any.
failures=0
cores=$(env -u OMP_NUM_THREADS nproc)
[ "$cores" -gt 1 ] || { echo "skipped: one core"; exit 77; }
unset OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES

# has THREADS COMMAND…: it runs a trainer with so many.
has() {
    wanted=$1
    shift
    found=$("$@" "$BUILD/toy_model" bench --steps 1 $option 2>"$TMP/err" | sed -n 's/^1 steps, \([0-9]*\) threads: .*/\1/p')
    [ "$found" = "$wanted" ] || { echo "FAILED: ${found:-no} threads, not $wanted: $* $option"; cat "$TMP/err"; failures=1; }
}

option=
all=$(has any env | sed -n 's/^FAILED: \([0-9]*\) threads.*/\1/p')   # fewer than $cores where a control group has a quota
[ "${all:-0}" -ge 1 ] && [ "$all" -le "$cores" ] || { echo "FAILED: $all threads of $cores cores"; exit 1; }
has "$all" env OMP_PROC_BIND=close OMP_PLACES=cores
has 1 taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')"
has 1 env OMPI_COMM_WORLD_LOCAL_SIZE="$cores"
has 3 env OMPI_COMM_WORLD_LOCAL_SIZE="$cores" OMP_NUM_THREADS=3
option='--threads 3'
has 3 taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')"
exit $failures
