/* cudnn_internal.h: shared by the files of cuDNN's attention and their test: graphs of operations, and plans for
 * them. */
#ifndef LATHE_CUDA_CUDNN_INTERNAL_H
#define LATHE_CUDA_CUDNN_INTERNAL_H

#include "cuda/cudnn.h"
#include "cuda/cudnn_api.h"

extern struct Cudnn_library {
    void *loaded;
    cudnnHandle_t handle;
    cudnnBackendDescriptor_t device; /* describes a GPU that is not present (tests), instead of the handle */
    char *workspace;
    size_t workspace_bytes;
#define POINTER(name) decltype(&::name) name;
    CUDNN_FUNCTIONS(POINTER)
#undef POINTER
} cudnn_library;

const char *cudnn_load(void); /* loads the library; NULL, or a message for the user */

/* cuDNN's ids of the tensors given with a call. */
enum Cudnn_id { ID_Q = 1, ID_K, ID_V, ID_O, ID_LSE, ID_D_O, ID_D_Q, ID_D_K, ID_D_V, ID_DELTA, ID_SCALE, ID_UNSEEN, ID_ONE, ID_BETWEEN };

/* Operations in the order in which they were made; all: operations and tensors, to be destroyed. */
struct Cudnn_graph {
    cudnnBackendDescriptor_t graph, operations[24], all[128];
    int n, made;
    bool failed;
};

/* The finalized graph of g for `samples` samples; its graph is NULL if a library call failed.  cuda/cudnn_graph.cu */
Cudnn_graph cudnn_graph(const Lathe_attention *g, Cudnn_what what, cudnnDataType_t type, int64_t samples);
void cudnn_forget_graph(Cudnn_graph *g);

/* The stride of samples if all batch axes of x form one; -1: they do not. */
int64_t cudnn_between_samples(const Lathe_attention *g, const Lathe_heads *x);

/* The library's engine configurations for a graph, best first, at most `most`. */
int cudnn_ways(const Cudnn_graph *g, cudnnBackendDescriptor_t *ways, int most);
int64_t cudnn_way_bytes(cudnnBackendDescriptor_t way);                  /* of workspace */
bool cudnn_way_repeats(cudnnBackendDescriptor_t way);       /* its engine claims to be deterministic */
cudnnBackendDescriptor_t cudnn_plan_of(cudnnBackendDescriptor_t way);   /* compiled; NULL: it does not compile */

#endif
