/* cudnn_internal.h: what the files of cuDNN's attention share, and its test: graphs of operations, and plans for them. */
#ifndef LATHE_CUDA_CUDNN_INTERNAL_H
#define LATHE_CUDA_CUDNN_INTERNAL_H

#include "cuda/cudnn.h"
#include "cuda/cudnn_api.h"

extern struct Cudnn_library {
    void *loaded;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t device; /* of a GPU that is not there (tests), instead of the handle */
    char *workspace;
    size_t workspace_bytes;
#define POINTER(name) decltype(&::name) name;
    CUDNN_FUNCTIONS(POINTER)
#undef POINTER
} cudnn_library;

const char *cudnn_load(void); /* the library and its functions; NULL, or what to tell the user */

/* The tensors that are given with a call, by what cuDNN knows them. */
enum Cudnn_id { ID_Q = 1, ID_K, ID_V, ID_O, ID_LSE, ID_D_O, ID_D_Q, ID_D_K, ID_D_V, ID_DELTA, ID_SCALE, ID_UNSEEN, ID_ONE, ID_BETWEEN };

/* Operations in the order of their making; `all`: those and their tensors, to be given back. */
struct Cudnn_graph {
    cudnnBackendDescriptor_t graph, operations[24], all[128];
    int n, made;
    bool failed;
};

/* The graph of g for so many samples, finalized; its graph is NULL where a call of the library failed.  cuda/cudnn_graph.cu */
Cudnn_graph cudnn_graph(const Lathe_attention *g, Cudnn_what what, cudnnDataType_t type, int64_t samples);
void cudnn_forget_graph(Cudnn_graph *g);

/* Elements between samples where all batch axes of x are one; -1: they are not. */
int64_t cudnn_between_samples(const Lathe_attention *g, const Lathe_heads *x);

/* The library's ways to compute a graph, the most promising first: engine configurations, up to `most`. */
int cudnn_ways(const Cudnn_graph *g, cudnnBackendDescriptor_t *ways, int most);
int64_t cudnn_way_bytes(cudnnBackendDescriptor_t way);                  /* of workspace */
bool cudnn_way_repeats(cudnnBackendDescriptor_t way);       /* its engine says of itself that it gives the same bits every time */
cudnnBackendDescriptor_t cudnn_plan_of(cudnnBackendDescriptor_t way);   /* compiled; NULL: it cannot be */

#endif
