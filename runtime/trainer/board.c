/* board.c: ranks on the GPUs of one machine: their processes find orders, and arrays that are whole on the host alone,
 * in shared memory. */
#include "base/words.h"
#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "model/block.h"
#include "model/tables.h"
#include "step/carry.h"
#include "step/device.h"
#include "step/entry.h"
#include "step/optim.h"
#include "trainer/board.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"
#include "trainer/shards.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ORDERS = 64 }; /* that followers may lag: every step waits for all ranks, so the queue never fills */

struct Board {                                            /* shared */
    sem_t ready[LATHE_MOST_GPUS], order[LATHE_MOST_GPUS]; /* of each follower: it may start; it has an order */
    sem_t gathered;
    char id[LATHE_RANKS_ID];
    Loss_scale loss_scale;
    int orders[ORDERS];
    int64_t moments, carried; /* bytes from here: whole; carried: [gpus], one after the other */
    Called called;
};

static int64_t ordered; /* orders given by rank 0, or taken by a follower */

Board *open_board(const Trainer *t)
{
    int64_t head = align64((int64_t)sizeof(Board)), moments = align64((int64_t)optimizer_bytes(t->model, &t->recipe));
    int64_t bytes = head + moments + gpus_of(t) * carried_bytes(t->model);
    char *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        fail(EXIT_ERROR, NULL, "%d GPUs: the system refused %s of shared memory: %s", gpus_of(t), bytes_text(bytes),
             error_text(errno));
    Board *b = (Board *)(void *)at;
    b->moments = head;
    b->carried = head + moments;
    for (int k = 0; k < LATHE_MOST_GPUS; k++)
        if (sem_init(&b->ready[k], 1, 0) != 0 || sem_init(&b->order[k], 1, 0) != 0)
            fail(EXIT_ERROR, NULL, "no semaphores between processes: %s", error_text(errno));
    sem_init(&b->gathered, 1, 0);
    return b;
}

Called *called_of_board(Board *b) { return &b->called; }
char *board_moments(const Board *b) { return (char *)(uintptr_t)b + b->moments; }
char *board_carried(const Board *b) { return (char *)(uintptr_t)b + b->carried; }

static void wait_on(sem_t *s)
{
    while (sem_wait(s) != 0) continue; /* a signal */
}

void wait_on_board(Board *b, int rank) { wait_on(&b->ready[rank]); }

/* LATHE_NCCL_BUCKET: bytes, for tests. */
Lathe_shards gpu_shards(const Trainer *t)
{
    const char *wish = getenv("LATHE_NCCL_BUCKET");
    int64_t bytes = wish && atoll(wish) > 0 ? atoll(wish) : LATHE_BUCKET_BYTES;
    return lathe_shards(lathe_trained_elements(t->model), t->model->directed_elements,
                        bytes / dtype_size(t->model->real), gpus_of(t));
}

/* Rank 0 has loaded parameters and data; only then do the others open their GPUs and choose algorithms for products. */
void join_board(Board *b, const Trainer *t, Optimizer *o, const Memory *m)
{
    if (!is_follower(t)) {
        name_devices(b->id);
        b->loss_scale = o->loss_scale;
        for (int k = 1; k < gpus_of(t); k++) sem_post(&b->ready[k]);
    }
    o->loss_scale = b->loss_scale;
    join_gpus(t, b->id, m);
}

void join_gpus(const Trainer *t, const char *id, const Memory *m)
{
    Lathe_shards shards = gpu_shards(t);
    join_devices(id, &shards);
    if (shards_parameters(t)) {
        spread_there(m->params);
        return;
    }
    device_up(m->params, is_follower(t) ? 0 : weight_bytes(t->model));
    share_there(m->params, weight_bytes(t->model));
}

/* Copies between a whole moment, or the mean of weights, and a rank's part of it. */
static void copy_parts(const Trainer *t, int rank, char *whole, char *own, bool directed, bool back)
{
    const Lathe_model *m = t->model;
    int64_t size = dtype_size(m->real);
    Lathe_shards s = gpu_shards(t);
    for (int k = 0; k < s.buckets; k++) {
        Lathe_part p = lathe_shard(&s, k, rank);
        if (lathe_is_directed(&s, k) && !directed) break;
        char *a = whole + p.first * size, *b = own + p.moments * size;
        if (p.count) memcpy(back ? a : b, back ? b : a, (size_t)(p.count * size));
    }
}

void copy_gpu_moments(const Trainer *t, int rank, const Optimizer *o, void *moments, bool back)
{
    int64_t each = shard_bytes(t);
    char *own = (char *)moments + sharded_bytes(t, &t->recipe) - o->moments * each;
    if (o->average) copy_parts(t, rank, o->average, moments, true, back);
    for (int k = 0; k < o->moments; k++) copy_parts(t, rank, o->moment[k], own + k * each, false, back);
}

/* ------------------------------------------------------------------ orders */

void post_order(Board *b, const Trainer *t, int what)
{
    b->orders[ordered++ % ORDERS] = what;
    for (int k = 1; k < gpus_of(t); k++) sem_post(&b->order[k]);
}

int take_order(Board *b, int rank, void before_waiting(void))
{
    if (sem_trywait(&b->order[rank]) != 0) {
        before_waiting();
        wait_on(&b->order[rank]);
    }
    return b->orders[ordered++ % ORDERS];
}

void post_gathered(Board *b) { sem_post(&b->gathered); }

void wait_for_gathered(Board *b, const Trainer *t)
{
    for (int k = 1; k < gpus_of(t); k++) wait_on(&b->gathered);
}

void end_board(Board *b) { atomic_store(&b->called.ending, true); }
