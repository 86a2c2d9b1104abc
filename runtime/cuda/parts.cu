/* parts.cu: GPUs that keep their own elements of parameters and gradients (ZeRO-3, Rajbhandari et al. 2020): buckets of
 * parameters are gathered before the kernels that need them, the next ones ahead; buckets of gradients leave as soon as
 * they are done.
 *
 * Both lie in rooms that they share with buckets of other times (interface/pages.h).  A gather waits for all kernels
 * that were enqueued before it, so for the last one that used what was there; gradients wait for the sums of those that
 * may have been in their rooms. */
#include "cuda/parts.h"
#include "cuda/ranks.h"
#include "cuda/rooms.h"
#include "lathe_cuda.cuh"

#include <stdlib.h>

static struct {
    Device_parts of;
    bool opened;
    int rank;
    char *params, *grads; /* on the GPU: whole, by pages */
    const Lathe_entry *entry;
    int at;               /* of what the entry says, what it has said last; -1: nothing */
    Lathe_said *room;     /* [the most sayings of an entry] */
    Lathe_reads reads;
    Lathe_writes writes;
    cudaEvent_t gathered[LATHE_ALL_BUCKETS], added[LATHE_ALL_BUCKETS];
} parts;

bool parts_opened(void) { return parts.opened; }

/* ------------------------------------------------------------------ opening */

static bool has_events(cudaEvent_t *event)
{
    for (int k = 0; k < parts.of.shards.buckets; k++)
        if (cudaEventCreateWithFlags(&event[k], cudaEventDisableTiming) != cudaSuccess) return false;
    return true;
}

static char *map_array(int gpu, const Device_array *a)
{
    char *at = (char *)rooms_map(gpu, a, parts.of.page);
    if (at) gpu_add_window(a->whole, a->bytes, at);
    return at;
}

const char *parts_open(int gpu, const Device_parts *of, const Lathe_model *m)
{
    int most = 1;
    const char *refusal = rooms_check(gpu, of->page);
    if (refusal) return refusal;
    /* Else NCCL opens the arrays of graphs to other processes, for which rooms have no handles. */
    (void)setenv("NCCL_GRAPH_REGISTER", "0", 0);
    parts = {};
    parts.of = *of;
    parts.opened = true;
    for (int i = 0; i < m->entries; i++)
        if (m->entry[i].sayings > most) most = m->entry[i].sayings;
    parts.room = (Lathe_said *)malloc((size_t)most * sizeof *parts.room);
    if (!parts.room) abort();
    parts.params = map_array(gpu, &parts.of.parameters);
    if (parts.params) parts.grads = map_array(gpu, &parts.of.gradients);
    if (!parts.grads) return rooms_refusal();
    return has_events(parts.gathered) && has_events(parts.added) ? NULL : "--shard-parameters: CUDA has no more events";
}

void parts_close(void)
{
    cuda_parameters_needed = cuda_parameters_dropped = cuda_gradients_begun = NULL;
    for (int k = 0; k < parts.of.shards.buckets; k++) {
        if (parts.gathered[k]) (void)cudaEventDestroy(parts.gathered[k]);
        if (parts.added[k]) (void)cudaEventDestroy(parts.added[k]);
    }
    free(parts.room);
    parts = {};
    rooms_close();
}

/* ------------------------------------------------------------------ what an entry says */

void parts_begin(const Lathe_entry *e)
{
    if (!parts.opened) return;
    parts.entry = e;
    parts.at = -1;
    lathe_begin_reads(&parts.reads, &parts.of.shards, e->said, e->sayings, parts.room);
    lathe_begin_writes(&parts.writes, &parts.of.shards);
}

/* Where the entry is in its table.  A loop over micro-batches says the same again. */
static int find_said(Lathe_saying what, const void *at, const char *array, int64_t element)
{
    const Lathe_entry *e = parts.entry;
    const int64_t first = ((const char *)at - array) / element;
    for (int n = 0; n < e->sayings; n++) {
        parts.at = (parts.at + 1) % e->sayings;
        if (e->said[parts.at].what == what && e->said[parts.at].first == first) return parts.at;
    }
    assert(!"the entry's table has it");
    return 0;
}

static void wait_for(cudaEvent_t event, cudaStream_t stream) { (void)cudaStreamWaitEvent(stream, event, 0); }

/* ------------------------------------------------------------------ parameters */

static void gather(int k, cudaStream_t stream)
{
    for (int i = 0; i < parts.of.shards.buckets; i++)
        assert(!lathe_has(&parts.reads.here, i) || lathe_has(&parts.of.parameters.apart[k], i));
    ranks_gather(k, parts.params, parts.gathered[k], stream);
}

static void parameters_needed_here(const void *first, size_t, cudaStream_t stream)
{
    const int i = find_said(LATHE_NEEDED, first, parts.params, parts.of.parameters.element);
    const Lathe_set now = lathe_buckets_with(&parts.of.shards, &parts.entry->said[i]);
    int fetch[LATHE_ALL_BUCKETS];
    const int n = lathe_read(&parts.reads, i, fetch);
    for (int k = 0; k < n; k++) gather(fetch[k], stream);
    for (int k = 0; k < parts.of.shards.buckets; k++)
        if (lathe_has(&now, k)) wait_for(parts.gathered[k], stream);
}

static void parameters_dropped_here(const void *first, size_t, cudaStream_t)
{
    int fetch[LATHE_ALL_BUCKETS];
    const int i = find_said(LATHE_DROPPED, first, parts.params, parts.of.parameters.element);
    (void)lathe_read(&parts.reads, i, fetch);
}

/* ------------------------------------------------------------------ gradients */

/* Zeros: no kernel writes what is between parameters. */
static void begin_gradients(int k, cudaStream_t stream)
{
    const Lathe_part all = lathe_bucket(&parts.of.shards, k);
    const int64_t element = parts.of.gradients.element;
    for (int i = 0; i < parts.writes.done; i++) {
        const int before = parts.writes.order[i];
        if (!lathe_has(&parts.of.gradients.apart[k], before)) wait_for(parts.added[before], stream);
    }
    (void)cudaMemsetAsync(parts.grads + all.first * element, 0, (size_t)(all.count * element), stream);
}

static void gradients_begun_here(const void *first, size_t, cudaStream_t stream)
{
    int which[LATHE_ALL_BUCKETS];
    const int i = find_said(LATHE_BEGUN, first, parts.grads, parts.of.gradients.element);
    const int n = lathe_write(&parts.writes, &parts.entry->said[i], which);
    for (int k = 0; k < n; k++) begin_gradients(which[k], stream);
}

static void gradients_done_here(const void *first, size_t, cudaStream_t stream)
{
    int which[LATHE_ALL_BUCKETS];
    const int i = find_said(LATHE_DONE, first, parts.grads, parts.of.gradients.element);
    const int n = lathe_write(&parts.writes, &parts.entry->said[i], which);
    for (int k = 0; k < n; k++) ranks_add(which[k], parts.added[which[k]], stream);
}

void parts_rest(cudaStream_t stream)
{
    Lathe_writes *w = &parts.writes;
    for (int touched = 1; parts.opened && touched >= 0; touched--)
        for (int k = 0; k < parts.of.shards.buckets; k++) {
            if (w->left[k] <= 0 || (touched && !lathe_has(&w->begun, k))) continue;
            if (!touched) begin_gradients(k, stream);
            lathe_bucket_is_done(w, k);
            ranks_add(k, parts.added[k], stream);
        }
}

/* ------------------------------------------------------------------ joining, beginning, saving */

void parts_join(int rank)
{
    parts.rank = rank;
    ranks_keep(gpu_place(parts.of.parameters.own), gpu_place(parts.of.gradients.own));
    cuda_parameters_needed = parameters_needed_here;
    cuda_parameters_dropped = parameters_dropped_here;
    cuda_gradients_begun = gradients_begun_here;
    cuda_gradients_done = gradients_done_here;
}

/* Bucket by bucket, each in its room. */
void parts_spread(void *params)
{
    const int64_t element = parts.of.parameters.element;
    for (int k = 0; k < parts.of.shards.buckets; k++) {
        const Lathe_part all = lathe_bucket(&parts.of.shards, k);
        if (all.count == 0) continue;
        if (parts.rank == 0) gpu_up((char *)params + all.first * element, all.count * element);
        ranks_share(parts.params + all.first * element, all.count * element, gpu_stream());
        ranks_take(k, parts.params, gpu_stream());
    }
    gpu_wait();
}

void parts_collect(void *params)
{
    const int64_t element = parts.of.parameters.element;
    for (int k = 0; k < parts.of.shards.buckets; k++) {
        const Lathe_part all = lathe_bucket(&parts.of.shards, k);
        if (all.count == 0) continue;
        ranks_gather(k, parts.params, parts.gathered[k], gpu_stream());
        wait_for(parts.gathered[k], gpu_stream());
        if (parts.rank == 0) gpu_down((char *)params + all.first * element, all.count * element);
    }
    gpu_wait();
}
