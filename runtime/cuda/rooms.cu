/* rooms.cu: maps pages of arrays to rooms by CUDA's virtual memory (the driver's cuMem functions, loaded at run time). */
#include "cuda/rooms.h"
#include "cuda/driver_api.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIELD(name) decltype(&::name) name;
static struct {
    void *loaded;
    DRIVER_FUNCTIONS(FIELD)
} driver;
#undef FIELD

enum { MOST_ARRAYS = 2 };

struct Mapped {
    CUdeviceptr at; /* of all pages; 0: nothing is reserved */
    size_t page;
    int pages, mapped, rooms; /* mapped: the first of the pages; rooms: taken so far */
    CUmemGenericAllocationHandle *room;
};

static Mapped arrays[MOST_ARRAYS];
static int count;
static char refusal[1024];

const char *rooms_refusal(void) { return refusal; }

static const char *refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *refuse(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(refusal, sizeof refusal, format, list);
    va_end(list);
    return refusal;
}

static const char *load(void)
{
    const char *named = getenv("LATHE_LIBCUDA"), *path = named && *named ? named : "libcuda.so.1";
    if (driver.loaded) return NULL;
    void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded) return refuse("--shard-parameters: the driver's library was not found (%.300s)", dlerror());
#define FIND(name)                                                                                                     \
    driver.name = (decltype(&::name))dlsym(loaded, #name);                                                             \
    if (!driver.name)                                                                                                  \
        return refuse("--shard-parameters: the driver (%.200s) has no %s; install a newer one, or build without it",   \
                      path, #name);
    DRIVER_FUNCTIONS(FIND)
#undef FIND
    driver.loaded = loaded;
    return NULL;
}

static bool failed(const char *what, CUresult result)
{
    const char *text = NULL;
    if (result == 0) return false;
    if (driver.cuGetErrorString(result, &text) != 0 || !text) text = "an unknown error";
    refuse("--shard-parameters: the GPU's driver refused %s: %.200s (%d)", what, text, result);
    return true;
}

static CUmemAllocationProp memory_of(int gpu)
{
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
    return p;
}

const char *rooms_check(int gpu, int64_t page)
{
    const CUmemAllocationProp memory = memory_of(gpu);
    CUdevice device = 0;
    size_t unit = 0;
    int able = 0;
    if (load()) return refusal;
    if (failed("its number", driver.cuDeviceGet(&device, gpu)) ||
        failed("what it can do",
               driver.cuDeviceGetAttribute(&able, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device)))
        return refusal;
    if (!able)
        return refuse("--shard-parameters: GPU %d, or its driver, has no virtual memory management; build without it",
                      gpu);
    if (failed("the size of its pages",
               driver.cuMemGetAllocationGranularity(&unit, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM)))
        return refusal;
    if (unit == 0 || (size_t)page % unit)
        return refuse("--shard-parameters: GPU %d maps memory by %zu bytes, and this trainer by %lld; build without it",
                      gpu, unit, (long long)page);
    return NULL;
}

static bool take_rooms(Mapped *m, int gpu, int rooms)
{
    const CUmemAllocationProp memory = memory_of(gpu);
    m->room = (CUmemGenericAllocationHandle *)calloc((size_t)rooms + 1, sizeof *m->room);
    if (!m->room) abort();
    for (; m->rooms < rooms; m->rooms++)
        if (failed("a room for parameters", driver.cuMemCreate(&m->room[m->rooms], m->page, &memory, 0))) return false;
    return true;
}

static bool map_pages(Mapped *m, int gpu, const int *room_of)
{
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, gpu}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (; m->mapped < m->pages; m->mapped++)
        if (failed("a page",
                   driver.cuMemMap(m->at + m->page * (size_t)m->mapped, m->page, 0, m->room[room_of[m->mapped]], 0)))
            return false;
    return !failed("access to pages", driver.cuMemSetAccess(m->at, m->page * (size_t)m->pages, &access, 1));
}

void *rooms_map(int gpu, const Device_array *a, int64_t page)
{
    Mapped *m = &arrays[count++];
    *m = {0, (size_t)page, a->pages, 0, 0, NULL};
    if (failed("addresses", driver.cuMemAddressReserve(&m->at, m->page * (size_t)m->pages, 0, 0, 0))) return NULL;
    return take_rooms(m, gpu, a->rooms) && map_pages(m, gpu, a->room_of) ? (void *)m->at : NULL;
}

void rooms_close(void)
{
    for (; count; count--) {
        Mapped *m = &arrays[count - 1];
        for (; m->mapped; m->mapped--) driver.cuMemUnmap(m->at + m->page * (size_t)(m->mapped - 1), m->page);
        for (; m->rooms; m->rooms--) driver.cuMemRelease(m->room[m->rooms - 1]);
        if (m->at) driver.cuMemAddressFree(m->at, m->page * (size_t)m->pages);
        free(m->room);
    }
}
