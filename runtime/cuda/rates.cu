/* rates.cu: the best rates of a GPU: bytes copied, and flop of one large product of the model's kind. */
#include "cuda/rates.h"
#include "cuda/device.h"
#include "cuda/gemm.h"

#include <math.h>
#include <string.h>

static struct {
    const Lathe_model *model;
    char *block;
    int64_t bytes;
} of;

enum { SMALLEST = 64, LARGEST = 8192 }; /* matrices */

static double timed(void (*work)(void *with), void *with)
{
    double seconds = 0, least = HUGE_VAL;
    for (int i = 0; i < 4; i++) { /* the first is not counted */
        gpu_begin(0);
        work(with);
        gpu_send(0, gpu_place(of.block), 8);
        (void)gpu_sent(0, &seconds);
        if (i > 0 && seconds < least) least = seconds;
    }
    return least;
}

static void copy_half(void *)
{
    gpu_copy(of.block, of.block + of.bytes / 2, of.bytes / 2, 1, of.bytes / 2);
}

/* The model's kind of products. */
static Gemm_numbers numbers_of_model(void)
{
    const char *precision = of.model->precision;
    if (of.model->real == LATHE_F64) return GEMM_F64;
    if (strcmp(precision, "bf16") == 0) return GEMM_BF16;
    if (strcmp(precision, "fp16") == 0) return GEMM_F16;
    return strcmp(precision, "tf32") == 0 ? GEMM_TF32 : GEMM_F32;
}

static int bytes_of(Gemm_numbers n) { return n == GEMM_F64 ? 8 : n == GEMM_BF16 || n == GEMM_F16 ? 2 : 4; }

static void multiply(void *with)
{
    Cuda_gemm *g = (Cuda_gemm *)with;
    int64_t bytes = g->shape.M * g->shape.K * bytes_of(g->numbers);
    char *at = (char *)gpu_place(of.block);
    cuda_gemm(g, at, at + bytes, at + 2 * bytes, false, gpu_stream());
}

void gpu_rates(const Lathe_model *model, char *block, int64_t bytes, bool multiplies, double *copy, double *product)
{
    of = {model, block, bytes};
    const Gemm_numbers numbers = numbers_of_model();
    int64_t n = LARGEST;
    *copy = (double)of.bytes / timed(copy_half, NULL);
    *product = 0;
    while (n >= SMALLEST && 3 * n * n * bytes_of(numbers) > of.bytes) n /= 2;
    if (n < SMALLEST || !multiplies) return;
    Cuda_gemm g = {"a large product", numbers, GEMM_END_NONE, {}, 0, {}};
    g.shape.M = g.shape.N = g.shape.K = g.shape.a_m = g.shape.b_k = g.shape.c_m = n;
    g.shape.a_k = g.shape.b_n = g.shape.c_n = 1;
    *product = 2 * (double)n * (double)n * (double)n / timed(multiply, &g);
    gpu_clear(of.block, of.bytes);
    gpu_wait();
    cuda_gemm_forget(&g);
}
