/* fake_cublaslt_descriptors.cc: what a program describes a product with to the simulator's cuBLASLt: handles, layouts,
 * descriptors, preferences. */
#include "fake_cublaslt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

struct cublasLtContext {
    int users;
};

cublasStatus_t fake_cublaslt::refuse(const char *format, ...)
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

static std::vector<cublasLtHandle_t> handles;

bool fake_cublaslt::is_handle(cublasLtHandle_t h)
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
