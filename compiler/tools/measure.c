/* measure.c: lathe-measure: what this machine's threads can do at their best, for `lathe doctor`: a line a
 * figure.  A program of its own, since lathe itself loads neither OpenMP nor BLAS. */
#include "runtime/base/process.h"
#include "lathe_rt.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "math/engine.h"
#include "math/measure.h"

#include <omp.h>

int main(void)
{
    start_process("lathe-measure");
    rt_init_gemm(omp_get_max_threads());
    printf("threads %d\n", omp_get_max_threads());
    printf("engine %s\n", gemm_engine());
    printf("copy %.6g\n", copy_rate((int64_t)256 << 20));
    printf("product %.6g\n", product_rate(LATHE_F32, NULL, 0));
    return end_process("lathe-measure", 0);
}
