/* engine.c: chooses the engine of matrix products, ours or OpenBLAS; takes the rooms of threads. */
#include "math/engine.h"
#include "base/words.h"
#include "math/context.h"
#include "math/gemm.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool through_blas; /* else our own engine: the same bits everywhere */

const Gemm_watch *gemm_watch;

void gemm_rows_live(int64_t n) { lathe_context()->live_rows = n; }

static void take_rooms(int threads)
{
    Lathe_context *now = lathe_context();
    const size_t of_one = (size_t)gemm_room_bytes(), bytes = (size_t)threads * of_one;
    if (threads <= now->threads_with_room) return;
    if (now->rooms) munmap(now->rooms, (size_t)now->threads_with_room * of_one);
    now->rooms = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (now->rooms == MAP_FAILED) fail(EXIT_ERROR, NULL, "out of memory: packing matrices needs %zu more bytes", bytes);
    (void)madvise(now->rooms, bytes, MADV_HUGEPAGE);
    now->threads_with_room = threads;
}

const char *gemm_engine(void)
{
#if defined __AVX512F__
    static const char vectors[] = "avx512";
#elif defined __AVX2__
    static const char vectors[] = "avx2";
#else
    static const char vectors[] = "plain";
#endif
    return through_blas ? "openblas" : vectors;
}

void rt_init_gemm(int threads)
{
    const char *engine = getenv("LATHE_GEMM");
    if (engine) through_blas = strcmp(engine, "openblas") == 0;
    omp_set_num_threads(threads);
    take_rooms(threads);
    if (!through_blas || gemm_init_blas(threads)) return;
    through_blas = false;
    note("LATHE_GEMM=openblas: libopenblas.so.0 was not found; products use Lathe's own engine");
}
