# device.sh: a trainer's memory on a GPU, copies, entries as graphs, failures and refusals (runtime/cuda/device.cu) in the simulator;
# mistakes put into it (a wait left out, a graph of other pointers), each of which must be noticed.  Where nvcc is, it compiles the file.
set -eu
sh tests/sim/compile simulator "$TMP" || exit
sh tests/sim/compile program "$TMP" tests/sim/device.cu tests/sim/device_wrong.cu runtime/cuda/device.cu runtime/cuda/device_check.cu
"$TMP/program"

failed=0
. tests/sim/mutant
mutant runtime/cuda/device.cu 'cudaEventRecord(s->done, stream)' 'cudaSuccess'
mutant runtime/cuda/device.cu '(void)wait_for("a copy to the GPU", s->done);' ''
mutant runtime/cuda/device.cu 'wait_for("what the GPU was doing", l.slot->done)' 'true'
mutant runtime/cuda/device.cu '        land(before);' ''
mutant runtime/cuda/device.cu 'if (e->calls++ == 0 || gpu.waits' 'if (e->calls++ < 0'
mutant runtime/cuda/device.cu 'if (e->calls && memcmp' 'if (false && memcmp'
mutant runtime/cuda/device.cu 'wait_for("what the GPU was doing", r->end)' 'true'
mutant runtime/cuda/device.cu 'there && !gpu.failure[0] ?' 'true ?'
mutant runtime/cuda/device.cu 'cudaStreamWaitEvent(gpu.stream, a->there, 0)' 'cudaSuccess'
mutant runtime/cuda/device.cu 'cudaStreamWaitEvent(a->stream, a->taken, 0)' 'cudaSuccess'
mutant runtime/cuda/device.cu 'while (error != cudaSuccess && loops_launched' 'while (false && loops_launched'
if command -v nvcc >/dev/null; then
    nvcc -Werror all-warnings -Iruntime -arch=sm_90 -c runtime/cuda/device.cu -o "$TMP/nvcc.o"
    echo "note: nvcc compiles cuda/device.cu"
fi
exit $failed
