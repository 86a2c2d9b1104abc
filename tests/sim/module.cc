/* module.cc: model.cu of a test, and its launchers by number.  Compiled with -fsanitize=thread; launchers.inc is the
 * test's: LAUNCHER(number, name) for each. */
#include "model.cu"

#include "module.h"

const Lathe_device lathe_cuda = {}; /* no trainer here: the test's calls entries itself */
void (*cuda_lap)(int kernel, cudaStream_t stream);
void (*cuda_part)(int part, cudaStream_t stream);
void (*cuda_parameters_needed)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_gradients_done)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_parameters_dropped)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_gradients_begun)(const void *first, size_t bytes, cudaStream_t stream);
void (*cuda_over_ranks)(void *to, const void *from, size_t bytes, cudaStream_t stream);

/* For products; NULL, or what failed so far.  What was refused is forgotten: modules of one process share loops_launched. */
extern "C" const char *start_module(void)
{
    for (Loop_launched &loop : loops_launched.at) loop.refused = false;
    loops_launched.other.refused = false;
    (void)sim_refuses(NULL);
    enum { WORKSPACE = 1 << 20 };
    static void *workspace;
    if (!workspace && cudaMalloc(&workspace, WORKSPACE) == cudaSuccess) cuda_gemm_start(workspace, WORKSPACE);
    return cuda_gemm_failure();
}

extern "C" void plain_kernels(bool all) { index_kernels.plain = all; }

/* Each argument is read where it lies, with the type that the launcher wants. */
template <class... P, size_t... i>
static void call(void (*launcher)(cudaStream_t, P...), void *const *arguments, std::index_sequence<i...>)
{
    launcher(NULL, *(P *)arguments[i]...);
}

template <class... P> static void call(void (*launcher)(cudaStream_t, P...), void *const *arguments)
{
    call(launcher, arguments, std::index_sequence_for<P...>());
}

extern "C" void launch_number(int number, void *const *arguments)
{
    switch (number) {
#define LAUNCHER(n, name)                                                                                              \
    case n: call(name, arguments); break;
#include "launchers.inc"
    }
}
