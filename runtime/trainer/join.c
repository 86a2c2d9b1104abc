/* join.c: ranks on processors: how they find each other, whether they are of one kind, and what ends them.
 *
 * Processes that mpirun or srun started join by MPI, before they read anything; those of --ranks N are forked once the
 * data is open, and share wires.  A rank that fails tells the others why (ranks/beats.c); rank 0 prints it. */
#include "trainer/join.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/words.h"
#include "data/data.h"
#include "interface/dealt.h"
#include "ranks/courier.h"
#include "trainer/called.h"
#include "trainer/checkpoint.h"
#include "trainer/knobs.h"
#include "trainer/ranks.h"
#include "trainer/shared.h"
#include "trainer/trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const Trainer *joined; /* once the courier runs */
static bool promised;
static atomic_bool *ending; /* shared with the program that was called; NULL: nobody forked */

bool was_started_by_others(const Trainer *t) { return t->gpus > 1 && promised; }

/* ------------------------------------------------------------------ failing */

/* Before the reason of a failure is printed here: the others learn it.  Returns whether rank 0 prints it. */
static bool tell_others(int code, const char *text)
{
    static bool telling;
    if (telling || !joined) return false;
    telling = true;
    return tell_failure(code, text);
}

_Noreturn void leave_ranks(int code, const char *text)
{
    const int printer = lost_rank() == 0 ? 1 : 0;
    if (joined->rank == 0) (void)end_save(joined->saver, true);
    if (joined->rank == printer) show(stderr, "trainer: error: %s\n", text);
    if (joined->rank == printer && code == EXIT_RANK) show(stderr, "note: %s\n", how_to_go_on(joined));
    fflush(NULL);
    carrier_in_use()->leave(code);
    _Exit(code);
}

static void name_rank(const Trainer *t)
{
    if (t->rank == 0) return;
    name_program(text_of("trainer, rank %d of %d, on %s", t->rank, gpus_of(t), host_name()));
    keep_quiet();
}

/* ------------------------------------------------------------------ joining */

static const Carrier *open_promised(void *with, const char **refusal)
{
    (void)with;
    return open_mpi(refusal);
}

void take_promise(Trainer *t)
{
    Promise p;
    if (!ranks_promised(&p) || p.ranks == 1) return;
    if (t->model->device)
        fail(EXIT_USAGE, NULL,
             "%s has started %d of this trainer, which is for GPUs: it takes those of one machine; start it "
             "once, with --gpus N",
             p.kind, p.ranks);
    if (t->processes > 1)
        fail(EXIT_USAGE, NULL, "%s has started %d ranks, and --ranks %lld asks for more of each; leave it out", p.kind,
             p.ranks, (long long)t->processes);
    if (p.ranks > LATHE_MOST_RANKS)
        fail(EXIT_USAGE, NULL, "%s has started %d ranks; expected at most %d", p.kind, p.ranks, LATHE_MOST_RANKS);
    promised = true;
    t->gpus = p.ranks;
    t->rank = p.rank;
    name_rank(t);
    const char *refusal = start_courier(open_promised, NULL);
    if (refusal && t->rank > 0) exit(EXIT_ERROR); /* rank 0 says the same */
    if (refusal) fail(EXIT_ERROR, NULL, "%s", refusal);
    t->rank = carrier_in_use()->rank;
    joined = t;
    before_failing(tell_others);
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

void join_processes(Trainer *t)
{
    const char *refusal = NULL;
    if (promised) return;
    Fork f = {make_wires(gpus_of(t), &refusal), 0};
    if (!f.wires) fail(EXIT_ERROR, NULL, "--ranks %d: %s", gpus_of(t), refusal);
    ending = mmap(NULL, sizeof *ending, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ending == MAP_FAILED) fail(EXIT_ERROR, NULL, "--ranks %d: no shared memory: %s", gpus_of(t), error_text(errno));
    fork_ranks(t, ending);
    f.rank = t->rank;
    name_rank(t);
    refusal = start_courier(open_forked, &f);
    if (refusal) fail(EXIT_ERROR, NULL, "rank %d: %s", t->rank, refusal);
    joined = t;
    before_failing(tell_others);
}

void part_processes(const Trainer *t)
{
    if (ending && t->rank == 0) atomic_store(ending, true);
    rank_does(RANK_ENDS, 0);
    end_courier();
    before_failing(NULL);
    joined = NULL;
}

/* ------------------------------------------------------------------ are they alike? */

enum { FACTS = 6 };
static const char *const fact_names[FACTS] = {"description", "plan", "data", "val_data", "settings", "step"};
typedef struct Facts { /* of a rank: hashes, or 0 */
    uint64_t of[FACTS];
    char host[64];
} Facts;

static uint64_t hash_of_json(const json_t *value)
{
    if (!value) return 0;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    const uint64_t hash = hash_of(text, strlen(text));
    free(text);
    return hash;
}

static Facts facts_of(const Trainer *t, const Data *d, int64_t step)
{
    Facts f = {{0}, ""};
    for (int k = 0; k < FACTS - 2; k++) f.of[k] = hash_of_json(json_object_get(d->origin, fact_names[k]));
    json_t *settings = recipe_json(&t->recipe);
    put_json(settings, "seed", json_integer(t->seed));
    f.of[FACTS - 2] = hash_of_json(settings);
    f.of[FACTS - 1] = (uint64_t)step;
    json_decref(settings);
    snprintf(f.host, sizeof f.host, "%s", host_name());
    return f;
}

static _Noreturn void refuse_unlike(const Trainer *t, const Facts *all, int rank, int fact)
{
    static const char *const remedy[FACTS] = {
        "build once, and copy that trainer to all machines",
        "build once, and copy that trainer to all machines",
        "give all ranks the same files (--data)",
        "give all ranks the same files (--val-data)",
        "give all ranks the same options",
        "let all ranks see one run folder (--out), and wait until it is there on all"};
    char never;
    Piece *none = must_alloc((size_t)gpus_of(t) * sizeof *none);
    none[0] = (Piece){.in = &never, .in_bytes = 1};
    if (is_follower(t)) must_go_on(exchange(none)); /* until rank 0 has said it */
    fail(fact == 2 || fact == 3 ? EXIT_DATA : EXIT_USAGE, NULL,
         "rank %d of %d, on %s, has another %s than rank 0, on %s (hashes %016llx and %016llx); %s", rank, gpus_of(t),
         all[rank].host, fact_names[fact], all[0].host, (unsigned long long)all[rank].of[fact],
         (unsigned long long)all[0].of[fact], remedy[fact]);
}

void check_alike(const Trainer *t, const Data *d, int64_t step)
{
    const int ranks = gpus_of(t);
    if (!joined) return;
    Facts own = facts_of(t, d, step), *all = must_alloc((size_t)ranks * sizeof *all);
    Piece *piece = must_alloc((size_t)ranks * sizeof *piece);
    for (int k = 0; k < ranks; k++) piece[k] = (Piece){&own, &all[k], sizeof own, sizeof own};
    all[t->rank] = own;
    must_go_on(exchange(piece));
    for (int k = 1; k < ranks; k++)
        for (int f = 0; f < FACTS; f++)
            if (all[k].of[f] != all[0].of[f]) refuse_unlike(t, all, k, f);
    free(piece);
    free(all);
}
