/* fake_cublaslt.cc: cuBLASLt of the simulator, with the rules of include/cublasLt.h: what is wrong with a product, and a choice of
 * three algorithms. */
#include "fake_cublaslt.h"

#include <algorithm>

/* ------------------------------------------------------------------ a product, and what is wrong with it */

/* FNV-1a over what makes one product another; not over pointers. */
uint64_t Product::key(void) const
{
    uint64_t h = 14695981039346656037ull;
    auto add = [&h](uint64_t x) {
        for (int i = 0; i < 8; i++) h = (h ^ (x >> 8 * i & 255)) * 1099511628211ull;
    };
    for (int x : {desc.compute, desc.scale, desc.turned_a, desc.turned_b, desc.epilogue}) add(x);
    add(desc.aux_ld);
    for (const Layout *l : {&a, &b, &c, &d})
        for (uint64_t x : {(uint64_t)l->type, (uint64_t)l->batch, l->rows, l->columns, (uint64_t)l->ld, (uint64_t)l->apart}) add(x);
    return h;
}

static bool types_fit(const Product &p)
{
    int in = p.a.type, out = p.d.type;
    if (p.b.type != in || p.c.type != out) return false;
    if (p.desc.compute == CUBLAS_COMPUTE_64F)
        return in == CUDA_R_64F && out == CUDA_R_64F && p.desc.scale == CUDA_R_64F;
    if (p.desc.scale != CUDA_R_32F) return false;
    if (in == CUDA_R_32F) return out == CUDA_R_32F;
    return p.desc.compute == CUBLAS_COMPUTE_32F && (in == CUDA_R_16BF || in == CUDA_R_16F) && (out == in || out == CUDA_R_32F);
}

static cublasStatus_t check_layout(const Layout &l, const char *name)
{
    if (l.order != 0) return refuse("%s: order %d", name, l.order);
    if (!l.rows || !l.columns || l.rows > INT32_MAX || l.columns > INT32_MAX)
        return refuse("%s: %llu rows, %llu columns", name, (unsigned long long)l.rows, (unsigned long long)l.columns);
    if (l.ld < (int64_t)l.rows)
        return refuse("%s: leading dimension %lld is less than its %llu rows", name, (long long)l.ld, (unsigned long long)l.rows);
    if (l.batch < 1 || l.apart < 0) return refuse("%s: a batch of %d, %lld apart", name, l.batch, (long long)l.apart);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t check_epilogue(const Product &p)
{
    switch (p.desc.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB: break;
    default: return refuse("epilogue %d", p.desc.epilogue);
    }
    if (uses_aux(p.desc.epilogue) && (p.desc.aux_ld < (int64_t)p.m || p.desc.aux_ld % 8))
        return refuse("the leading dimension of aux is %lld: at least %llu, and a multiple of 8", (long long)p.desc.aux_ld,
                      (unsigned long long)p.m);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublaslt::product_of(Product *p, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
    const Desc *words = words_of<Desc>(desc, DESC);
    const Layout *la = words_of<Layout>(a, LAYOUT), *lb = words_of<Layout>(b, LAYOUT);
    const Layout *lc = words_of<Layout>(c, LAYOUT), *ld = words_of<Layout>(d, LAYOUT);
    if (!is_handle(handle)) return refuse("a handle that is none (any more)");
    if (!words || !la || !lb || !lc || !ld) return refuse("a descriptor or layout that is none (any more)");
    *p = {*words, *la, *lb, *lc, *ld, ld->rows, ld->columns, words->turned_a ? la->rows : la->columns};
    if (!types_fit(*p)) return refuse("numbers that do not go together");
    const char *names[] = {"A", "B", "C", "D"};
    int i = 0;
    for (const Layout *l : {la, lb, lc, ld}) {
        cublasStatus_t status = check_layout(*l, names[i++]);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
        if (l->batch != ld->batch) return refuse("batches of %d and %d", l->batch, ld->batch);
    }
    uint64_t am = words->turned_a ? la->columns : la->rows, bk = words->turned_b ? lb->columns : lb->rows;
    uint64_t bn = words->turned_b ? lb->rows : lb->columns;
    if (am != p->m || bn != p->n || bk != p->k || lc->rows != p->m || lc->columns != p->n)
        return refuse("extents that do not fit: A gives %llu x %llu, B %llu x %llu, D is %llu x %llu", (unsigned long long)am,
                      (unsigned long long)p->k, (unsigned long long)bk, (unsigned long long)bn, (unsigned long long)p->m,
                      (unsigned long long)p->n);
    return check_epilogue(*p);
}

static bool epilogues = true, gelus = true;
void fake_cublaslt_epilogues(bool some, bool of_gelu)
{
    epilogues = some;
    gelus = of_gelu;
}

/* The library has no epilogues in fp64, and sums of a batch have no place to go. */
bool fake_cublaslt::supported(const Product &p)
{
    if (p.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
    if (!gelus && (p.desc.epilogue & (32 | 64))) return false;
    return epilogues && p.d.type != CUDA_R_64F && !(sums(p.desc.epilogue) && p.d.batch > 1);
}

/* ------------------------------------------------------------------ algorithms */


static double costs[ALGORITHMS] = {3, 1, 2}, epilogue_cost; /* ms; negative: it does not launch */
void fake_cublaslt_costs(double plain, double wide, double divided, double epilogue)
{
    epilogue_cost = epilogue;
    costs[PLAIN] = plain;
    costs[WIDE] = wide;
    costs[DIVIDED] = divided;
}

double fake_cublaslt::cost(const Product &p, const Algo &algo)
{
    if (costs[algo.number] < 0) return -1;
    return costs[algo.number] + (p.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? 0 : epilogue_cost);
}

static uint32_t alignment_of(const void *at)
{
    uintptr_t x = (uintptr_t)at;
    return x ? (uint32_t)(x & -x) : 256;
}

static bool even(const Layout &l) { return l.ld * size_of(l.type) % 16 == 0 && l.apart * size_of(l.type) % 16 == 0; }

static Algo algo_of(const Product &p, const Preference &wish, uint32_t number)
{
    uint32_t least = number == WIDE ? 16 : 0;
    auto needs = [&](const Layout &l) { return std::max<uint32_t>(size_of(l.type), least); };
    Algo algo = {ALGO, number, p.key(), 0, needs(p.a), needs(p.b), needs(p.c), needs(p.d), 1, 1};
    if (number == DIVIDED) algo.workspace = 2 * p.m * p.n * p.d.batch * 8;
    if (uses_vector(p.desc.epilogue)) algo.align_bias = std::min<uint32_t>(16, alignment_of(p.desc.bias));
    if (uses_aux(p.desc.epilogue)) algo.align_aux = std::min<uint32_t>(16, alignment_of(p.desc.aux));
    (void)wish;
    return algo;
}

static bool allowed(const Product &p, const Algo &algo, const Preference &wish)
{
    if (algo.number == WIDE && !(even(p.a) && even(p.b) && even(p.c) && even(p.d))) return false;
    if (algo.number == DIVIDED && (p.k < 64 || !(wish.reductions & 7))) return false;
    return algo.workspace <= wish.workspace && algo.align_a <= wish.align_a && algo.align_b <= wish.align_b &&
           algo.align_c <= wish.align_c && algo.align_d <= wish.align_d;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int *found)
{
    Product p;
    const Preference *wish = words_of<Preference>(preference, PREFERENCE);
    *found = 0;
    if (!wish || wanted < 1) return refuse("no preference, or %d algorithms wanted", wanted);
    cublasStatus_t status = product_of(&p, handle, desc, a, b, c, d);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!supported(p) || sim_refuses("algorithm")) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (uint32_t number : {WIDE, DIVIDED, PLAIN}) {
        Algo algo = algo_of(p, *wish, number);
        if (*found == wanted || !allowed(p, algo, *wish)) continue;
        cublasLtMatmulHeuristicResult_t *r = &results[(*found)++];
        *r = {};
        memcpy(&r->algo, &algo, sizeof algo);
        r->workspaceSize = algo.workspace;
        r->wavesCount = 1;
    }
    return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t fake_cublaslt::fits(const Algo *algo, const Product &p)
{
    if (!algo || algo->magic != ALGO || algo->number >= ALGORITHMS) return refuse("an algorithm that is none");
    if (algo->problem != p.key()) return refuse("an algorithm of another product");
    return CUBLAS_STATUS_SUCCESS;
}

/* Of one from a file it is nobody's fault: nothing is said. */
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result)
{
    Product p;
    const Algo *words = (const Algo *)(const void *)algo;
    cublasStatus_t status = product_of(&p, handle, desc, a, b, c, d);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!supported(p)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (words->magic != ALGO || words->number >= ALGORITHMS || words->problem != p.key()) return CUBLAS_STATUS_INVALID_VALUE;
    *result = {};
    result->workspaceSize = words->workspace;
    return CUBLAS_STATUS_SUCCESS;
}
