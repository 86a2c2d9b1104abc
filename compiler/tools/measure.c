/* measure.c: lathe-measure: what this machine's threads can do at their best, for `lathe doctor` and `plan
 * --time`: a line a figure, seconds of what it counts.  A program of its own, since lathe itself loads neither OpenMP
 * nor BLAS. */
#include "runtime/base/process.h"
#include "lathe_rt.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "math/measure.h"
#include "math/openmp.h"

#include <omp.h>

int main(int argc, char **argv)
{
    (void)argc;
    set_up_openmp(argv); /* its threads wait as a trainer's do */
    start_process("lathe-measure");
    rt_init_gemm(omp_get_max_threads());
    printf("threads %d\n", omp_get_max_threads());
    printf("engine %s\n", gemm_engine());
    printf("byte %.6g\n", 1 / copy_rate((int64_t)256 << 20));
    printf("product %.6g\n", 2 / product_rate(LATHE_F32, NULL, 0));
    printf("curve %.6g\n", 1 / curve_rate());
    printf("call %.6g\n", call_seconds());
    return end_process("lathe-measure", 0);
}
