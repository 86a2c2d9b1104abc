# device.sh: a trainer's memory on a GPU, copies, entries as graphs, failures and refusals (runtime/cuda_device.cu) in the simulator;
# mistakes put into it (a wait left out, a graph of other pointers), each of which must be noticed.  Where nvcc is, it compiles the file.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/device.cu runtime/cuda_device.cu
"$TMP/program"

failed=0
mutant() { # FROM TO
    awk -v from="$1" -v to="$2" '!done && (at = index($0, from)) {
        $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); done = 1 } { print }
        END { exit !done }' runtime/cuda_device.cu >"$TMP/cuda_device.cu" || { echo "failed: no \"$1\" in cuda_device.cu"; failed=1; }
    sh tests/sim/compile program "$TMP" "$TMP/cuda_device.cu"
    ! timeout 60 "$TMP/program" >"$TMP/said" 2>&1 || { echo "failed: nobody notices \"$2\" for \"$1\""; failed=1; }
}
mutant 'cudaEventRecord(s->done, gpu.stream)' 'cudaSuccess'
mutant 'failed("a copy to the GPU", cudaEventSynchronize(s->done));' ''
mutant 'if (e->calls++ == 0 || gpu.waits' 'if (e->calls++ < 0'
mutant 'if (e->calls && memcmp' 'if (false && memcmp'
mutant 'cudaEventSynchronize(r->end)' 'cudaSuccess'
if command -v nvcc >/dev/null; then
    nvcc -Werror all-warnings -Iruntime -arch=sm_90 -c runtime/cuda_device.cu -o "$TMP/nvcc.o"
    echo "note: nvcc compiles cuda_device.cu"
fi
exit $failed
