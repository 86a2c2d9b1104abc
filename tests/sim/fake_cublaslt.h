/* fake_cublaslt.h: what the files of the simulator's cuBLASLt share: what lies in the library's opaque structs, and a product with
 * its epilogue.  Column-major as the library: element (i, j) of a matrix at i + j · ld. */
#ifndef FAKE_CUBLASLT_H
#define FAKE_CUBLASLT_H

#include "sim.h"

#include <cublasLt.h>

namespace fake_cublaslt
{

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

cublasStatus_t refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

template <class T, class Opaque> static inline T *words_of(Opaque *o, uint32_t magic)
{
    T *words = (T *)(void *)o;
    return words && words->magic == magic ? words : NULL;
}

/* ------------------------------------------------------------------ a product */

struct Product {
    Desc desc;
    Layout a, b, c, d;
    uint64_t m, n, k;
    uint64_t key(void) const;
};

static inline size_t size_of(int type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
static inline bool uses_aux(int epilogue) { return epilogue & 128; }
static inline bool writes_aux(int epilogue) { return (epilogue & (128 | 32)) == (128 | 32); }
static inline bool sums(int epilogue) { return epilogue & (16 | 256 | 512); }
static inline bool uses_vector(int epilogue) { return (epilogue & 4) || sums(epilogue); }

static inline Layout vector_layout(const Product &p)
{
    uint64_t n = p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADB ? p.n : p.m;
    return {LAYOUT, p.d.type, 0, 1, n, 1, (int64_t)n, 0};
}

/* A product of these descriptors and layouts, or what is wrong with it. */
cublasStatus_t product_of(Product *p, cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                          cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d);
bool is_handle(cublasLtHandle_t h);
bool supported(const Product &p);
cublasStatus_t fits(const Algo *algo, const Product &p);
double cost(const Product &p, const Algo &algo); /* ms; negative: it does not launch */

/* What is wrong with where its operands lie. */
cublasStatus_t check_operands(const Product &p, const Algo &algo, const void *A, const void *B, const void *C, void *D,
                              bool reads_c, void *workspace, size_t workspace_bytes);

/* One for any operands; one that wants 16 bytes everywhere; one that divides k and wants a workspace. */
enum { PLAIN, WIDE, DIVIDED, ALGORITHMS };

}
using namespace fake_cublaslt;

#endif
