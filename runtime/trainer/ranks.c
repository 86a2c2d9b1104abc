/* ranks.c: `trainer train --gpus N`: one process per GPU, forked after the data is opened and before CUDA is started.
 *
 * The program that was called stays, passes signals on and waits; if a rank ends early, it ends all.  Rank 0 works like
 * a trainer with one GPU: it alone prints, writes and decides.  The other ranks, its followers, do what it orders: take
 * a step, copy their parts of the optimizer's moments for a checkpoint, take the mean of weights for an evaluation and
 * what is trained again, or end.  Orders are in shared memory, and so
 * are the arrays that are whole on the host alone: moments, and the states that each rank carries. */
#include "base/words.h"
#include "data/data.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "interface/shard.h"
#include "model/block.h"
#include "model/run.h"
#include "model/tables.h"
#include "step/average.h"
#include "step/carry.h"
#include "step/device.h"
#include "step/direction.h"
#include "step/entry.h"
#include "step/optim.h"
#include "trainer/memory.h"
#include "trainer/ranks.h"
#include "trainer/step.h"
#include "trainer/trainer.h"
#include "trainer/trial.h"

#include <errno.h>
#include <omp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ORDERS = 64 }; /* that followers may lag: every step waits for all ranks, so the queue never fills */

typedef enum Ranks_order { RANKS_STEP, RANKS_GATHER, RANKS_SHOW_MEAN, RANKS_SHOW_TRAINED, RANKS_END } Ranks_order;

typedef struct Board {                                    /* shared */
    sem_t ready[LATHE_MOST_GPUS], order[LATHE_MOST_GPUS]; /* of each follower: it may start; it has an order */
    sem_t gathered;
    char id[LATHE_RANKS_ID];
    Loss_scale loss_scale;
    Ranks_order orders[ORDERS];
    atomic_bool ending;
} Board;

struct Ranks {
    Board *board;
    char *moments, *carried; /* whole; carried: [gpus], one after the other */
    int64_t ordered;         /* orders given by rank 0, or taken by a follower */
};

int gpus_of(const Trainer *t) { return t->gpus > 1 ? (int)t->gpus : 1; }
bool is_follower(const Trainer *t) { return t->rank > 0; }

void check_gpus(const Trainer *t)
{
    if (gpus_of(t) == 1) return;
    if (!t->model->device)
        fail(EXIT_USAGE, NULL,
             "--gpus %lld: this trainer is for the processor; `lathe build MODEL.lua --target cuda` makes one for GPUs",
             (long long)t->gpus);
    if (t->model->one_rank)
        fail(EXIT_USAGE, NULL,
             "--gpus %lld: %s, and each GPU would see its own rows alone\n  train on one GPU, with a larger batch or "
             "accumulate",
             (long long)t->gpus, t->model->one_rank);
    if (t->gpus > LATHE_MOST_GPUS)
        fail(EXIT_USAGE, NULL, "--gpus %lld: expected 1 to %d", (long long)t->gpus, LATHE_MOST_GPUS);
    if (t->overfit || t->dry_run)
        fail(EXIT_USAGE, NULL, "--%s runs on one GPU; leave --gpus out", t->overfit ? "overfit" : "dry-run");
}

/* ------------------------------------------------------------------ the program that was called */

static pid_t child[LATHE_MOST_GPUS]; /* 0: it has ended */

static void send_to_all(int number)
{
    for (int k = 0; k < LATHE_MOST_GPUS; k++)
        if (child[k]) kill(child[k], number);
}

static int rank_of(pid_t pid)
{
    for (int k = 0; k < LATHE_MOST_GPUS; k++)
        if (child[k] == pid) return k;
    return -1;
}

static bool all_ended(void)
{
    for (int k = 0; k < LATHE_MOST_GPUS; k++)
        if (child[k]) return false;
    return true;
}

typedef struct Ending {     /* of the run; code -1: none yet */
    int code, lost, number; /* lost: the rank that a signal killed, -1: none; number: the signal */
} Ending;

/* A rank that fails prints the reason itself, but one that a signal kills does not: the others only report that it is
 * missing. */
static void take_ending(Ending *e, int rank, int status, bool ending)
{
    if (WIFSIGNALED(status)) {
        if (e->lost < 0) e->lost = rank, e->number = WTERMSIG(status);
    } else if (e->code <= 0 && (rank == 0 || WEXITSTATUS(status) != 0 || !ending)) {
        e->code = WEXITSTATUS(status);
        if (rank > 0 && e->code == 0) e->code = EXIT_ERROR;
    }
}

static void reap(Ending *e, const Board *b)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        int rank = rank_of(pid);
        if (rank < 0) continue;
        child[rank] = 0;
        take_ending(e, rank, status, atomic_load(&b->ending));
    }
}

static _Noreturn void end_run(const Trainer *t, const Ending *e)
{
    int64_t newest = newest_checkpoint(run_folder(t), INT64_MAX);
    if (e->lost < 0) exit(e->code);
    char *then = newest < 0 ? text_of("there is no checkpoint yet")
                            : text_of("`%s train --resume --out %s --gpus %d` continues after step %lld", t->program,
                                      run_folder(t), gpus_of(t), (long long)newest);
    fail(EXIT_ERROR, NULL, "rank %d of %d (GPU %d) was killed by signal %d (%s), which ended the run; %s", e->lost,
         gpus_of(t), e->lost, e->number, strsignal(e->number), then);
}

/* Waits until the run has ended: followers that are ordered to end do so by themselves. */
static _Noreturn void wait_for_ranks(const Trainer *t, const Board *b, const sigset_t *signals)
{
    const struct timespec soon = {0, 200000000}, patience = {10, 0};
    Ending e = {-1, -1, 0};
    while (e.code < 0 && e.lost < 0) {
        int number = sigwaitinfo(signals, NULL);
        reap(&e, b);
        if (number != SIGCHLD && number > 0 && child[0]) kill(child[0], number);
    }
    bool orderly = e.code >= 0 && atomic_load(&b->ending);
    for (int waits = 0; !all_ended() && waits < (orderly ? LATHE_MOST_GPUS : 2); waits++) {
        if (sigtimedwait(signals, NULL, orderly ? &patience : &soon) < 0 && errno == EAGAIN) break;
        reap(&e, b);
    }
    send_to_all(SIGKILL);
    while (!all_ended()) {
        pid_t pid = waitpid(-1, NULL, 0);
        int rank = pid > 0 ? rank_of(pid) : -1;
        if (rank >= 0) child[rank] = 0;
        else if (pid < 0 && errno != EINTR) break;
    }
    end_run(t, &e);
}

/* ------------------------------------------------------------------ the ranks */

static Ranks *share_memory(const Trainer *t)
{
    int64_t head = align64((int64_t)sizeof(Board)), moments = align64((int64_t)optimizer_bytes(t->model, &t->recipe));
    int64_t bytes = head + moments + gpus_of(t) * carried_bytes(t->model);
    char *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        fail(EXIT_ERROR, NULL, "%d GPUs: the system refused %s of shared memory: %s", gpus_of(t), bytes_text(bytes),
             error_text(errno));
    Ranks *r = must_alloc(sizeof *r);
    *r = (Ranks){(Board *)(void *)at, at + head, at + head + moments, 0};
    for (int k = 0; k < LATHE_MOST_GPUS; k++)
        if (sem_init(&r->board->ready[k], 1, 0) != 0 || sem_init(&r->board->order[k], 1, 0) != 0)
            fail(EXIT_ERROR, NULL, "no semaphores between processes: %s", error_text(errno));
    sem_init(&r->board->gathered, 1, 0);
    return r;
}

static void wait_on(sem_t *s)
{
    while (sem_wait(s) != 0) continue; /* a signal */
}

/* A terminal's signals reach only the program that was called, which passes them on.  If it is killed, the ranks are
 * too. */
static void become_rank(Trainer *t, int rank, pid_t called, const sigset_t *before)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != called) _exit(EXIT_ERROR);
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, before, NULL);
    t->rank = rank;
    memset(child, 0, sizeof child);
    if (rank == 0) return;
    name_program(text_of("trainer, rank %d", rank));
    keep_quiet();
    wait_on(&t->ranks->board->ready[rank]);
}

void start_ranks(Trainer *t)
{
    sigset_t signals, before;
    pid_t called = getpid();
    if (gpus_of(t) == 1) return;
    t->ranks = share_memory(t);
    sigemptyset(&signals);
    for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, 0}; *s; s++) sigaddset(&signals, *s);
    omp_pause_resource_all(omp_pause_hard); /* OpenMP's threads do not survive a fork, and it would wait for them */
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (int k = 0; k < gpus_of(t); k++) {
        child[k] = fork();
        if (child[k] == 0) {
            become_rank(t, k, called, &before);
            return;
        }
        if (child[k] > 0) continue;
        child[k] = 0;
        send_to_all(SIGKILL);
        fail(EXIT_ERROR, NULL, "the system refused a process for GPU %d: %s", k, error_text(errno));
    }
    wait_for_ranks(t, t->ranks->board, &signals);
}

/* LATHE_NCCL_BUCKET: bytes, for tests. */
static Lathe_shards shards_of_run(const Trainer *t)
{
    const char *wish = getenv("LATHE_NCCL_BUCKET");
    int64_t bytes = wish && atoll(wish) > 0 ? atoll(wish) : LATHE_BUCKET_BYTES;
    return lathe_shards(lathe_trained_elements(t->model), t->model->directed_elements,
                        bytes / dtype_size(t->model->real), gpus_of(t));
}

/* Rank 0 has loaded parameters and data; only then do the others open their GPUs and choose algorithms for products. */
void join_ranks(const Trainer *t, Optimizer *o, const Memory *m)
{
    if (!t->ranks) return;
    Board *b = t->ranks->board;
    if (!is_follower(t)) {
        name_devices(b->id);
        b->loss_scale = o->loss_scale;
        for (int k = 1; k < gpus_of(t); k++) sem_post(&b->ready[k]);
    }
    o->loss_scale = b->loss_scale;
    Lathe_shards shards = shards_of_run(t);
    join_devices(b->id, &shards);
    device_up(m->params, is_follower(t) ? 0 : weight_bytes(t->model));
    share_there(m->params, weight_bytes(t->model));
}

/* ------------------------------------------------------------------ parts and wholes */

void *whole_moments(const Trainer *t, const Memory *m) { return t->ranks ? t->ranks->moments : m->moments; }

char *all_carried(const Trainer *t, const Memory *m) { return t->ranks ? t->ranks->carried : m->carried; }

/* Copies between a whole moment, or the mean of weights, and the rank's part of it in the block. */
static void copy_parts(const Trainer *t, char *whole, char *own, bool directed, bool back)
{
    const Lathe_model *m = t->model;
    int64_t size = dtype_size(m->real);
    Lathe_shards s = shards_of_run(t);
    for (int k = 0; k < s.buckets; k++) {
        Lathe_part p = lathe_shard(&s, k, t->rank);
        if (lathe_is_directed(&s, k) && !directed) break;
        char *a = whole + p.first * size, *b = own + p.moments * size;
        if (p.count) memcpy(back ? a : b, back ? b : a, (size_t)(p.count * size));
    }
}

static void copy_moments(const Trainer *t, const Optimizer *o, const Memory *m, bool back)
{
    int64_t each = shard_bytes(t);
    char *own = (char *)m->moments + sharded_bytes(t, &t->recipe) - o->moments * each;
    if (o->average) copy_parts(t, o->average, m->moments, true, back);
    for (int k = 0; k < o->moments; k++) copy_parts(t, o->moment[k], own + k * each, false, back);
}

void take_parts(const Trainer *t, const Optimizer *o, const Memory *m)
{
    copy_moments(t, o, m, false);
    device_up(m->moments, sharded_bytes(t, &t->recipe));
}

void take_states(const Trainer *t, const Memory *m)
{
    int64_t carried = carried_bytes(t->model);
    share_directions(t->model, m->state, !is_follower(t));
    if (!carried) return;
    place_carried(t->model, t->ranks->carried + t->rank * carried, m->state);
    device_up(m->state, m->state_bytes);
}

static void hand_in_parts(const Trainer *t, const Optimizer *o, const Memory *m)
{
    int64_t carried = carried_bytes(t->model);
    device_down(m->moments, sharded_bytes(t, &t->recipe));
    copy_moments(t, o, m, true);
    if (!carried) return;
    device_down(m->state, m->state_bytes);
    copy_carried(t->model, t->ranks->carried + t->rank * carried, m->state);
}

/* ------------------------------------------------------------------ orders */

static void give_order(const Trainer *t, Ranks_order what)
{
    Ranks *r = t->ranks;
    r->board->orders[r->ordered++ % ORDERS] = what;
    for (int k = 1; k < gpus_of(t); k++) sem_post(&r->board->order[k]);
}

void order_step(const Trainer *t)
{
    if (t->ranks) give_order(t, RANKS_STEP);
}

void order_mean(const Trainer *t, bool shown)
{
    if (t->ranks) give_order(t, shown ? RANKS_SHOW_MEAN : RANKS_SHOW_TRAINED);
}

void gather_ranks(const Trainer *t, const Optimizer *o, const Memory *m)
{
    give_order(t, RANKS_GATHER);
    hand_in_parts(t, o, m);
    for (int k = 1; k < gpus_of(t); k++) wait_on(&t->ranks->board->gathered);
}

void end_ranks(const Trainer *t)
{
    if (!t->ranks) return;
    atomic_store(&t->ranks->board->ending, true);
    give_order(t, RANKS_END);
    close_device();
}

/* ------------------------------------------------------------------ a follower */

/* Random draws count rows in the batch of all GPUs. */
static void set_first_row(const Trial *c)
{
    const Lathe_tensor *t = tensor_with_role(c->entry, LATHE_FIRST_ROW);
    int32_t row = (int32_t)(c->t->rank * c->entry->rows);
    if (t) memcpy(c->memory->call + t->offset, &row, sizeof row);
}

static void follow_step(const Trial *c, int64_t step)
{
    int code = EXIT_DATA;
    if (!fill_step(c->data, c->entry, c->memory->call, step)) {
        const char *failure = data_failure(c->data, &code);
        end_program(code,
                    failure ? failure
                            : text_of("trainer, rank %d: error: the data ended here, but not for rank 0", c->t->rank));
    }
    set_scalars(c->entry, c->memory->call, c->t->seed, step, 0);
    set_first_row(c);
    begin_turn(c->t, &c->turns->at[0], c->memory, step, 0);
    while (turn_must_end()) end_turn();
}

static void finish_steps(void)
{
    while (turns_begun()) end_turn();
}

/* While it waits it finishes earlier orders, so that their errors are reported. */
static Ranks_order next_order(const Trial *c)
{
    Ranks *r = c->t->ranks;
    sem_t *given = &r->board->order[c->t->rank];
    if (sem_trywait(given) != 0) {
        finish_steps();
        wait_on(given);
    }
    return r->board->orders[r->ordered++ % ORDERS];
}

int follow(const Trial *c, int64_t step)
{
    const Optimizer *o = &c->turns->at[0].optimizer;
    const Memory *m = c->memory;
    for (;;) {
        switch (next_order(c)) {
        case RANKS_STEP: follow_step(c, step++); break;
        case RANKS_GATHER:
            finish_steps();
            hand_in_parts(c->t, o, m);
            sem_post(&c->t->ranks->board->gathered);
            break;
        case RANKS_SHOW_MEAN:
            finish_steps();
            show_averages(o, m->params, m->grads);
            break;
        case RANKS_SHOW_TRAINED: show_trained(o, m->params, m->grads); break;
        case RANKS_END:
            finish_steps();
            close_device();
            return 0;
        }
    }
}
