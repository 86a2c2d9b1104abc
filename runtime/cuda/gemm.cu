/* gemm.cu: matrix products of generated code by cuBLASLt: layouts, batches, epilogues.
 *
 * The library's matrices are column-major.  A row-major c[M][N] is its c', so it computes c' = b' · a': its A is our b,
 * its rows are our columns (`exchanged`).  If c is column-major, nothing is exchanged.  The library handles the longest
 * batch axis; the host loops over the others.  If the library does not support an end, our kernels compute it
 * afterwards.  If the library is missing, has no algorithm or fails, a kernel of ours computes the product, slowly;
 * this is reported once. */
#include "cuda/gemm_internal.h"
#include "lathe_cuda.cuh"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ state and failures */

struct Gemm_library gemm_library;

void gemm_fail(const Cuda_gemm *g, const char *what, cublasStatus_t status)
{
    if (gemm_library.failure[0]) return;
    const char *call = strncmp(what, "LIBRARY.", 8) == 0 ? what + 8 : what; /* the name of a library call */
    snprintf(gemm_library.failure, sizeof gemm_library.failure, "%s: %.*s: %s", g ? g->name : "cuBLASLt",
             (int)strcspn(call, "("), call, LIBRARY.cublasLtGetStatusName ? LIBRARY.cublasLtGetStatusName(status) : "");
}

const char *cuda_gemm_failure(void) { return gemm_library.failure[0] ? gemm_library.failure : NULL; }

static char missing[400]; /* why the library is not used */

static bool is_missing(const char *what, const char *name)
{
    snprintf(missing, sizeof missing, what, name);
    return false;
}

/* LATHE_CUBLASLT names the library; otherwise it is that of CUDA 13 or 12, from the system or the toolkit that built
 * the trainer.  The simulator's is linked into its programs. */
static bool load(void)
{
    static const char *const usual[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    const char *named = getenv("LATHE_CUBLASLT"), *path = named && *named ? named : usual[0];
#ifndef __CUDACC__
#define LINKED(name) LIBRARY.name = ::name;
    CUBLASLT_FUNCTIONS(LINKED)
#undef LINKED
    if (!named) return true;
#endif
    if (LIBRARY.loaded) return true;
    void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded && path == usual[0]) loaded = dlopen(path = usual[1], RTLD_NOW | RTLD_LOCAL);
    if (!loaded) return is_missing("it was not found (%.300s)", dlerror());
#define FIND(name)                                                                                                     \
    LIBRARY.name = (decltype(&::name))dlsym(loaded, #name);                                                            \
    if (!LIBRARY.name) return is_missing("it has no %s", #name);
    CUBLASLT_FUNCTIONS(FIND)
#undef FIND
    LIBRARY.loaded = loaded;
    return true;
}

static bool start(void)
{
    if (!load()) return false;
    const cublasStatus_t status = LIBRARY.cublasLtCreate(&gemm_library.handle);
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    gemm_library.handle = NULL;
    return is_missing("it does not start (%s)", LIBRARY.cublasLtGetStatusName(status));
}

bool cuda_gemm_start(void *workspace, size_t bytes)
{
    gemm_library.failure[0] = 0;
    gemm_library.workspace = workspace;
    gemm_library.workspace_bytes = bytes;
    if (start()) return true;
    char why[sizeof missing + 120];
    snprintf(why, sizeof why, "%s: products run in kernels of Lathe, many times slower; it comes with CUDA 12 and 13",
             missing);
    second_way("cuBLASLt", why);
    return false;
}

size_t cuda_gemm_version(void) { return gemm_library.handle ? LIBRARY.cublasLtGetVersion() : 0; }

void cuda_gemm_stop(void)
{
    if (gemm_library.handle) LIBRARY.cublasLtDestroy(gemm_library.handle);
    gemm_library.handle = NULL;
}

/* ------------------------------------------------------------------ numbers */

static const struct Numbers {
    cudaDataType in, out, scale;
    cublasComputeType_t compute;
    int in_bytes, out_bytes;
} numbers_of[] = {
    /* GEMM_F32 */ {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 4, 4},
    /* GEMM_TF32 */ {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4, 4},
    /* GEMM_F64 */ {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 8, 8},
    /* GEMM_BF16 */ {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 2},
    /* GEMM_F16 */ {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 2},
    /* GEMM_BF16_TO_F32 */ {CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 4},
    /* GEMM_F16_TO_F32 */ {CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 2, 4},
};

Gemm_bytes gemm_bytes(const Cuda_gemm *g)
{
    return {numbers_of[g->numbers].in_bytes, numbers_of[g->numbers].out_bytes};
}

/* ------------------------------------------------------------------ layouts */

static Stored stored(int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    bool upright = rows == 1 || row == 1, turned = columns == 1 || column == 1;
    if (upright && turned) turned = rows == 1;
    if (turned) return {true, true, columns, rows, rows > 1 ? row : columns};
    return {upright, false, rows, columns, columns > 1 ? column : rows};
}

static int longest_axis(const Lathe_gemm *s)
{
    int longest = -1;
    for (int i = 0; i < s->nbatch; i++) {
        bool forward = s->a_batch[i] >= 0 && s->b_batch[i] >= 0 && s->c_batch[i] >= 0;
        if (forward && s->batch[i] > (longest < 0 ? 1 : s->batch[longest])) longest = i;
    }
    return longest;
}

static Layouts layouts_of(const Cuda_gemm *g)
{
    const Lathe_gemm *s = &g->shape;
    Stored upright = stored(s->M, s->N, s->c_m, s->c_n), exchanged = stored(s->N, s->M, s->c_n, s->c_m);
    Layouts l = {exchanged.fits && !exchanged.turned, {}, {}, {}, longest_axis(s)};
    l.d = l.exchanged ? exchanged : upright;
    Stored a = l.exchanged ? stored(s->K, s->M, s->a_k, s->a_m) : stored(s->M, s->K, s->a_m, s->a_k);
    Stored b = l.exchanged ? stored(s->N, s->K, s->b_n, s->b_k) : stored(s->K, s->N, s->b_k, s->b_n);
    l.a = l.exchanged ? b : a;
    l.b = l.exchanged ? a : b;
    return l;
}

static bool may_be(const Cuda_gemm *g, const Layouts *l)
{
    if (!gemm_library.handle) return false;
    if (!l->a.fits || !l->b.fits || !l->d.fits)
        gemm_fail(g, "an operand without an axis of stride 1", CUBLAS_STATUS_INVALID_VALUE);
    return !gemm_library.failure[0];
}

/* ------------------------------------------------------------------ plans */

/* apart: stride between the matrices of `batch` products. */
static bool make_layout(const Cuda_gemm *g, cublasLtMatrixLayout_t *layout, cudaDataType type, const Stored *x,
                        int64_t batch, int64_t apart)
{
    int32_t count = (int32_t)batch;
    MUST(LIBRARY.cublasLtMatrixLayoutCreate(layout, type, (uint64_t)x->rows, (uint64_t)x->columns, x->ld));
    if (batch == 1) return true;
    MUST(LIBRARY.cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    MUST(LIBRARY.cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart,
                                                  sizeof apart));
    return true;
}

static bool make_layouts(const Cuda_gemm *g, Gemm_plan *p)
{
    const Layouts *l = &p->layouts;
    const Lathe_gemm *s = &g->shape;
    const struct Numbers *n = &numbers_of[g->numbers];
    int64_t batch = l->longest < 0 ? 1 : s->batch[l->longest];
    int64_t a = l->longest < 0 ? 0 : s->a_batch[l->longest], b = l->longest < 0 ? 0 : s->b_batch[l->longest];
    int64_t c = l->longest < 0 ? 0 : s->c_batch[l->longest];
    Stored aux = {true, false, s->N, s->M, g->aux_m};
    return make_layout(g, &p->a, n->in, &l->a, batch, l->exchanged ? b : a) &&
           make_layout(g, &p->b, n->in, &l->b, batch, l->exchanged ? a : b) &&
           make_layout(g, &p->d, n->out, &l->d, batch, c) &&
           (!p->to_aux || make_layout(g, &p->aux, n->out, &aux, 1, 0));
}

static bool make_desc(const Cuda_gemm *g, const Gemm_plan *p, Way *way)
{
    const struct Numbers *n = &numbers_of[g->numbers];
    int32_t a = p->layouts.a.turned ? CUBLAS_OP_T : CUBLAS_OP_N, b = p->layouts.b.turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    MUST(LIBRARY.cublasLtMatmulDescCreate(&way->desc, n->compute, n->scale));
    MUST(LIBRARY.cublasLtMatmulDescSetAttribute(way->desc, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a));
    MUST(LIBRARY.cublasLtMatmulDescSetAttribute(way->desc, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b));
    return true;
}

/* ------------------------------------------------------------------ algorithms */

static bool prefer(const Cuda_gemm *g, const Gemm_plan *p, cublasLtMatmulPreference_t wish)
{
    static const cublasLtMatmulPreferenceAttributes_t operands[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    uint64_t bytes = gemm_library.workspace_bytes;
    const struct Numbers *n = &numbers_of[g->numbers];
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    MUST(LIBRARY.cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                      sizeof bytes));
    if (n->out_bytes == 2) /* partial sums stay in fp32 */
        MUST(LIBRARY.cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                                          sizeof reductions));
    for (int i = 0; i < 4; i++) {
        uint32_t align = (uint32_t)(p->align ? p->align : i < 2 ? n->in_bytes : n->out_bytes);
        MUST(LIBRARY.cublasLtMatmulPreferenceSetAttribute(wish, operands[i], &align, sizeof align));
    }
    return true;
}

/* Keeps the results that the library reports as usable; returns their number. */
static int usable(cublasLtMatmulHeuristicResult_t *results, int found)
{
    int n = 0;
    for (int i = 0; i < found; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS) results[n++] = results[i];
    return n;
}

int gemm_algorithms(const Cuda_gemm *g, const Gemm_plan *p, const Way *way, cublasLtMatmulHeuristicResult_t *results,
                    int most)
{
    cublasLtMatmulPreference_t wish;
    int found = 0;
    cublasStatus_t status = LIBRARY.cublasLtMatmulPreferenceCreate(&wish);
    if (status != CUBLAS_STATUS_SUCCESS) return gemm_fail(g, "cublasLtMatmulPreferenceCreate", status), 0;
    if (prefer(g, p, wish))
        status = LIBRARY.cublasLtMatmulAlgoGetHeuristic(gemm_library.handle, way->desc, p->a, p->b, way->d, way->d,
                                                        wish, most, results, &found);
    LIBRARY.cublasLtMatmulPreferenceDestroy(wish);
    if (status == CUBLAS_STATUS_SUCCESS) return usable(results, found);
    if (way == &p->plain && status != CUBLAS_STATUS_NOT_SUPPORTED)
        gemm_fail(g, "cublasLtMatmulAlgoGetHeuristic", status);
    return 0;
}

/* Chooses the algorithm that the library expects to be fastest; false: it has none. */
static bool choose(const Cuda_gemm *g, const Gemm_plan *p, Way *way)
{
    cublasLtMatmulHeuristicResult_t result;
    way->possible = gemm_algorithms(g, p, way, &result, 1) > 0;
    if (way->possible) way->algo = result.algo;
    return way->possible;
}

/* ------------------------------------------------------------------ ends */

static uint32_t epilogue_of(const Cuda_gemm *g, bool exchanged)
{
    switch (g->end) {
    case GEMM_END_NONE: break;
    case GEMM_END_BIAS: return CUBLASLT_EPILOGUE_BIAS;
    case GEMM_END_GELU: return g->aux_m ? CUBLASLT_EPILOGUE_GELU_AUX : CUBLASLT_EPILOGUE_GELU;
    case GEMM_END_BIAS_GELU: return g->aux_m ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_BIAS;
    case GEMM_END_GELU_BACK: return CUBLASLT_EPILOGUE_DGELU;
    case GEMM_END_SUM_A: return exchanged ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
    case GEMM_END_SUM_B: return exchanged ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
    }
    return CUBLASLT_EPILOGUE_DEFAULT;
}

/* The library's bias is along its rows, and rows of its aux are multiples of eight. */
static bool may_end(const Cuda_gemm *g, const Gemm_plan *p)
{
    if (g->end == GEMM_END_NONE || !p->align) return false;
    return gemm_sums(g) || (p->layouts.exchanged && !(gemm_uses_aux(g) && (g->aux_m % 8 || g->aux_m < g->shape.N)));
}

static bool set_vector(const Cuda_gemm *g, const Way *way, void *vector)
{
    if (gemm_has_bias(g) || gemm_sums(g))
        MUST(LIBRARY.cublasLtMatmulDescSetAttribute(way->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                    &vector, sizeof vector));
    return true;
}

static bool set_pointers(const Cuda_gemm *g, const Way *way, void *vector, void *aux)
{
    if (!set_vector(g, way, vector)) return false;
    if (gemm_uses_aux(g))
        MUST(LIBRARY.cublasLtMatmulDescSetAttribute(way->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                                                    &aux, sizeof aux));
    return true;
}

static bool set_epilogue(const Cuda_gemm *g, const Way *way, uint32_t epilogue)
{
    MUST(LIBRARY.cublasLtMatmulDescSetAttribute(way->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    return true;
}

/* Chooses the product before an end of ours; the library adds the bias of a gelu if it can.  The alignment of the
 * pointers matters for the choice. */
static bool choose_plain(const Cuda_gemm *g, Gemm_plan *p, void *vector)
{
    p->plain.d = p->to_aux ? p->aux : p->d;
    if (!make_desc(g, p, &p->plain)) return false;
    if (g->end == GEMM_END_BIAS_GELU && may_end(g, p)) {
        if (!set_vector(g, &p->plain, vector) || !set_epilogue(g, &p->plain, CUBLASLT_EPILOGUE_BIAS)) return false;
        if ((p->biased = choose(g, p, &p->plain))) return true;
        if (!set_epilogue(g, &p->plain, CUBLASLT_EPILOGUE_DEFAULT)) return false;
    }
    if (!choose(g, p, &p->plain)) gemm_fail(g, "no algorithm for it", CUBLAS_STATUS_NOT_SUPPORTED);
    return p->plain.possible;
}

static bool choose_ended(const Cuda_gemm *g, Gemm_plan *p, void *vector, void *aux)
{
    p->ended.d = p->d;
    if (!may_end(g, p)) return true;
    if (!make_desc(g, p, &p->ended) || !set_pointers(g, &p->ended, vector, aux)) return false;
    if (!set_epilogue(g, &p->ended, epilogue_of(g, p->layouts.exchanged))) return false;
    if (gemm_uses_aux(g))
        MUST(LIBRARY.cublasLtMatmulDescSetAttribute(p->ended.desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &g->aux_m,
                                                    sizeof g->aux_m));
    choose(g, p, &p->ended);
    return !gemm_library.failure[0];
}

/* ------------------------------------------------------------------ making and freeing them */

/* Frees the library's objects. */
static void free_library_plan(Gemm_plan *p)
{
    if (p->plain.desc) LIBRARY.cublasLtMatmulDescDestroy(p->plain.desc);
    if (p->ended.desc) LIBRARY.cublasLtMatmulDescDestroy(p->ended.desc);
    if (p->a) LIBRARY.cublasLtMatrixLayoutDestroy(p->a);
    if (p->b) LIBRARY.cublasLtMatrixLayoutDestroy(p->b);
    if (p->d) LIBRARY.cublasLtMatrixLayoutDestroy(p->d);
    if (p->aux) LIBRARY.cublasLtMatrixLayoutDestroy(p->aux);
    p->plain = p->ended = {};
    p->a = p->b = p->d = p->aux = NULL;
}

static void free_plan(Gemm_plan *p)
{
    free_library_plan(p);
    free(p);
}

void gemm_take_own(const Cuda_gemm *g, Gemm_plan *p, const char *why)
{
    char line[sizeof gemm_library.failure + 80];
    const size_t n = strlen(g->name);
    if (strncmp(why, g->name, n) == 0 && why[n] == ':') why += n + 2;
    snprintf(line, sizeof line, "%s: it runs in a kernel of Lathe, many times slower", why);
    if (gemm_library.handle) second_way(g->name, line);
    free_library_plan(p);
    gemm_library.failure[0] = 0;
    p->own = true;
    p->to_aux = p->biased = false;
}

void cuda_gemm_forget(Cuda_gemm *g)
{
    for (Gemm_plan *&p : g->plan) {
        if (p) free_plan(p);
        p = NULL;
    }
}

Gemm_plan *gemm_plan(Cuda_gemm *g, bool wide, void *vector, void *aux)
{
    Gemm_plan **at = &g->plan[wide ? 0 : 1];
    if (*at) return *at;
    if (g->end != GEMM_END_NONE && g->shape.nbatch)
        return gemm_fail(g, "an end after a batch", CUBLAS_STATUS_INVALID_VALUE), nullptr;
    Gemm_plan *p = (Gemm_plan *)calloc(1, sizeof *p);
    if (!p) {
        gemm_fail(g, "its descriptors", CUBLAS_STATUS_ALLOC_FAILED);
        return NULL;
    }
    p->layouts = layouts_of(g);
    p->align = wide ? 16 : 0;
    p->to_aux = gemm_is_gelu(g) && g->aux_m >= g->shape.N && p->layouts.exchanged;
    if (!(may_be(g, &p->layouts) && make_layouts(g, p) && choose_plain(g, p, vector) &&
          choose_ended(g, p, vector, aux)))
        gemm_take_own(g, p, gemm_library.failure);
    return *at = p;
}

/* ------------------------------------------------------------------ calls */

bool gemm_is_wide(const Cuda_gemm *g, const void *c, const void *a, const void *b, const void *vector, const void *aux)
{
    const Lathe_gemm *s = &g->shape;
    const struct Numbers *n = &numbers_of[g->numbers];
    uintptr_t bits = (uintptr_t)c | (uintptr_t)a | (uintptr_t)b | (uintptr_t)vector | (uintptr_t)aux;
    for (int i = 0; i < s->nbatch; i++)
        bits |= (uintptr_t)((s->a_batch[i] | s->b_batch[i]) * n->in_bytes | s->c_batch[i] * n->out_bytes);
    return bits % 16 == 0;
}

static bool multiply(const Cuda_gemm *g, const Gemm_plan *p, const Way *way, void *c, const void *a, const void *b,
                     bool add, cudaStream_t stream)
{
    static const float one_f32 = 1, zero_f32 = 0;
    static const double one_f64 = 1, zero_f64 = 0;
    bool f64 = g->numbers == GEMM_F64;
    const void *one = f64 ? (const void *)&one_f64 : &one_f32, *zero = f64 ? (const void *)&zero_f64 : &zero_f32;
    MUST(LIBRARY.cublasLtMatmul(gemm_library.handle, way->desc, one, p->layouts.exchanged ? b : a, p->a,
                                p->layouts.exchanged ? a : b, p->b, add ? one : zero, c, way->d, c, way->d, &way->algo,
                                gemm_library.workspace, gemm_library.workspace_bytes, stream));
    gemm_library.done++;
    return true;
}

/* Loops over the batch axes from number `axis` on, except the library's. */
static bool multiply_all(const Cuda_gemm *g, const Gemm_plan *p, int axis, char *c, const char *a, const char *b,
                         bool add, cudaStream_t stream)
{
    const Lathe_gemm *s = &g->shape;
    const struct Numbers *n = &numbers_of[g->numbers];
    if (axis == s->nbatch) return multiply(g, p, &p->plain, c, a, b, add, stream);
    int64_t times = axis == p->layouts.longest ? 1 : s->batch[axis];
    for (int64_t i = 0; i < times; i++)
        if (!multiply_all(g, p, axis + 1, c + i * s->c_batch[axis] * n->out_bytes,
                          a + i * s->a_batch[axis] * n->in_bytes, b + i * s->b_batch[axis] * n->in_bytes, add, stream))
            return false;
    return true;
}

void gemm_run(const Cuda_gemm *g, const Gemm_plan *p, bool ended, void *c, const void *a, const void *b, bool add,
              cudaStream_t stream, void *vector, void *aux)
{
    if (ended && !p->own) {
        if (set_pointers(g, &p->ended, vector, aux)) multiply(g, p, &p->ended, c, a, b, add, stream);
        return;
    }
    if (p->biased && !set_vector(g, &p->plain, vector)) return;
    char *to = (char *)(p->to_aux ? aux : c);
    if (p->own) gemm_own(g, c, a, b, add, stream);
    else if (!multiply_all(g, p, 0, to, (const char *)a, (const char *)b, add, stream)) return;
    if (g->end != GEMM_END_NONE)
        gemm_end(g, p, c, a, b, add, vector, aux, gemm_library.workspace, gemm_library.workspace_bytes, stream);
}

/* If the library fails, our kernel computes the whole product from then on; not if a part of its batch has already been
 * added. */
void cuda_gemm(Cuda_gemm *g, void *c, const void *a, const void *b, bool add, cudaStream_t stream,
               const void *read_vector, const void *read_aux)
{
    void *vector = (void *)read_vector, *aux = (void *)read_aux;
    const bool clean = cudaPeekAtLastError() == cudaSuccess;
    if (gemm_library.failure[0]) return;
    Gemm_plan *p = gemm_plan(g, gemm_is_wide(g, c, a, b, vector, aux), vector, aux);
    if (!p) return;
    gemm_library.done = 0;
    gemm_run(g, p, p->ended.possible && !(add && gemm_sums(g)), c, a, b, add, stream, vector, aux);
    if (!gemm_library.failure[0] || p->own || (add && gemm_library.done)) return;
    if (clean) (void)cudaGetLastError();
    gemm_take_own(g, p, gemm_library.failure);
    gemm_run(g, p, false, c, a, b, add, stream, vector, aux);
}
