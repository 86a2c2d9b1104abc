/* join.c: ranks on processors: how they find each other, and what ends them.
 *
 * Processes that mpirun or srun started join by MPI, those of torchrun, and with LATHE_RANKS=slurm those of srun, over
 * TCP, before they read anything; those of --ranks N are forked once the data is open, and share wires.  A rank that
 * fails tells the others why (ranks/beats.c); rank 0 prints it. */
#include "trainer/join.h"
#include "base/file.h"
#include "base/words.h"
#include "interface/dealt.h"
#include "math/openmp.h"
#include "ranks/courier.h"
#include "trainer/called.h"
#include "trainer/checkpoint.h"
#include "trainer/gathers.h"
#include "trainer/last_actions.h"
#include "trainer/ranks.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const Trainer *joined; /* once the courier runs */
static bool promised;
static int place, places;    /* promised: of this process, and how many there are, in this machine */
static bool by_slurm;        /* over TCP */
static int counted;          /* how many there are, if the environment did not say so; else 0 */
static const char *launcher; /* "mpirun"; NULL: it is not known */
static Called *called;       /* NULL: nobody forked */

bool was_started_by_others(const Trainer *t) { return t->gpus > 1 && promised; }

void settle_place(const Trainer *t, int *own, int *all)
{
    *own = promised ? place : t->rank;
    *all = promised ? places : gpus_of(t);
}

int ranks_uncounted(const Trainer *t) { return promised ? counted : gpus_of(t); }

const char *launcher_words(const Trainer *t)
{
    const char *nodes = getenv("GROUP_WORLD_SIZE");
    if (!promised) return "";
    if (!launcher) return text_of("RANK=… WORLD_SIZE=%d MASTER_ADDR=… MASTER_PORT=… ", gpus_of(t));
    if (strcmp(launcher, "torchrun") != 0)
        return text_of("%s%s -n %d ", by_slurm ? "LATHE_RANKS=slurm " : "", launcher, gpus_of(t));
    if (!nodes || strcmp(nodes, "1") == 0) return text_of("torchrun --nproc-per-node %d --no-python ", gpus_of(t));
    return text_of("torchrun --nnodes %s … --no-python ", nodes);
}

/* ------------------------------------------------------------------ failing */

static int own_code = EXIT_ERROR; /* of this rank, which fails */

static void end_others(void) { (void)tell_own_failure(own_code, "rank 0 has failed"); }

/* At the end of a process that has failed: what MPI would do then might wait for others. */
static void leave_mpi_out(void)
{
    if (joined) carrier_in_use()->leave(own_code);
}

/* "trainer, rank 2 of 4, on HOST: error: …" without what rank 0 says by itself. */
static const char *reason_in(const char *text)
{
    const char *reason = strstr(text, ": error: ");
    return strncmp(text, "trainer", 7) == 0 && reason ? reason + strlen(": error: ") : text;
}

/* Of several ranks that fail for one reason, and of a rank's threads, one prints it. */
static bool prints_first(void)
{
    static atomic_flag printed = ATOMIC_FLAG_INIT;
    return called ? !atomic_exchange(&called->told, true) : !atomic_flag_test_and_set(&printed);
}

/* Before a reason is printed here.  Rank 0 prints those of all ranks, and its own before it tells the others, since
 * launchers end all ranks when one ends. */
static bool tell_others(int code, const char *text)
{
    static atomic_flag telling = ATOMIC_FLAG_INIT;
    int before;
    if (!joined || atomic_flag_test_and_set(&telling)) return false;
    own_code = code;
    if (joined->rank > 0) note("error: %s", reason_in(text));
    if (joined->rank == 0 && !ranks_failure(&before)) atexit(end_others);
    else if (tell_own_failure(code, reason_in(text))) carrier_in_use()->leave(code);
    return !prints_first();
}

static bool prints_failure(void)
{
    const bool first = lost_rank() == 0;
    if (!called) return joined->rank == (first ? 1 : 0) && !was_stopped() && prints_first();
    return !(first && atomic_load(&called->passed)) && prints_first();
}

/* By the courier's thread, until it returns true: the main thread computes, or waits for others. */
static bool tell_and_save(int code, const char *text)
{
    static enum { NEW, PRINTED, SILENT } state;
    static double until;
    if (state == NEW) {
        state = prints_failure() ? PRINTED : SILENT;
        /* launchers pass on what is printed while ranks live; another thread may be about to print */
        until = seconds_now() + (called && state == PRINTED ? 0 : 0.3);
        if (state == PRINTED) show(stderr, "trainer: error: %s\n", text);
    }
    const bool saving = joined->rank == 0 && save_runs(joined->saver);
    if (called && joined->rank == 0) atomic_store(&called->saving, saving);
    if (!saving && state == PRINTED) {
        if (code == EXIT_RANK || can_go_on(joined)) show(stderr, "note: %s\n", how_to_go_on(joined));
        state = SILENT;
    }
    return !saving && seconds_now() > until;
}

static void name_rank(const Trainer *t)
{
    if (t->rank == 0) return;
    name_program(text_of("trainer, rank %d of %d, on %s", t->rank, gpus_of(t), host_name()));
    keep_quiet();
}

/* ------------------------------------------------------------------ joining */

static void join_with(const Trainer *t)
{
    joined = t;
    if (promised) atexit(leave_mpi_out);
    when_ranks_fail(tell_and_save);
    before_failing(tell_others);
}

static const Carrier *open_promised(void *with, const char **refusal)
{
    const Promise *p = with;
    return p->address ? open_tcp(refusal) : open_mpi(refusal);
}

/* What is wrong with a command line is wrong for all ranks: rank 0 says it, and launchers then end the others. */
static bool wait_for_first(int code, const char *text)
{
    (void)code, (void)text;
    nanosleep(&(struct timespec){6, 0}, NULL);
    return false;
}

/* Before a failure that all ranks have. */
static void end_unless_first(const Promise *p)
{
    if (p->rank > 0) exit(EXIT_USAGE);
}

void expect_ranks(const Trainer *t)
{
    Promise p;
    const bool trains = strcmp(t->command, "train") == 0;
    const char *fault = promise_fault();
    if (trains && fault) fail(EXIT_USAGE, NULL, "%s", fault);
    if (!ranks_promised(&p) || p.ranks == 1) return;
    if (!trains && !p.launcher) return; /* a shell in a container of a job has such variables, too */
    if (p.rank > 0) before_failing(wait_for_first);
    if (trains || strcmp(t->command, "info") == 0) return;
    end_unless_first(&p);
    fail(EXIT_USAGE, NULL,
         "%s has started %d of `%s %s`: ranks share the work of train alone; start it once, without %s, or, if each "
         "is to work by itself, unset %s for it",
         p.launcher, p.ranks, t->program, t->command, p.launcher, p.variable);
}

static void take_place(Trainer *t, const Carrier *c)
{
    t->rank = c->rank;
    if (place < 0) place = c->place;
    if (places == 0) places = counted = c->places;
}

/* What torchrun sets for several processes, unless somebody else has. */
static void note_single_thread(const Trainer *t)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    if (t->rank > 0 || t->threads || t->model->device || !launcher || strcmp(launcher, "torchrun") != 0) return;
    const int most = threads_here(places);
    if (threads && strcmp(threads, "1") == 0 && most > 1)
        note("each rank has one thread, as torchrun sets OMP_NUM_THREADS=1; --threads %d would use its share of the "
             "cores",
             most);
}

void take_promise(Trainer *t)
{
    Promise p;
    if (processes_apart())
        note(
            "srun has started %d processes and does not tell them of each other, so each trains by itself; "
            "LATHE_RANKS=slurm makes them ranks of one run, and so does srun's option mpi, with the value pmix or pmi2",
            processes_apart());
    if (!ranks_promised(&p) || p.ranks == 1) return;
    const int most = t->model->device ? LATHE_MOST_GPUS : LATHE_MOST_RANKS;
    const bool gpus = t->model->device && t->gpus > 1;
    if (gpus || t->processes > 1 || p.ranks > most) end_unless_first(&p);
    if (gpus)
        fail(EXIT_USAGE, NULL, "%s has started %d ranks with a GPU each, and --gpus %lld asks for more; leave it out",
             p.kind, p.ranks, (long long)t->gpus);
    if (t->processes > 1)
        fail(EXIT_USAGE, NULL, "%s has started %d ranks, and --ranks %lld asks for more of each; leave it out", p.kind,
             p.ranks, (long long)t->processes);
    if (p.ranks > most) fail(EXIT_USAGE, NULL, "%s has started %d ranks; expected at most %d", p.kind, p.ranks, most);
    promised = true;
    launcher = p.launcher;
    by_slurm = p.slurm;
    t->gpus = p.ranks;
    t->rank = p.rank;
    place = p.place;
    places = p.places && p.places < ranks_of_machine() ? ranks_of_machine() : p.places;
    name_rank(t);
    const char *refusal = start_courier(open_promised, &p);
    if (refusal) fail(EXIT_ERROR, NULL, "%s", refusal);
    take_place(t, carrier_in_use());
    forget_promise();
    join_with(t);
    note_single_thread(t);
}

typedef struct Fork {
    struct Wires *wires;
    int rank;
} Fork;

static const Carrier *open_forked(void *with, const char **refusal)
{
    const Fork *f = with;
    (void)refusal;
    return open_wires(f->wires, f->rank);
}

/* In the program that was called: while it has an end of a wire, no rank sees the other's end close. */
static void close_wires(void *wires) { (void)open_wires(wires, -1); }

void join_processes(Trainer *t)
{
    const char *refusal = NULL;
    if (promised) return;
    Fork f = {make_wires(gpus_of(t), &refusal), 0};
    if (!f.wires) fail(EXIT_ERROR, NULL, "%s %d: %s", ranks_option(t), gpus_of(t), refusal);
    called = mmap(NULL, sizeof *called, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (called == MAP_FAILED)
        fail(EXIT_ERROR, NULL, "%s %d: no shared memory: %s", ranks_option(t), gpus_of(t), error_text(errno));
    fork_ranks(t, called, close_wires, f.wires);
    f.rank = t->rank;
    name_rank(t);
    refusal = start_courier(open_forked, &f);
    if (refusal) fail(EXIT_ERROR, NULL, "rank %d: %s", t->rank, refusal);
    join_with(t);
}

void open_rank_log(const Trainer *t, int64_t step)
{
    Fault f = {0};
    char *folder = text_of("%s/logs", run_folder(t));
    if (!joined || !make_folders(folder, &f)) return;
    open_last_action(t);
    if (t->rank == 0) return;
    note_into(text_of("%s/rank-%d.txt", folder, t->rank));
    note("rank %d of %d, on %s, process %d, begins after step %lld", t->rank, gpus_of(t), host_name(), (int)getpid(),
         (long long)step);
}

void part_processes(const Trainer *t)
{
    if (t->rank > 0) note("ends with the run");
    if (called && t->rank == 0) atomic_store(&called->ending, true);
    rank_does(RANK_ENDS, 0);
    end_courier();
    close_last_action();
    before_failing(NULL);
    joined = NULL;
}

/* ------------------------------------------------------------------ where they start */

enum { CHECKPOINT_PATH = 4096, LATE = 30 }; /* s: shared file systems may show new files later on other machines */

static void wait_until_seen(const Trainer *t, const char *checkpoint)
{
    const char *last = text_of("%s/state.json", checkpoint);
    const double from = seconds_now();
    while (access(last, R_OK) != 0 && seconds_now() - from < LATE) nanosleep(&(struct timespec){0, 100000000}, NULL);
    if (access(last, R_OK) != 0)
        fail(EXIT_DATA, checkpoint,
             "rank 0 goes on from this checkpoint, and rank %d, on %s, does not see it; let all ranks see one run "
             "folder under one path (--out)",
             t->rank, host_name());
}

void agree_on_checkpoint(Trainer *t)
{
    if (!joined) return;
    char *path = must_alloc(CHECKPOINT_PATH);
    Piece *piece = must_alloc((size_t)gpus_of(t) * sizeof *piece);
    if (t->rank == 0 && t->resume) snprintf(path, CHECKPOINT_PATH, "%s", find_checkpoint(t));
    for (int k = 0; k < gpus_of(t); k++)
        piece[k] = (Piece){path, path, t->rank == 0 ? CHECKPOINT_PATH : 0, t->rank && k == 0 ? CHECKPOINT_PATH : 0};
    must_go_on(exchange(piece));
    if (t->rank > 0 && *path) wait_until_seen(t, path);
    if (t->rank > 0 && *path && !t->resume) t->weights = t->adapter = t->init_except = NULL; /* as settle_resume() */
    if (t->rank > 0) t->resume = *path ? path : NULL;
    free(piece);
}
