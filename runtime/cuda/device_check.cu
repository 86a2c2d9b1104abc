/* device_check.cu: checks whether a GPU is suitable for a trainer, and makes the message if not. */
#include "cuda/device_check.h"

#include <stdarg.h>
#include <stdio.h>

const char *gpu_refuse(const char *format, ...)
{
    static char refusal[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(refusal, sizeof refusal, format, list);
    va_end(list);
    return refusal;
}

const char *gpu_check_driver(const Gpu_needs *n)
{
    int driver = 0, runtime = 0, count = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver && driver)
        return gpu_refuse("the driver here is for CUDA %d.%d, and this trainer was built with CUDA %d.%d\n"
                      "  install a newer driver, or build with a CUDA that is no newer than it",
                      driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (error != cudaSuccess || count == 0)
        return gpu_refuse("this trainer is for a GPU, and there is none here (CUDA: %s)\n"
                      "  `nvidia-smi` says what the driver sees; `lathe build MODEL.lua --target cpu` builds one for "
                      "this machine",
                      cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error));
    if (n->gpus > count)
        return gpu_refuse("--gpus %d: CUDA shows %d GPU%s here\n"
                      "  ask for no more; CUDA_VISIBLE_DEVICES in the environment may hide some (`nvidia-smi` lists "
                      "all)",
                      n->gpus, count, count == 1 ? "" : "s");
    return NULL;
}

const char *gpu_check_device(const Gpu_needs *n)
{
    cudaDeviceProp p;
    size_t left = 0, all = 0;
    const int64_t planned = n->bytes + n->ahead + n->rooms, wanted = planned + n->workspace;
    cudaError_t error = cudaSetDevice(n->number);
    if (error == cudaSuccess) error = cudaGetDeviceProperties(&p, n->number);
    if (error == cudaSuccess && 10 * p.major + p.minor < n->capability)
        return gpu_refuse("GPU %d, %.100s, has compute capability %d.%d, and this trainer's kernels are for %d.%d and "
                      "newer\n"
                      "  run it on a newer GPU, or use a trainer for the CPU",
                      n->number, p.name, p.major, p.minor, n->capability / 10, n->capability % 10);
    if (error == cudaSuccess) error = cudaMemGetInfo(&left, &all);
    if (error != cudaSuccess) return gpu_refuse("GPU %d cannot be used: %s", n->number, cudaGetErrorString(error));
    if (n->most && n->most < wanted)
        return gpu_refuse("%s needs %lld bytes of the GPU's memory (%.1f GB: %lld planned, %lld for the library's "
                      "products), and --memory-limit allows %lld; nothing was taken\n"
                      "  allow more, or build the model smaller: `lathe build MODEL.lua --set batch=N`",
                      n->command, (long long)wanted, (double)wanted / 1e9, (long long)planned, (long long)n->workspace,
                      (long long)n->most);
    if ((int64_t)left >= wanted) return NULL;
    return gpu_refuse("%s needs %lld bytes of the GPU's memory (%.1f GB: %lld planned, %lld for the library's "
                  "products), and GPU %d, %.100s, has %lld of %lld left; nothing was taken\n"
                  "  end what else uses it (`nvidia-smi`), or build the model smaller: `lathe build MODEL.lua --set "
                  "batch=N`",
                  n->command, (long long)wanted, (double)wanted / 1e9, (long long)planned, (long long)n->workspace,
                  n->number, p.name, (long long)left, (long long)all);
}
