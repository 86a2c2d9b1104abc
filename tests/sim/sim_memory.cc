/* sim_memory.cc: the simulator's memory: allocations, shared memory, and a record of who touched which byte last.  Compiled
 * without -fsanitize=thread and bounds; the __tsan and __ubsan functions below are what those put into kernels. */
#include "sim_threads.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

/* ---- regions */

/* Of a byte or a word: the last write, the last read, and the last read by another thread than that. */
struct Record {
    Sim_moment write, read, other;
};

struct Region {
    char *at, *end;
    Record *record; /* one a word; NULL: constants */
    Record **bytes; /* of a word that was touched in part: one a byte; NULL: its record is that of all four */
    bool shared;
    std::vector<struct Share> of_block; /* of a cooperative launch: what is here while each runs */
};

/* A block's shared memory while another one runs. */
struct Share {
    char *at;
    Record *record;
    Record **bytes;
    size_t static_bytes;
};

enum { WORD = 4 };
enum { STATIC_SHARED = 48 * 1024, MOST_SHARED = 227 * 1024, APART = 256 };

static std::vector<Region> &regions() /* made before any file that registers itself */
{
    static std::vector<Region> all;
    return all;
}
static char dynamic_shared[MOST_SHARED] __attribute__((aligned(128)));
static size_t dynamic_bytes;
static size_t static_bytes; /* touched by this block */

template <class T> static T *one_a_word(size_t bytes)
{
    T *all = (T *)calloc(bytes / WORD + 1, sizeof *all);
    if (!all) abort();
    return all;
}

/* The record of the i-th byte; its word has one a byte from now on. */
static Record *of_byte(Region *r, size_t i)
{
    Record *&four = r->bytes[i / WORD];
    if (!four) {
        four = new Record[WORD];
        for (int k = 0; k < WORD; k++) four[k] = r->record[i / WORD];
    }
    return &four[i % WORD];
}

/* Calls touch(record, first byte, bytes) for what has one record, from a byte to another. */
template <class Touch> static void each_record(Region *r, size_t from, size_t end, Touch touch)
{
    while (from < end) {
        bool whole = from % WORD == 0 && from + WORD <= end && !r->bytes[from / WORD];
        Record *record = whole ? &r->record[from / WORD] : of_byte(r, from);
        touch(record, from, whole ? (size_t)WORD : 1);
        from += whole ? WORD : 1;
    }
}

static void forget_records(const Region *r, Record *record, Record **bytes)
{
    for (size_t i = 0; i <= (size_t)(r->end - r->at) / WORD; i++) delete[] bytes[i];
    free(bytes);
    free(record);
}

enum Kind { SHARED, CONSTANTS, VARIABLES, ALLOCATION, MAPPED };

static void add_region(char *at, char *end, Kind kind)
{
    if (!at || at == end) return;
    for (const Region &r : regions())
        if (r.at == at) return;
    if (kind == SHARED || kind == ALLOCATION) memset(at, 0xff, end - at);
    Region r = {at, end, NULL, NULL, kind == SHARED, {}};
    if (kind != CONSTANTS) r.record = one_a_word<Record>(end - at), r.bytes = one_a_word<Record *>(end - at);
    regions().push_back(r);
}

Sim_file::Sim_file(char *const (&shared)[2], char *const (&constants)[2], char *const (&variables)[2])
{
    add_region(shared[0], shared[1], SHARED);
    add_region(constants[0], constants[1], CONSTANTS);
    add_region(variables[0], variables[1], VARIABLES);
}

/* Where it was found last, by address: kernels go from one array to the next and back. */
static Region *region_of(const char *at)
{
    static size_t found[256];
    std::vector<Region> &all = regions();
    size_t &i = found[(uintptr_t)at / 256 % 256];
    if (i < all.size() && at >= all[i].at && at < all[i].end) return &all[i];
    for (i = 0; i < all.size(); i++)
        if (at >= all[i].at && at < all[i].end) return &all[i];
    return NULL;
}

void *sim_dynamic_shared(void) { return dynamic_shared; }

size_t sim_static_shared(void)
{
    size_t all = 0;
    for (const Region &r : regions())
        if (r.shared && r.at != dynamic_shared) all += r.end - r.at;
    return std::min<size_t>(all, STATIC_SHARED);
}

void sim_start_block(size_t bytes)
{
    add_region(dynamic_shared, dynamic_shared + MOST_SHARED, SHARED);
    dynamic_bytes = bytes;
    static_bytes = 0;
}

/* ---- shared memory of blocks that are there at once */

static size_t shared_bytes(const Region *r) { return r->at == dynamic_shared ? dynamic_bytes : (size_t)(r->end - r->at); }

static void exchange(Region *r, Share *s)
{
    std::swap_ranges(r->at, r->at + shared_bytes(r), s->at);
    std::swap(r->record, s->record);
    std::swap(r->bytes, s->bytes);
}

static Share new_share(const Region *r)
{
    size_t bytes = r->end - r->at;
    Share s = {(char *)malloc(bytes), one_a_word<Record>(bytes), one_a_word<Record *>(bytes), 0};
    if (!s.at) abort();
    memset(s.at, 0xff, shared_bytes(r));
    return s;
}

void sim_enter_block(int block, size_t bytes)
{
    sim_start_block(bytes);
    for (Region &r : regions()) {
        if (!r.shared) continue;
        while ((int)r.of_block.size() <= block) r.of_block.push_back(new_share(&r));
        exchange(&r, &r.of_block[block]);
        static_bytes = r.of_block[block].static_bytes;
    }
}

void sim_leave_block(int block)
{
    for (Region &r : regions()) {
        if (!r.shared) continue;
        exchange(&r, &r.of_block[block]);
        r.of_block[block].static_bytes = static_bytes;
    }
}

void sim_forget_blocks(void)
{
    for (Region &r : regions()) {
        for (Share &s : r.of_block) {
            forget_records(&r, s.record, s.bytes);
            free(s.at);
        }
        r.of_block.clear();
    }
}

/* ---- faults */

static const char *nearest_allocation(const char *at, size_t *apart, bool *behind)
{
    const char *name = NULL;
    *apart = SIZE_MAX;
    for (const Region &r : regions()) {
        size_t before = at < r.at ? r.at - at : SIZE_MAX, after = at >= r.end ? at - r.end : SIZE_MAX;
        if (std::min(before, after) >= *apart) continue;
        *apart = std::min(before, after);
        *behind = after < before;
        name = r.shared ? "shared memory" : r.record ? "an allocation" : "constants";
    }
    return name;
}

[[noreturn]] static void stray(const char *at, size_t bytes, bool write)
{
    size_t apart;
    bool behind = false;
    const char *verb = write ? "writes" : "reads", *near = nearest_allocation(at, &apart, &behind);
    if (near && apart < APART)
        sim_fault(cudaErrorIllegalAddress, "out of bounds: %s %zu bytes, %zu bytes %s %s", verb, bytes, apart,
                  behind ? "behind the end of" : "before", near);
    sim_fault(cudaErrorIllegalAddress, "out of bounds: %s %zu bytes where no memory of the device is", verb, bytes);
}

[[noreturn]] static void race(const Region *r, size_t i, bool write, const Sim_moment *other, bool other_wrote)
{
    const char *where = r->shared ? "shared memory" : "global memory";
    Sim_moment now = sim_now();
    if (other->block != now.block)
        sim_fault(cudaErrorLaunchFailure, "race: %s byte %zu of %s, which thread %d of another block %s", write ? "writes" : "reads",
                  i, where, other->thread, other_wrote ? "wrote" : "read");
    sim_fault(cudaErrorLaunchFailure, "race: %s byte %zu of %s, which thread %d %s since the last barrier",
              write ? "writes" : "reads", i, where, other->thread, other_wrote ? "wrote" : "read");
}

/* ---- accesses */

/* Of this launch (shared memory: of this block), by another thread, and nothing between them. */
static bool meets(const Region *r, const Sim_moment *m, const Sim_moment *now)
{
    if (r->shared ? m->block != now->block : m->block < sim.first_block) return false;
    if (m->atomic && now->atomic) return false;
    if (m->block != now->block) return !sim_seen(m);
    return m->thread != now->thread && !sim_ordered(m);
}

/* Byte i, or the n from there on, which have one record. */
static void check(Region *r, Record *b, size_t i, size_t n, bool write, const Sim_moment *now)
{
    if (r->shared && b->write.block != now->block) { /* not written by this block */
        if (!write) sim_fault(cudaErrorLaunchFailure, "reads byte %zu of shared memory before it is written", i);
        if (r->at != dynamic_shared && (static_bytes += n) > STATIC_SHARED)
            sim_fault(cudaErrorLaunchFailure, "uses more than %d bytes of __shared__ arrays", STATIC_SHARED);
    }
    if (r->shared && b->write.flying && b->write.block == now->block)
        sim_fault(cudaErrorLaunchFailure, "%s byte %zu of shared memory, where thread %d has not waited for a copy",
                  write ? "writes" : "reads", i, b->write.thread);
    if (meets(r, &b->write, now)) race(r, i, write, &b->write, true);
    if (write) {
        if (meets(r, &b->read, now)) race(r, i, write, &b->read, false);
        if (meets(r, &b->other, now)) race(r, i, write, &b->other, false);
        b->write = *now;
        return;
    }
    bool same = b->read.block == now->block && b->read.thread == now->thread;
    if (!same) b->other = b->read;
    b->read = *now;
}

/* Inline: most calls say how many bytes. */
static inline __attribute__((always_inline)) void touch(const void *address, size_t bytes, bool write, bool atomic)
{
    const char *at = (const char *)address;
    if (!sim_running() || sim_own_memory(at)) return;
    Region *r = region_of(at);
    if (!r) stray(at, bytes, write);
    if (at + bytes > r->end) stray(r->end, at + bytes - r->end, write);
    if (at >= dynamic_shared && at < dynamic_shared + MOST_SHARED && at + bytes > dynamic_shared + dynamic_bytes)
        sim_fault(cudaErrorIllegalAddress, "out of bounds: %s behind the %zu bytes of dynamic shared memory",
                  write ? "writes" : "reads", dynamic_bytes);
    if (!r->record) {
        if (write) sim_fault(cudaErrorIllegalAddress, "writes to a constant");
        return;
    }
    if ((uintptr_t)at % bytes && (bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16))
        sim_fault(cudaErrorIllegalAddress, "misaligned: %zu bytes at an address that is no multiple of that", bytes);
    Sim_moment now = sim_now();
    now.atomic = atomic;
    each_record(r, at - r->at, at - r->at + bytes,
                [&](Record *b, size_t i, size_t n) { check(r, b, i, n, write, &now); });
}

void sim_atomic(const void *at, size_t bytes) { touch(at, bytes, true, true); }
void sim_atomic_read(const void *at, size_t bytes) { touch(at, bytes, false, true); }
void sim_touch(const void *at, size_t bytes, bool write) { touch(at, bytes, write, false); }

bool sim_shared(const void *at)
{
    const Region *r = region_of((const char *)at);
    return r && r->shared;
}

static void set_writes(void *to, size_t bytes, bool flying)
{
    Region *r = region_of((const char *)to);
    Sim_moment now = sim_now();
    now.flying = flying;
    size_t from = (char *)to - r->at;
    each_record(r, from, from + bytes, [&](Record *b, size_t, size_t) { b->write = now; });
}

void sim_take_off(void *to, size_t bytes)
{
    touch(to, bytes, true, false);
    memset(to, 0xff, bytes);
    set_writes(to, bytes, true);
}

void sim_land(void *to, const void *from, size_t bytes)
{
    if (from) memcpy(to, from, bytes);
    else memset(to, 0, bytes);
    set_writes(to, bytes, false);
}

#define ACCESS(n)                                                                                                      \
    extern "C" void __tsan_read##n(void *at) { touch(at, n, false, false); }                                           \
    extern "C" void __tsan_write##n(void *at) { touch(at, n, true, false); }                                           \
    extern "C" void __tsan_unaligned_read##n(void *at) { touch(at, n, false, false); }                                 \
    extern "C" void __tsan_unaligned_write##n(void *at) { touch(at, n, true, false); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
extern "C" void __tsan_read_range(void *at, size_t n) { touch(at, n, false, false); }
extern "C" void __tsan_write_range(void *at, size_t n) { touch(at, n, true, false); }
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit(void) {}
extern "C" void __tsan_vptr_update(void **, void *) {}
extern "C" void __tsan_vptr_read(void **) {}
extern "C" void __tsan_init(void) {}

/* Of arrays whose extent the text says: a thread's own, which are nobody's memory, and rows within rows. */
extern "C" void __ubsan_handle_out_of_bounds(void *data, void *index)
{
    struct Of_text {
        const char *file;
        unsigned line, column;
    } *at = (Of_text *)data;
    if (sim_running())
        sim_fault(cudaErrorIllegalAddress, "out of bounds: index %d of an array, %s:%u", (int)(intptr_t)index, at->file, at->line);
    printf("%s:%u: index %d is out of bounds\n", at->file, at->line, (int)(intptr_t)index);
    fflush(stdout);
    abort();
}

/* ---- the runtime's functions */

static size_t allocated, most_allocated;
size_t sim_allocated(void) { return allocated; }
size_t sim_most_allocated(void) { return most_allocated; }

cudaError_t cudaMalloc(void **at, size_t bytes)
{
    size_t room = (bytes + 2 * APART + 255) / 256 * 256;
    cudaError_t error = sim_uncaptured("cudaMalloc");
    if (error != cudaSuccess) return error;
    char *block = allocated + bytes > sim_device.memory ? NULL : (char *)aligned_alloc(256, room);
    if (!block) return cudaErrorMemoryAllocation;
    *at = block + APART; /* room before and behind, so that a step over the end is seen */
    add_region(block + APART, block + APART + bytes, ALLOCATION);
    allocated += bytes;
    most_allocated = allocated > most_allocated ? allocated : most_allocated;
    return cudaSuccess;
}

cudaError_t cudaFree(void *at)
{
    std::vector<Region> &all = regions();
    cudaError_t error = sim_synchronous("cudaFree");
    if (error != cudaSuccess) return error;
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].at != at || all[i].shared || !all[i].record) continue;
        allocated -= all[i].end - all[i].at;
        free(all[i].at - APART);
        forget_records(&all[i], all[i].record, all[i].bytes);
        all.erase(all.begin() + i);
        return cudaSuccess;
    }
    return at ? sim_refuse(cudaErrorInvalidValue, "cudaFree of what cudaMalloc has not given") : cudaSuccess;
}

bool sim_take(size_t bytes)
{
    if (allocated + bytes > sim_device.memory) return false;
    allocated += bytes;
    most_allocated = allocated > most_allocated ? allocated : most_allocated;
    return true;
}

void sim_give_back(size_t bytes) { allocated -= bytes; }
void sim_add_memory(void *at, size_t bytes) { add_region((char *)at, (char *)at + bytes, MAPPED); }

static void forget_region(size_t i)
{
    std::vector<Region> &all = regions();
    forget_records(&all[i], all[i].record, all[i].bytes);
    all.erase(all.begin() + (long)i);
}

void sim_forget_memory(void *at)
{
    for (size_t i = 0; i < regions().size(); i++)
        if ((char *)at >= regions()[i].at && (char *)at < regions()[i].end) return forget_region(i);
}

bool sim_on_device(const void *at, size_t bytes)
{
    const Region *r = region_of((const char *)at);
    return r && (const char *)at + bytes <= r->end;
}

cudaError_t sim_copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (bytes && (to_device != sim_on_device(to, bytes) || from_device != sim_on_device(from, bytes)))
        return sim_refuse(cudaErrorInvalidValue, "a copy of %zu bytes: a pointer is not on the side that it says", bytes);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t sim_set(void *at, int value, size_t bytes)
{
    if (!sim_on_device(at, bytes)) return sim_refuse(cudaErrorInvalidValue, "cudaMemset of %zu bytes outside the device", bytes);
    memset(at, value, bytes);
    return cudaSuccess;
}
