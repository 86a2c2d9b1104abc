/* sim_device.cc: the simulator's device as it tells of itself: what it has, what it refuses, the names of its errors. */
#include "sim.h"

#include <algorithm>
#include <map>
#include <stdlib.h>
#include <string>

Sim_device sim_device;
bool sim_refuses(const char *word)
{
    static std::map<std::string, long> asked;
    if (!word) asked.clear();
    if (!word) return false;
    const char *all = sim_device.refuses ? sim_device.refuses : getenv("SIM_REFUSES");
    for (const char *at = all; at && (at = strstr(at, word)); at += strlen(word)) {
        const char *end = at + strlen(word);
        if ((at > all && at[-1] != ' ') || (*end && *end != ' ' && *end != ':')) continue;
        return ++asked[word] >= (*end == ':' ? atol(end + 1) : 1);
    }
    return false;
}

void sim_processors(int n) { sim_device.processors = n; }
static cudaError_t there(void)
{
    if (sim_device.driver / 1000 < sim_device.runtime / 1000) return cudaErrorInsufficientDriver;
    return sim_device.count ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = there() == cudaSuccess ? sim_device.count : 0;
    return there();
}

cudaError_t cudaSetDevice(int device)
{
    if (there() != cudaSuccess) return there();
    return device >= 0 && device < sim_device.count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    cudaError_t error = cudaSetDevice(device);
    if (error != cudaSuccess) return error;
    *p = {"", sim_device.memory, sim_device.processors, sim_device.major, sim_device.minor};
    memcpy(p->name, sim_device.name, strlen(sim_device.name) + 1);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device)
{
    cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, device);
    if (error != cudaSuccess) return error;
    switch (what) {
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return there();
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = sim_device.driver;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = sim_device.runtime;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    *total = sim_device.memory;
    *free = sim_device.memory - std::min(sim_device.memory, sim_allocated());
    return there();
}

/* ------------------------------------------------------------------ errors */

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {{cudaSuccess, "cudaSuccess", "no error"},
              {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
              {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
              {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
              {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
              {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
              {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
              {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
              {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
              {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
              {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
              {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
              {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
              {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
              {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
              {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
              {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
              {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
              {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
              {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"}};

const char *cudaGetErrorString(cudaError_t e)
{
    for (const auto &error : errors)
        if (error.error == e) return error.text;
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t e)
{
    for (const auto &error : errors)
        if (error.error == e) return error.name;
    return "unrecognized error code";
}
