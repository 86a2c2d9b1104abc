/* fake_cublaslt_multiply.cc: a product with its epilogue in double precision on the host, operands and results rounded to what
 * their types hold. */
#include "fake_cublaslt.h"

#include <math.h>
#include <vector>

/* ------------------------------------------------------------------ numbers */

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* To `lost` bits fewer, to nearest, ties to even. */
static uint32_t shortened(float x, int lost)
{
    uint32_t bits = bits_of(x);
    if (isnan(x)) return bits | 1u << 22;
    return (bits + (1u << (lost - 1)) - 1 + (bits >> lost & 1)) & ~0u << lost;
}

static double loaded(const void *at, int64_t i, int type)
{
    switch (type) {
    case CUDA_R_64F: return ((const double *)at)[i];
    case CUDA_R_32F: return ((const float *)at)[i];
    case CUDA_R_16BF: return of_bits((uint32_t)((const uint16_t *)at)[i] << 16);
    default: return ((const _Float16 *)at)[i];
    }
}

static void store(void *at, int64_t i, int type, double x)
{
    switch (type) {
    case CUDA_R_64F: ((double *)at)[i] = x; break;
    case CUDA_R_32F: ((float *)at)[i] = (float)x; break;
    case CUDA_R_16BF: ((uint16_t *)at)[i] = (uint16_t)(shortened((float)x, 16) >> 16); break;
    default: ((_Float16 *)at)[i] = (_Float16)(float)x;
    }
}

/* The tanh form. */
static double gelu(double x) { return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

static double gelu_slope(double x)
{
    double s = sqrt(2 / M_PI), t = tanh(s * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * s * (1 + 3 * 0.044715 * x * x);
}

/* ------------------------------------------------------------------ the product */

typedef std::vector<double> Matrix;

/* op(A) of one product, row by row: [rows][columns]. */
static Matrix gathered(const void *at, const Layout &l, bool turned, int64_t which, bool tf32)
{
    Matrix x(l.rows * l.columns);
    for (uint64_t j = 0; j < l.columns; j++)
        for (uint64_t i = 0; i < l.rows; i++) {
            double v = loaded(at, which * l.apart + (int64_t)j * l.ld + (int64_t)i, l.type);
            x[turned ? j * l.rows + i : i * l.columns + j] = tf32 ? of_bits(shortened((float)v, 13)) : v;
        }
    return x;
}

/* What the epilogue makes of element (i, j), and what it sums. */
static double ended(const Product &p, double x, uint64_t i, uint64_t j, Matrix *sum)
{
    int e = p.desc.epilogue;
    int64_t at = (int64_t)j * p.desc.aux_ld + (int64_t)i;
    if (e & 4) x += loaded(p.desc.bias, (int64_t)i, p.d.type);
    if (writes_aux(e)) store(p.desc.aux, at, p.d.type, x);
    if (e & 32) x = gelu(x);
    if (e & 64) x *= gelu_slope(loaded(p.desc.aux, at, p.d.type));
    if (e & 16) (*sum)[i] += x;
    return x;
}

static void multiply(const Product &p, double alpha, const void *A, const void *B, double beta, const void *C, void *D)
{
    bool tf32 = p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    Matrix sum(sums(p.desc.epilogue) ? vector_layout(p).rows : 0);
    for (int64_t which = 0; which < p.d.batch; which++) {
        Matrix a = gathered(A, p.a, p.desc.turned_a, which, tf32), b = gathered(B, p.b, p.desc.turned_b, which, tf32);
        for (uint64_t i = 0; i < p.m; i++) {
            Matrix row(p.n);
            for (uint64_t k = 0; k < p.k; k++) {
                double x = a[i * p.k + k];
                if (p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADA) sum[i] += x;
                for (uint64_t j = 0; j < p.n; j++) row[j] += x * b[k * p.n + j];
            }
            for (uint64_t j = 0; j < p.n; j++) {
                int64_t to = which * p.d.apart + (int64_t)j * p.d.ld + (int64_t)i;
                double x = alpha * row[j];
                if (beta != 0) x += beta * loaded(C, which * p.c.apart + (int64_t)j * p.c.ld + (int64_t)i, p.c.type);
                store(D, to, p.d.type, ended(p, x, i, j, &sum));
            }
        }
        for (uint64_t k = 0; k < p.k && p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADB; k++)
            for (uint64_t j = 0; j < p.n; j++) sum[j] += b[k * p.n + j];
    }
    for (size_t i = 0; i < sum.size(); i++) store((void *)p.desc.bias, (int64_t)i, p.d.type, sum[i]);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                              cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    Product p;
    cublasStatus_t status = product_of(&p, handle, desc, a, b, c, d);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!supported(p)) return CUBLAS_STATUS_NOT_SUPPORTED;
    const Algo *words = (const Algo *)(const void *)algo;
    status = fits(words, p);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    double x = loaded(alpha, 0, p.desc.scale), y = loaded(beta, 0, p.desc.scale);
    status = check_operands(p, *words, A, B, C, D, y != 0, workspace, workspace_bytes);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    double ms = cost(p, *words);
    if (ms < 0 || sim_refuses("product")) return CUBLAS_STATUS_EXECUTION_FAILED;
    uint64_t used = words->workspace;
    bool wrong = (words->number == WIDE && sim_refuses("wrong_wide")) || sim_refuses("wrong_all") ||
                 (p.desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT && sim_refuses("wrong_end"));
    cudaError_t error = sim_enqueue(stream, "cublasLtMatmul", [=] {
        if (used) memset(workspace, 0xff, used); /* what was there is gone */
        multiply(p, x, A, B, y, C, D);
        int64_t last = (int64_t)(p.n - 1) * p.d.ld + (int64_t)p.m - 1;
        if (wrong) store(D, last, p.d.type, 1.5 * loaded(D, last, p.d.type) + 2);
        sim_spend(ms);
        return cudaSuccess;
    });
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
