/* processor.c: entries of a library run on the processor: what step/entry.h says, without devices. */
#ifdef LATHE_LIBRARY
#include "base/bug.h"
#include "math/context.h"
#include "math/gemm.h"
#include "step/entry.h"
#include "threads/pool.h"

#include <stdlib.h>
#include <string.h>

void bug_at(const char *file, int line, const char *what)
{
    (void)file, (void)line, (void)what;
    abort();
}

/* No library has OpenBLAS. */
bool gemm_blas_f32(float *c, const float *a, const float *b, const Lathe_gemm *g, bool add)
{
    (void)c, (void)a, (void)b, (void)g, (void)add;
    return false;
}
bool gemm_blas_f64(double *c, const double *a, const double *b, const Lathe_gemm *g, bool add)
{
    (void)c, (void)a, (void)b, (void)g, (void)add;
    return false;
}

Lathe_context *lathe_context(void) { return owner_of_pool(); }

bool on_device(void) { return false; }
void device_up(const void *at, int64_t bytes) { (void)at, (void)bytes; }
void device_down(void *at, int64_t bytes) { (void)at, (void)bytes; }
void show_average_there(void *params) { (void)params; }
void share_there(void *at, int64_t bytes) { (void)at, (void)bytes; }

void clear_there(void *at, int64_t bytes)
{
    if (bytes) memset(at, 0, (size_t)bytes); /* an empty array may be NULL */
}

void copy_there(void *to, const void *from, int64_t piece, int64_t n, int64_t apart)
{
    for (int64_t i = 0; i < n; i++) memcpy((char *)to + i * apart, (const char *)from + i * apart, (size_t)piece);
}

void compute_entry(const Lathe_entry *e, const Lathe_call *call) { e->run(call); }
void compute_unwatched(const Lathe_entry *e, const Lathe_call *call) { e->run(call); }
void run_entry(const Lathe_entry *e, const Lathe_call *call) { e->run(call); }
#endif
