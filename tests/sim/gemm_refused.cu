/* gemm_refused.cu: what is no product: calls that cuda/gemm.h must refuse, and calls of cuBLASLt that the simulator's must. */
#include "gemm_checks.cuh"

/* ------------------------------------------------------------------ what is no product of ours */

static void not_ours(const char *word, Cuda_gemm g)
{
    bool started = cuda_gemm_start(workspace, WORKSPACE);
    EXPECT(started != refused_start(), "cuda_gemm_start: %d", started);
    cuda_gemm(&g, workspace, workspace, workspace, false, NULL, workspace);
    const char *failure = cuda_gemm_failure();
    EXPECT(failure && strstr(failure, word), "\"%s\" should have been said, not \"%s\"", word, failure ? failure : "");
    cuda_gemm_stop();
}

static void test_not_ours(void)
{
    Cuda_gemm g;
    g = batched_product(), g.end = GEMM_END_BIAS, not_ours("an end after a batch", g);
}

/* ------------------------------------------------------------------ what the library's stand-in must refuse */

/* d[8][16] = a[8][12] · b[12][16] by columns, with one thing wrong; its words. */
struct Direct {
    int64_t ld_a = 8, ld_d = 8, ld_c = 8, aux_ld = 8;
    uint64_t rows_b = 12;
    int32_t turned_a = 0, batch = 1, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    int64_t apart = 0;
    uint32_t align = 16;
    cudaDataType type = CUDA_R_32F, scale = CUDA_R_32F;
    int a_at = 0, d_at = 0;         /* bytes off their places */
    bool on_host = false, a_is_d = false, no_vector = false, other_algo = false, no_algo = false, destroyed = false;
    size_t workspace = WORKSPACE;
};

static std::string direct(const Direct &w)
{
    static char host[4096];
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulHeuristicResult_t result = {};
    int found = 0;
    float one = 1, zero = 0;
    char *memory, *vector;
    uint64_t room = w.workspace;
    int32_t batch = w.batch, turned = w.turned_a, epilogue = w.epilogue;
    uint32_t align = w.align;
    cudaMalloc(&memory, 16384);
    vector = memory + 12288;
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, w.scale);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (w.no_vector) vector = NULL;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector);
    char *aux = memory + 14336;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &w.aux_ld, sizeof w.aux_ld);
    cublasLtMatrixLayoutCreate(&a, w.type, 8, 12, w.ld_a);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, w.rows_b, 16, 12);
    cublasLtMatrixLayoutCreate(&c, CUDA_R_32F, 8, 16, w.ld_c);
    cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, 8, 16, w.ld_d);
    cublasLtMatrixLayout_t all[] = {a, b, c, d};
    for (int i = 0; i < 4; i++) {
        cublasLtMatrixLayoutSetAttribute(all[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
        cublasLtMatrixLayoutSetAttribute(all[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &w.apart, sizeof w.apart);
    }
    cublasLtMatmulPreferenceCreate(&wish);
    cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    for (int i = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES; i <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES; i++)
        cublasLtMatmulPreferenceSetAttribute(wish, (cublasLtMatmulPreferenceAttributes_t)i, &align, sizeof align);
    cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, wish, 1, &result, &found);
    if (w.other_algo) result.algo.data[1] ^= 1;
    if (w.destroyed) cublasLtMatmulDescDestroy(desc);
    char *A = w.a_is_d ? memory + 8192 : w.on_host ? host : memory + w.a_at, *D = memory + 8192 + w.d_at;
    cublasLtMatmul(handle, desc, &one, A, a, memory + 4096, b, &zero, D, c, D, d, w.no_algo ? NULL : &result.algo, workspace,
                   w.workspace, NULL);
    std::string said = sim_report();
    if (!w.destroyed) cublasLtMatmulDescDestroy(desc);
    for (int i = 0; i < 4; i++) cublasLtMatrixLayoutDestroy(all[i]);
    cublasLtMatmulPreferenceDestroy(wish);
    cublasLtDestroy(handle);
    cudaFree(memory);
    return said;
}

static void refused(const char *word, Direct w)
{
    std::string said = direct(w);
    EXPECT(said.find(word) != said.npos, "\"%s\" should have been said, not \"%s\"", word, said.c_str());
}

static void test_refused(void)
{
    Direct right, w;
    std::string said = direct(right);
    EXPECT(said.empty(), "a product that is right: %s", said.c_str());
    w = right, w.ld_a = 7, refused("A: leading dimension 7 is less than its 8 rows", w);
    w = right, w.ld_d = 6, refused("D: leading dimension 6", w);
    w = right, w.ld_c = 9, refused("C is D, and lies otherwise", w);
    w = right, w.rows_b = 11, refused("extents that do not fit", w);
    w = right, w.turned_a = 1, refused("extents that do not fit", w);
    w = right, w.type = CUDA_R_16BF, refused("numbers that do not go together", w);
    w = right, w.scale = CUDA_R_64F, refused("numbers that do not go together", w);
    w = right, w.batch = 2, w.apart = 64, refused("elements of a batch lie over each other", w);
    w = right, w.a_at = 4, refused("misaligned: A", w);
    w = right, w.d_at = 8, refused("misaligned: D", w);
    w = right, w.align = 4, w.d_at = 4, said = direct(w); /* chosen for that */
    EXPECT(said.empty(), "a product of operands at multiples of 4 bytes: %s", said.c_str());
    w = right, w.a_at = 16384 - 16, refused("not all in an allocation", w);
    w = right, w.on_host = true, refused("not all in an allocation", w);
    w = right, w.a_is_d = true, refused("A lies where the product writes", w);
    w = right, w.no_algo = true, refused("an algorithm that is none", w);
    w = right, w.other_algo = true, refused("an algorithm of another product", w);
    w = right, w.destroyed = true, refused("none (any more)", w);
    w = right, w.epilogue = CUBLASLT_EPILOGUE_BIAS, w.no_vector = true, refused("bias is NULL", w);
    w = right, w.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS, w.aux_ld = 4, refused("the leading dimension of aux is 4", w);
    w = right, w.epilogue = CUBLASLT_EPILOGUE_DGELU, w.aux_ld = 12, refused("a multiple of 8", w);
    w = right, w.epilogue = 77, refused("epilogue 77", w);
}

int main(void)
{
    cudaMalloc(&workspace, WORKSPACE);
    test_refused();
    test_not_ours();
    return failures != 0;
}
