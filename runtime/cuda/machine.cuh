/* machine.cuh: GPU instructions that CUDA has only as PTX (sm_80 and later): products of small matrices, copies into
 * shared memory, and the loads and stores for barriers of blocks.  tests/sim replaces this file by its own. */
#ifndef LATHE_CUDA_MACHINE_CUH
#define LATHE_CUDA_MACHINE_CUH

#include "lathe_cuda.cuh"

/* ---- matrices: all 32 lanes of a warp together
 *
 * multiply_matrices<FP16>(d, a, b): d[16][8] += a[16][16] · b[16][8], numbers of 16 bits (fp16, or bf16) and sums in
 * fp32; cuda/tensor.cuh says which lane has which elements.
 *
 * load_matrices(to, row): four matrices of 8 rows of 8. Lane l gives the address of row l % 8 of matrix l / 8 in shared
 * memory (16 bytes, aligned), and gets elements 2 q, 2 q + 1 of row g of matrix m in to[m]; load_columns: of column g.
 */
#define MMA(name)                                                                                                      \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "                                                 \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                              \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
template <bool FP16> DEVICE void multiply_matrices(float *d, const uint32_t *a, const uint32_t *b)
{
    if constexpr (FP16) MMA("f16");
    else MMA("bf16");
}
#undef MMA

DEVICE unsigned shared_address(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }

#define LOAD_MATRICES(name, how)                                                                                       \
    DEVICE void name(uint32_t *to, const void *row)                                                                    \
    {                                                                                                                  \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];"                         \
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])                                              \
                     : "r"(shared_address(row))                                                                        \
                     : "memory");                                                                                      \
    }
LOAD_MATRICES(load_matrices, "")
LOAD_MATRICES(load_columns, ".trans")
#undef LOAD_MATRICES

/* ---- asynchronous copies of 16 bytes from global to shared memory.  A commit closes a group of them.  A wait is for
 * all groups except the last LEFT; then the thread sees what it has copied, and after a barrier the others do.  If
 * `there` is false, zeros are written. */
DEVICE void copy_async(void *to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
}
DEVICE void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> DEVICE void copy_wait(void) { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

/* ---- a counter in memory for barriers of blocks */
DEVICE void add_release(unsigned *at, unsigned n)
{
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(at), "r"(n) : "memory");
}
DEVICE unsigned load_acquire(const unsigned *at)
{
    unsigned x;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
    return x;
}

/* A barrier takes microseconds.  A wrong number of blocks must not hang a GPU silently: after this many reads of the
 * counter, some 20 seconds, the launch fails.  Reads are counted instead of time, so that a suspended machine does not
 * count as hanging.  stuck: where the host reads the number of the failed loop, or NULL. */
constexpr unsigned MOST_LOOKS = 1u << 25;
static __device__ __noinline__ void give_up(unsigned *stuck, unsigned loop)
{
    if (stuck) *(volatile unsigned *)stuck = loop;
    __threadfence_system();
    __trap();
}

#endif
