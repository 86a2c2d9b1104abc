/* fake_driver.cc: the simulator's CUDA driver, as far as it maps memory; a library of its own (cuda/rooms.cu loads it).  Memory is a
 * file that the processor maps at each address, so what is written at one is read at the others.  Addresses that are reserved but
 * not mapped are no memory of the device.  FAKE_DRIVER=none: the device cannot do it; =UNIT: it maps by so many bytes. */
#include "cuda/driver_api.h"
#include "sim.h"

#include <map>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { INVALID = 1, UNIT = 4096 };

struct Memory {
    int file;
    size_t bytes;
};

static std::map<CUmemGenericAllocationHandle, Memory> memories;
static std::map<CUdeviceptr, size_t> reserved, mapped; /* bytes from there */
static const char *wish(void) { return getenv("FAKE_DRIVER"); }
static size_t unit(void) { return wish() && atoi(wish()) ? (size_t)atoi(wish()) : (size_t)UNIT; }

/* It is the program's mistake. */
static CUresult refuse(const char *what)
{
    sim_refuse(cudaErrorInvalidValue, "the driver: %s", what);
    return INVALID;
}

static bool odd(size_t bytes) { return bytes == 0 || bytes % unit(); }

static bool inside(const std::map<CUdeviceptr, size_t> &all, CUdeviceptr at, size_t bytes)
{
    auto next = all.upper_bound(at);
    return next != all.begin() && (--next, at + bytes <= next->first + next->second);
}

extern "C" {
CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = error == 2 ? "out of memory" : "invalid argument";
    return 0;
}

CUresult cuDeviceGet(CUdevice *device, int number)
{
    *device = number;
    return 0;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice)
{
    if (attribute != CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) return refuse("an attribute that it does not know");
    *value = !(wish() && strcmp(wish(), "none") == 0);
    return 0;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *, int)
{
    *bytes = unit();
    return 0;
}

CUresult cuMemAddressReserve(CUdeviceptr *at, size_t bytes, size_t, CUdeviceptr, unsigned long long)
{
    if (odd(bytes)) return refuse("addresses that are no multiple of its unit");
    void *to = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (to == MAP_FAILED) return 2;
    *at = (CUdeviceptr)to;
    reserved[*at] = bytes;
    return 0;
}

CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
    if (!reserved.count(at) || reserved[at] != bytes) return refuse("addresses that are not reserved");
    for (const auto &m : mapped)
        if (m.first >= at && m.first < at + bytes) return refuse("addresses that are still mapped");
    munmap((void *)at, bytes);
    reserved.erase(at);
    return 0;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop, unsigned long long)
{
    if (odd(bytes) || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return refuse("memory of no kind that it has");
    if (!sim_take(bytes)) return 2;
    Memory m = {memfd_create("rooms", MFD_CLOEXEC), bytes};
    if (m.file < 0 || ftruncate(m.file, (off_t)bytes) != 0) return 2;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.file, 0);
    memset(at, 0xff, bytes);
    munmap(at, bytes);
    *handle = (CUmemGenericAllocationHandle)m.file;
    memories[*handle] = m;
    return 0;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    if (!memories.count(handle)) return refuse("memory that is none");
    sim_give_back(memories[handle].bytes);
    close(memories[handle].file);
    memories.erase(handle);
    return 0;
}

CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long)
{
    if (offset) return refuse("an offset, which it does not know yet");
    if (odd(bytes) || !memories.count(handle) || bytes > memories[handle].bytes) return refuse("memory that is not there");
    if (!inside(reserved, at, bytes)) return refuse("addresses that are not reserved");
    if (inside(mapped, at, 1)) return refuse("addresses that are mapped already");
    void *to = mmap((void *)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memories[handle].file, 0);
    if (to == MAP_FAILED) return 2;
    mapped[at] = bytes;
    return 0;
}

CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    if (!mapped.count(at) || mapped[at] != bytes) return refuse("pages that are not mapped");
    sim_forget_memory((void *)at);
    mmap((void *)at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    mapped.erase(at);
    return 0;
}

CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
    if (count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return refuse("access of no kind that it has");
    for (size_t i = 0; i < bytes; i += unit())
        if (!inside(mapped, at + i, unit())) return refuse("access to addresses that are not mapped");
    if (mprotect((void *)at, bytes, PROT_READ | PROT_WRITE) != 0) return INVALID;
    sim_add_memory((void *)at, bytes);
    return 0;
}
}
