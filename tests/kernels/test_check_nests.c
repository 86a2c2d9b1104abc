/* test_check_nests.c: kernels that cannot run as their nests say, and launches that wait too little, are caught:
 * programs of models are broken by hand, each in a process of its own. */
#include "kernels/nest.h"
#include "../graph/apart.h"

#include <string.h>

enum { MOST_PLACES = 30, FIRST_OF_LAUNCHES = 23 };

typedef struct Fault {
    const char *what;
    bool (*breaks)(Kernel *k, int n); /* in its n-th way; false: it has no such way */
    int least;                        /* so many places that are caught */
    bool sometimes;                   /* it may be a way in which the kernel can run, too */
} Fault;

/* ------------------------------------------------------------------ axes */

static bool merged(Kernel *k, int n)
{
    Space *s = &k->nest->space;
    if (n + 1 >= s->shape.rank || may_merge(s, n)) return false;
    merge_axis(s, n);
    return true;
}

static bool left_out(Kernel *k, int n)
{
    Space *s = &k->nest->space;
    if (n >= s->shape.rank || s->shape.dim[n] == 1 || s->shape.rank == 1) return false;
    drop_axis(s, n);
    return true;
}

static bool moved_view(Kernel *k, int n)
{
    if (n >= k->nest->space.views.n) return false;
    k->nest->space.views.at[n]->base++;
    return true;
}

static bool wider_view(Kernel *k, int n)
{
    const Space *s = &k->nest->space;
    if (n >= s->views.n || s->shape.dim[0] == 1) return false;
    s->views.at[n]->stride[0]++;
    return true;
}

/* ------------------------------------------------------------------ loops of C */

static bool more_threads(Kernel *k, int n)
{
    if (n || !k->nest->threads || k->kind != ROWS) return false;
    k->nest->threads += k->nest->space.shape.rank;
    return true;
}

static bool threads_by_ids(Kernel *k, int n)
{
    if (n || (k->kind != SCATTER && k->kind != OVERWRITE) || k->nest->picked->batch) return false;
    k->nest->threads = 1;
    return true;
}

static bool shared_sweep(Kernel *k, int n)
{
    if (n || k->kind != ROWS || k->nest->sweep_shared) return false;
    const Phase *p = &k->phases.at[0];
    if (!p->sums.n && !k->block && k->phases.n == 1) return false;
    k->nest->sweep_shared = true;
    return true;
}

static bool across(Kernel *k, int n)
{
    if (n || k->kind != ROWS || !k->phases.at[0].stores.n) return false;
    k->nest->across = 64;
    return true;
}

static bool other_lanes(Kernel *k, int n)
{
    if (n || k->kind != ROWS || !k->phases.at[0].each.n) return false;
    push(&k->nest->lanes, k->phases.at[0].each.at[0]);
    return true;
}

/* Bits of an element alone, or of numbers two apart. */
static bool other_draws(Kernel *k, int n)
{
    Nest *nest = k->nest;
    if (n > 1 || k->kind != ROWS || (n ? !nest->draws.n : !k->phases.at[0].each.n)) return false;
    if (n == 0) push(&nest->draws, k->phases.at[0].each.at[0]);
    for (int i = 0; n && i < nest->rows->loads.n; i++) {
        View *v = &nest->rows->loads.at[i].view;
        if (!v->buffer) v->stride[nest->space.shape.rank - 1] *= 2;
    }
    return true;
}

/* Another way of lying than its own, of which extents of 1 have several. */
static bool other_density(Kernel *k, int n)
{
    static const Dense dense[] = {DENSE_NN, DENSE_NT, DENSE_TN, DENSE_TT};
    if (n >= COUNT_OF(dense) || k->kind != GEMM || dense[n] == k->nest->dense) return false;
    if (k->gemm.M == 1 || k->gemm.N == 1 || k->gemm.K == 1) return false;
    k->nest->dense = dense[n];
    return true;
}

/* ------------------------------------------------------------------ CUDA */

static bool too_many_beside(Kernel *k, int n)
{
    static const int many[] = {2, 4, 8, 16};
    const Space *s = &k->nest->space;
    if (n >= COUNT_OF(many) || k->kind != ROWS || k->nest->rest) return false;
    if (s->shape.dim[s->shape.rank - 1] % many[n] == 0 && many[n] <= 8) return false;
    k->nest->beside = many[n];
    return true;
}

static bool elements_of_rows(Kernel *k, int n)
{
    if (n || k->kind != ROWS || k->nest->team == TEAM_OF_ELEMENTS) return false;
    k->nest->team = TEAM_OF_ELEMENTS;
    return true;
}

static bool ids_by_elements(Kernel *k, int n)
{
    if (n || (k->kind != SCATTER && k->kind != OVERWRITE)) return false;
    k->nest->team = TEAM_OF_ONE;
    return true;
}

static bool no_column_sums(Kernel *k, int n)
{
    if (n || !k->nest->columns) return false;
    k->nest->columns = NO_COLUMN_SUMS;
    return true;
}

static bool other_columns(Kernel *k, int n)
{
    if (n >= APART || !k->nest->columns) return false;
    static const Column_sums all[] = {IN_SHARED, IN_REGISTERS, IN_PARTIALS, APART};
    if (all[n] == k->nest->columns) return false;
    k->nest->columns = all[n];
    return true;
}

static bool kept_too(Kernel *k, int n)
{
    if (k->kind != ROWS || n >= k->loads.n) return false;
    for (int i = 0; i < k->nest->kept.n; i++)
        if (k->nest->kept.at[i] == k->loads.at[n].node) return false;
    push(&k->nest->kept, k->loads.at[n].node);
    return true;
}

static bool whole_too(Kernel *k, int n)
{
    int bit = n;
    if (k->kind != ROWS) return false;
    while (bit < MOST_WIDE && k->nest->wide >> bit & 1) bit++;
    if (bit == MOST_WIDE) return false;
    k->nest->wide |= (uint64_t)1 << bit;
    return true;
}

/* ------------------------------------------------------------------ launches */

static bool fewer_blocks(Kernel *k, int n)
{
    if (n >= k->nest->launches.n) return false;
    k->nest->launches.at[n].blocks--;
    return true;
}

static bool more_blocks(Kernel *k, int n)
{
    if (n >= k->nest->launches.n) return false;
    k->nest->launches.at[n].blocks++;
    return true;
}

static bool one_launch_less(Kernel *k, int n)
{
    if (n || !k->nest->launches.n) return false;
    k->nest->launches.n--;
    return true;
}

static bool another_launch(Kernel *k, int n)
{
    if (n >= k->nest->launches.n) return false;
    k->nest->launches.at[n].what = (Launched)((k->nest->launches.at[n].what + 1) % (LAUNCHED_PLAIN + 1));
    return true;
}

static bool less_room(Kernel *k, int n)
{
    if (n >= k->nest->launches.n) return false;
    Launch *l = &k->nest->launches.at[n];
    if (!l->room && !l->shared) return false;
    *(l->room ? &l->room : &l->shared) /= l->what == LAUNCHED_ALL && k->kind == ROWS ? 2 : 4096;
    return true;
}

static bool too_much_room(Kernel *k, int n)
{
    if (n >= k->nest->launches.n) return false;
    k->nest->launches.at[n].shared = 1 << 20;
    return true;
}

/* ------------------------------------------------------------------ one launch */

static bool early_copies(Kernel *k, int n)
{
    if (n || !k->nest->wait_copied) return false;
    k->nest->wait_copied = false;
    return true;
}

static bool no_wait(Kernel *k, int n)
{
    if (n || !k->nest->wait) return false;
    k->nest->wait = NO_WAIT;
    return true;
}

static bool threads_alone(Kernel *k, int n)
{
    if (n || k->nest->wait != OF_BLOCKS) return false;
    k->nest->wait = OF_THREADS;
    return true;
}

static bool no_wait_at_end(Kernel *k, int n)
{
    if (n || !k->nest->wait_end) return false;
    k->nest->wait_end = NO_WAIT;
    return true;
}

static bool stays_too(Kernel *k, int n)
{
    if (n || k->kind != GEMM || !k->persistent || k->nest->stays) return false;
    k->nest->stays = true;
    return true;
}

static const Fault faults[] = {
    {"axes that memory keeps apart are one", merged, 20, false},
    {"an axis is not walked", left_out, 60, false},
    {"a view is elsewhere", moved_view, 60, false},
    {"a view is wider", wider_view, 60, false},
    {"threads share more loops than there are", more_threads, 5, false},
    {"threads share ids", threads_by_ids, 2, false},
    {"threads share a sweep that reduces", shared_sweep, 5, false},
    {"rows side by side that store", across, 5, false},
    {"lanes of what is no sum", other_lanes, 5, false},
    {"bits of no row", other_draws, 5, false},
    {"matrices that lie otherwise", other_density, 20, false},
    {"rows that do not divide", too_many_beside, 20, false},
    {"elements of rows that reduce", elements_of_rows, 10, false},
    {"an id is a thread's", ids_by_elements, 2, false},
    {"sums of columns run nowhere", no_column_sums, 5, false},
    {"sums of columns run elsewhere", other_columns, 10, true},
    {"rows are kept that are no block's", kept_too, 20, true},
    {"wholes that are none", whole_too, 20, false},
    {"a block too few", fewer_blocks, 40, false},
    {"a block too many", more_blocks, 40, false},
    {"a launch is missing", one_launch_less, 30, false},
    {"a launch is another", another_launch, 40, false},
    {"no room in shared memory", less_room, 5, false},
    {"more than there is of shared memory", too_much_room, 40, false},
    {"copies are not waited for", early_copies, 1, false},
    {"no wait", no_wait, 5, true},
    {"threads wait, and not blocks", threads_alone, 5, true},
    {"no wait at the end of an iteration", no_wait_at_end, 2, true},
    {"what changes stays", stays_too, 1, true},
};

typedef struct Try {
    const Fault *fault;
    const Module *module;
    const Program *program;
    Kernel *kernel;
    int way;
} Try;

static void check_broken(const void *with)
{
    const Try *t = with;
    if (t->fault) t->fault->breaks(t->kernel, t->way);
    check_program(t->program, "this", t->module->desc);
}

/* Tried on a copy. */
static bool has_way(const Fault *f, Kernel *k, int way)
{
    Nest *nest = k->nest, copy = *nest;
    copy.space.views.at = copy_of(nest->space.views.at, sizeof *nest->space.views.at * (size_t)nest->space.views.n);
    for (int i = 0; i < copy.space.views.n; i++) copy.space.views.at[i] = copy_of(copy.space.views.at[i], sizeof(View));
    copy.launches.at = copy_of(nest->launches.at, sizeof *nest->launches.at * (size_t)nest->launches.n);
    k->nest = &copy;
    bool has = f->breaks(k, way);
    k->nest = nest;
    return has;
}

typedef VEC(Kernel *) All;

static void collect(Kernel *const *kernels, int n, All *all)
{
    for (int i = 0; i < n; i++) {
        if (kernels[i]->nest) push(all, kernels[i]);
        collect((Kernel *const *)kernels[i]->body.at, kernels[i]->body.n, all);
    }
}

static int found[COUNT_OF(faults)], passed[COUNT_OF(faults)], tried[COUNT_OF(faults)]; /* tried: in this program */

static void break_kernel(const char *model, const Module *m, const Program *p, Kernel *k, int f)
{
    char *said;
    for (int way = 0; way < MAXRANK && tried[f] < MOST_PLACES; way++) {
        if (!has_way(&faults[f], k, way)) continue;
        int code = apart(check_broken, &(Try){&faults[f], m, p, k, way}, &said);
        bool caught = code && strstr(said, "after this: ");
        tried[f]++;
        found[f] += caught;
        passed[f] += !caught;
        expect(caught || (faults[f].sometimes && code == 0), "%s, %s, kernel %s: %s is not caught: %s", model,
               p->graph->name, k->name, faults[f].what, said);
    }
}

static void check_model(const char *arguments, int first)
{
    const Module *m = compile_model(arguments);
    for (int i = 0; i < m->programs.n; i++) {
        const Program *p = m->programs.at[i];
        char *said;
        All all = {0};
        if (p->graph->entry != ENTRY_train && p->graph->entry != ENTRY_decode) continue;
        int code = apart(check_broken, &(Try){.module = m, .program = p}, &said);
        expect(code == 0, "%s: %s", arguments, said);
        memset(tried, 0, sizeof tried);
        collect((Kernel *const *)p->kernels.at, p->kernels.n, &all);
        for (int f = first; f < COUNT_OF(faults); f++)
            for (int k = 0; k < all.n; k++) break_kernel(arguments, m, p, all.at[k], f);
    }
}

int main(void)
{
    check_model("models/gpt.lua --config char --set layers=2 --set width=24 --set heads=2 --set batch=4 --set seq=8",
                0);
    check_model("models/gpt.lua --config char --set layers=2 --set width=24 --set heads=2 --set batch=4 --set seq=8"
                " --target cuda",
                0);
    check_model("models/gpt.lua --config char --set layers=1 --set vocab=20000 --set batch=2 --set seq=8"
                " --target cuda",
                0);
    check_model("models/char_rnn.lua --config tiny --target cuda --set seq=8", FIRST_OF_LAUNCHES);
    check_model("models/pointer_generator.lua --target cuda --all-persist --set batch=2", FIRST_OF_LAUNCHES);
    for (int f = 0; f < COUNT_OF(faults); f++) {
        expect(found[f] >= faults[f].least, "%s: caught at %d places only", faults[f].what, found[f]);
        printf("%8d times %s%s\n", found[f], faults[f].what, passed[f] ? format(" (%d not)", passed[f]) : "");
    }
    return finish();
}
