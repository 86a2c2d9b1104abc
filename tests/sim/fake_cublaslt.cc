/* fake_cublaslt.cc: cuBLASLt of the simulator: descriptors, a choice of three algorithms, and the product in double
 * precision on the host, with the rules of include/cublasLt.h.  Column-major as the library: element (i, j) of a matrix at
 * i + j · ld. */
#include "sim.h"

#include <algorithm>
#include <cublasLt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

struct cublasLtContext {
    int users;
};

/* ------------------------------------------------------------------ what lies in the opaque structs */

enum : uint32_t { LAYOUT = 0x6c61796f, DESC = 0x64657363, PREFERENCE = 0x70726566, ALGO = 0x616c676f };

struct Layout {
    uint32_t magic;
    int32_t type, order, batch;
    uint64_t rows, columns;
    int64_t ld, apart; /* apart: from a product's matrix to the next one's */
};

struct Desc {
    uint32_t magic;
    int32_t compute, scale, turned_a, turned_b, epilogue;
    const void *bias;
    void *aux;
    int64_t aux_ld;
};

struct Preference {
    uint32_t magic;
    uint32_t reductions, align_a, align_b, align_c, align_d;
    uint64_t workspace;
};

/* What an algorithm was chosen for. */
struct Algo {
    uint32_t magic;
    uint32_t number; /* of fake_cublaslt_costs */
    uint64_t problem, workspace;
    uint32_t align_a, align_b, align_c, align_d, align_bias, align_aux;
};

static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "");
static_assert(sizeof(Desc) <= sizeof(cublasLtMatmulDescOpaque_t), "");
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "");
static_assert(sizeof(Algo) <= sizeof(cublasLtMatmulAlgo_t), "");

static cublasStatus_t refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static cublasStatus_t refuse(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    sim_refuse(cudaErrorInvalidValue, "cuBLASLt: %s", text);
    return CUBLAS_STATUS_INVALID_VALUE;
}

/* `words`, copied into an opaque struct of the library's size. */
template <class Opaque, class T> static Opaque *made(const T &words)
{
    Opaque *o = (Opaque *)calloc(1, sizeof(Opaque));
    if (!o) abort();
    memcpy(o, &words, sizeof words);
    return o;
}

template <class T, class Opaque> static T *words_of(Opaque *o, uint32_t magic)
{
    T *words = (T *)(void *)o;
    return words && words->magic == magic ? words : NULL;
}

template <class T> static cublasStatus_t destroy(T *words, void *opaque, const char *what)
{
    if (!words) return refuse("%s destroyed that is none (any more)", what);
    words->magic = 0;
    free(opaque);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T> static cublasStatus_t set(T *to, const void *value, size_t bytes, const char *what)
{
    if (!value || bytes != sizeof *to) return refuse("%s is set from %zu bytes, not %zu", what, bytes, sizeof *to);
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
#define SET(to) set(&(to), value, bytes, #to)

/* ------------------------------------------------------------------ descriptors */

static std::vector<cublasLtHandle_t> handles;

static bool is_handle(cublasLtHandle_t h)
{
    for (cublasLtHandle_t other : handles)
        if (other == h) return true;
    return false;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    if (sim_refuses("start")) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasLtContext();
    handles.push_back(*handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    for (size_t i = 0; i < handles.size(); i++) {
        if (handles[i] != handle) continue;
        handles.erase(handles.begin() + i);
        delete handle;
        return CUBLAS_STATUS_SUCCESS;
    }
    return refuse("a handle destroyed that is none (any more)");
}

static size_t version = 130100;
size_t cublasLtGetVersion(void) { return version; }
void fake_cublaslt_version(size_t v) { version = v; }

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown status";
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t ld)
{
    *layout = made<cublasLtMatrixLayoutOpaque_t>(Layout{LAYOUT, type, 0, 1, rows, columns, ld, 0});
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(words_of<Layout>(layout, LAYOUT), layout, "a layout");
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t what,
                                                const void *value, size_t bytes)
{
    Layout *l = words_of<Layout>(layout, LAYOUT);
    if (!l) return refuse("an attribute of no layout");
    switch (what) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return SET(l->type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return SET(l->order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return SET(l->rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return SET(l->columns);
    case CUBLASLT_MATRIX_LAYOUT_LD: return SET(l->ld);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return SET(l->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return SET(l->apart);
    }
    return refuse("attribute %d of a layout", (int)what);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute, cudaDataType scale)
{
    *desc = made<cublasLtMatmulDescOpaque_t>(Desc{DESC, compute, scale, 0, 0, CUBLASLT_EPILOGUE_DEFAULT, NULL, NULL, 0});
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return destroy(words_of<Desc>(desc, DESC), desc, "a descriptor");
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what, const void *value,
                                              size_t bytes)
{
    Desc *d = words_of<Desc>(desc, DESC);
    if (!d) return refuse("an attribute of no descriptor");
    switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return SET(d->turned_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return SET(d->turned_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return SET(d->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return SET(d->bias);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return SET(d->aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return SET(d->aux_ld);
    }
    return refuse("attribute %d of a descriptor", (int)what);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = made<cublasLtMatmulPreferenceOpaque_t>(Preference{PREFERENCE, 7, 256, 256, 256, 256, 0});
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(words_of<Preference>(preference, PREFERENCE), preference, "a preference");
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void *value, size_t bytes)
{
    Preference *p = words_of<Preference>(preference, PREFERENCE);
    if (!p) return refuse("an attribute of no preference");
    switch (what) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return SET(p->workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return SET(p->reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return SET(p->align_a);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return SET(p->align_b);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return SET(p->align_c);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return SET(p->align_d);
    }
    return refuse("attribute %d of a preference", (int)what);
}

/* ------------------------------------------------------------------ a product, and what is wrong with it */

static size_t size_of(int type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

struct Product {
    Desc desc;
    Layout a, b, c, d;
    uint64_t m, n, k;
    uint64_t key(void) const;
};

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

static bool uses_aux(int epilogue) { return epilogue & 128; }
static bool writes_aux(int epilogue) { return (epilogue & (128 | 32)) == (128 | 32); }
static bool sums(int epilogue) { return epilogue & (16 | 256 | 512); }
static bool uses_vector(int epilogue) { return (epilogue & 4) || sums(epilogue); }

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

static cublasStatus_t product_of(Product *p, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
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
static bool supported(const Product &p)
{
    if (p.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
    if (!gelus && (p.desc.epilogue & (32 | 64))) return false;
    return epilogues && p.d.type != CUDA_R_64F && !(sums(p.desc.epilogue) && p.d.batch > 1);
}

/* ------------------------------------------------------------------ algorithms */

/* One for any operands; one that wants 16 bytes everywhere; one that divides k and wants a workspace. */
enum { PLAIN, WIDE, DIVIDED, ALGORITHMS };

static double costs[ALGORITHMS] = {3, 1, 2}, epilogue_cost; /* ms; negative: it does not launch */
void fake_cublaslt_costs(double plain, double wide, double divided, double epilogue)
{
    epilogue_cost = epilogue;
    costs[PLAIN] = plain;
    costs[WIDE] = wide;
    costs[DIVIDED] = divided;
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

static cublasStatus_t fits(const Algo *algo, const Product &p)
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

/* ------------------------------------------------------------------ operands */

/* Every element of a matrix of each product: use(index in elements, row, column, which product). */
template <class Use> static void each(const Layout &l, Use use)
{
    for (int64_t i = 0; i < l.batch; i++)
        for (uint64_t column = 0; column < l.columns; column++)
            for (uint64_t row = 0; row < l.rows; row++) use(i * l.apart + (int64_t)column * l.ld + (int64_t)row, row, column, i);
}

static size_t bytes_of(const Layout &l)
{
    return ((l.batch - 1) * l.apart + ((int64_t)l.columns - 1) * l.ld + l.rows) * size_of(l.type);
}

static cublasStatus_t check_operand(const void *at, size_t bytes, uint32_t align, const char *name)
{
    if (!at) return refuse("%s is NULL", name);
    if (!sim_on_device(at, bytes)) return refuse("%s: %zu bytes that are not all in an allocation of the device", name, bytes);
    if ((uintptr_t)at % align)
        return refuse("misaligned: %s is at no multiple of the %u bytes that its algorithm was chosen for", name, align);
    return CUBLAS_STATUS_SUCCESS;
}

/* The bytes that a product writes, and whether it reads others there. */
struct Written {
    std::vector<std::pair<const char *, std::vector<bool>>> parts;

    bool meets(const char *at, size_t bytes) const
    {
        for (const auto &part : parts)
            for (size_t i = 0; i < bytes; i++)
                if (at + i >= part.first && at + i < part.first + part.second.size() && part.second[at + i - part.first]) return true;
        return false;
    }
    bool meets(const void *at, const Layout &l) const
    {
        bool found = false;
        each(l, [&](int64_t i, uint64_t, uint64_t, int64_t) {
            found = found || meets((const char *)at + i * size_of(l.type), size_of(l.type));
        });
        return found;
    }
    bool add(const void *at, const Layout &l) /* false: an element is written twice */
    {
        std::vector<bool> mark(bytes_of(l));
        bool once = true;
        each(l, [&](int64_t i, uint64_t, uint64_t, int64_t) {
            for (size_t k = 0; k < size_of(l.type); k++) {
                once = once && !mark[i * size_of(l.type) + k];
                mark[i * size_of(l.type) + k] = true;
            }
        });
        parts.push_back({(const char *)at, mark});
        return once;
    }
};

static Layout vector_layout(const Product &p)
{
    uint64_t n = p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADB ? p.n : p.m;
    return {LAYOUT, p.d.type, 0, 1, n, 1, (int64_t)n, 0};
}

static Layout aux_layout(const Product &p) { return {LAYOUT, p.d.type, 0, 1, p.m, p.n, p.desc.aux_ld, 0}; }

static cublasStatus_t check_operands(const Product &p, const Algo &algo, const void *A, const void *B, const void *C, void *D,
                                     bool reads_c, void *workspace, size_t workspace_bytes)
{
    struct {
        const void *at;
        Layout layout;
        uint32_t align;
        const char *name;
        bool used, written;
    } all[] = {{D, p.d, algo.align_d, "D", true, true},
               {p.desc.bias, vector_layout(p), algo.align_bias, "bias", uses_vector(p.desc.epilogue), sums(p.desc.epilogue)},
               {p.desc.aux, aux_layout(p), algo.align_aux, "aux", uses_aux(p.desc.epilogue), writes_aux(p.desc.epilogue)},
               {A, p.a, algo.align_a, "A", true, false},
               {B, p.b, algo.align_b, "B", true, false},
               {C, p.c, algo.align_c, "C", reads_c || C == D, false}};
    Written written;
    for (const auto &o : all) {
        if (!o.used) continue;
        cublasStatus_t status = check_operand(o.at, bytes_of(o.layout), o.align, o.name);
        if (status != CUBLAS_STATUS_SUCCESS) return status;
        bool in_place = o.at == D && strcmp(o.name, "C") == 0;
        if (in_place && (p.c.ld != p.d.ld || p.c.apart != p.d.apart)) return refuse("C is D, and lies otherwise");
        if (!in_place && written.meets(o.at, o.layout)) return refuse("%s lies where the product writes", o.name);
        if (o.written && !written.add(o.at, o.layout)) return refuse("%s: elements of a batch lie over each other", o.name);
    }
    if (!algo.workspace) return CUBLAS_STATUS_SUCCESS;
    if (workspace_bytes < algo.workspace)
        return refuse("a workspace of %zu bytes, %llu are needed", workspace_bytes, (unsigned long long)algo.workspace);
    cublasStatus_t status = check_operand(workspace, workspace_bytes, 16, "the workspace");
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    for (const auto &o : all)
        if (o.used && (const char *)o.at < (char *)workspace + workspace_bytes && (char *)workspace < (const char *)o.at + bytes_of(o.layout))
            return refuse("%s lies in the workspace", o.name);
    return CUBLAS_STATUS_SUCCESS;
}

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
    if (costs[words->number] < 0 || sim_refuses("product")) return CUBLAS_STATUS_EXECUTION_FAILED;
    double ms = costs[words->number] + (p.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? 0 : epilogue_cost);
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
