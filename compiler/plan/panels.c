/* panels.c: kernels over the same rows run panel by panel: one thread takes some rows through all of the kernels, then
 * the next rows.
 *
 * What a panel makes is read again while it is in its core's cache, and threads meet once per group instead of once per
 * kernel. A recurrence over a batch is a group of one loop: a thread takes some rows through all of time.
 *
 * Kernels share a group (PANELS) if
 *   1. each runs over the same number R of rows (the row axes of ROWS, M of GEMM, samples of CONVOLUTION), as do all
 *      kernels of a loop's body; beside a convolution, over a multiple of R: the pixels of a sample are then one row;
 *   2. every buffer that one of them writes is touched by all of them in slabs: row r touches only elements
 *      x + r · S … x + (r + 1) · S - 1, where S is one number for the buffer and x a multiple of R · S (slots of
 *      stacks), so that no two rows meet;
 *   3. no kernel outside must run between them;
 *   4. one reads what another makes.
 *
 * All threads first pack the right operand of a product, once for all panels. If a kernel has sums over all rows, the
 * group makes partial sums of whole blocks of rows, and a kernel after the group makes the column results (Share).  The
 * bits are those of kernels run one after another, however high the panels are.
 *
 * A group's values are all alive at once, so it may cost memory: compile.c decides which are made (Options.panels).
 *
 * Needs: pass_pack.  Leaves: PANELS kernels, in an order that pass_order may take the lists in. */
#include "desc/target.h"
#include "lower/lower.h"
#include "plan/plan.h"
#include "plan/slabs.h"

enum {
    LEAST_ROWS = 16,   /* fewer are too few to share */
    THIN = 8,          /* products as narrow have loops of their own (runtime/math/gemm.c) */
    CACHE = 512 << 10, /* bytes of a panel's values that its core is to keep */
    LOWEST = 192,      /* rows, so that what a product reads of its right operand pays */
    HIGHEST = 512,
    FEWEST_PIXELS = 4096, /* the same of a convolution, which packs its weight for every panel */
    FEWEST_STEPS = 8,     /* of such panels */
    WINDOW = 512,         /* kernels */
    MOST_CHOICES = 64     /* groups that are judged, each by a plan of its own */
};
static const int64_t most_packed = 16 << 20; /* bytes: a larger operand would be read from memory for every panel */
static const double least_work = 1e6;        /* flops and bytes of a group */

/* ------------------------------------------------------------------ which kernels may take part */

static bool packs(const struct Gemm *g)
{
    return !g->b.view.guarded && g->K * g->N * dtype_bytes(g->a.node->dtype) <= most_packed;
}

/* Rows that a kernel runs over; 0: it cannot take part.  inside: of a loop that does. */
static int64_t rows_of_kernel(const Kernel *k, bool inside)
{
    const struct Gemm *g = &k->gemm;
    int64_t rows = 0;
    switch (k->kind) {
    case ROWS: return k->block && (inside || k->block >= kernel_rows(k)) ? 0 : kernel_rows(k); /* blocks are not cut */
    case GEMM:
        if (g->nbatch || g->M <= THIN || g->N <= THIN || g->c_n != 1) return 0;
        return g->packed || (!inside && packs(g)) ? g->M : 0;
    case CONVOLUTION: return inside ? 0 : kernel_rows(k);
    case REPEAT:
        for (int i = 0; i < k->body.n; i++) {
            int64_t r = rows_of_kernel(k->body.at[i], true);
            if (!r || (rows && r != rows)) return 0;
            rows = r;
        }
        return rows;
    default: return 0;
    }
}

static bool enough(int64_t rows, const Options *o) { return rows >= (o->all_panels ? 2 : LEAST_ROWS); }

/* ------------------------------------------------------------------ units: groups to be, and kernels alone */

typedef struct Unit {
    Kernels members;
    int64_t rows, block; /* rows 0: it takes no further kernel; block 0: it has no column sums */
    bool reached, done;
    bool judged, group; /* is it to be PANELS */
} Unit;

typedef struct Work { /* one level's list */
    Program *program;
    const Options *options;
    Kernel *const *list;
    int n;
    bool *conflicts; /* [n][n]: of each kernel with those after it */
    Unit *units;     /* in the order of their first kernels */
    int nunits;
    int *unit_of; /* each kernel's; -1: none yet */
} Work;

static bool must_precede(const Work *w, int a, int b) { return w->conflicts[(int64_t)a * w->n + b]; }

static void find_conflicts(Work *w)
{
    Touches *touches = NEW_ARRAY(Touches, w->n + 1);
    for (int b = 0; b < w->n; b++) {
        touches_of(w->list[b], &touches[b]);
        for (int a = 0; a < b; a++) w->conflicts[(int64_t)a * w->n + b] = conflict(&touches[a], &touches[b]);
    }
}

/* Marks the units that must run after unit u. */
static void reach_rows(Work *w, int u)
{
    if (w->units[u].reached) return;
    w->units[u].reached = true;
    for (int a = 0; a < w->n; a++)
        for (int b = a + 1; w->unit_of[a] == u && b < w->n; b++)
            if (w->unit_of[b] >= 0 && w->unit_of[b] != u && must_precede(w, a, b)) reach_rows(w, w->unit_of[b]);
}

/* Could kernel i, the next of the list, run with unit u? Then no other unit runs between them. */
static bool nothing_between(Work *w, int u, int i)
{
    for (int k = 0; k < w->nunits; k++) w->units[k].reached = false;
    reach_rows(w, u);
    for (int a = 0; a < i; a++)
        if (w->unit_of[a] != u && w->units[w->unit_of[a]].reached && must_precede(w, a, i)) return false;
    return true;
}

/* Column results are added up after the group: none of it may touch them. */
static bool columns_apart(const Kernel *k, const Slabs *s)
{
    for (int p = 0; p < k->phases.n; p++)
        for (int i = 0; i < k->phases.at[p].column_stores.n; i++)
            for (int j = 0; j < s->n; j++)
                if (s->at[j].buffer == k->phases.at[p].column_stores.at[i].view.buffer) return false;
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Panels are of whole steps, so that no kernel's block of rows is cut.  step: of those before k. */
static int64_t step_with(int64_t step, const Kernel *k, int64_t R)
{
    if (!k->block) return step;
    int64_t own = k->block / common_divisor(k->block, max64(kernel_rows(k) / R, 1));
    return step / common_divisor(step, own) * own;
}

static int64_t whole_step(const Unit *u, int64_t R)
{
    int64_t step = 1;
    for (int i = 0; i < u->members.n; i++) step = step_with(step, u->members.at[i], R);
    return step;
}

/* Rows of the unit if kernel k joins it, which has `rows`; 0: it cannot. */
static int64_t common_rows(const Unit *u, const Kernel *k, int64_t rows, const Options *o)
{
    if (!are_of_samples((const Kernel *const *)u->members.at, u->members.n) && k->kind != CONVOLUTION)
        return u->rows == rows && (!u->block || !k->block || u->block == k->block) ? rows : 0;
    int64_t R = min64(u->rows, rows), step = R ? step_with(whole_step(u, R), k, R) : 0;
    bool fits = R && u->rows % R == 0 && rows % R == 0 && step * (o->all_panels ? 2 : FEWEST_STEPS) <= R;
    for (int i = 0; i < u->members.n; i++) fits &= u->members.at[i]->kind != REPEAT;
    return fits && k->kind != REPEAT ? R : 0;
}

static bool joins(Work *w, int u, int i, int64_t rows)
{
    Unit *unit = &w->units[u];
    const Kernel *k = w->list[i];
    int64_t R = common_rows(unit, k, rows, w->options);
    if (!R) return false;
    Slabs all = {0};
    for (int j = 0; j < unit->members.n; j++) slabs_of(unit->members.at[j], R, &all);
    slabs_of(k, R, &all);
    bool fits = rows_apart(&all) && columns_apart(k, &all), related = false;
    for (int j = 0; j < unit->members.n; j++) fits &= columns_apart(unit->members.at[j], &all);
    for (int j = 0; j < i; j++) related |= w->unit_of[j] == u && must_precede(w, j, i);
    if (!fits || !related || !nothing_between(w, u, i)) return false;
    unit->rows = R;
    return true;
}

static void start_unit(Work *w, int i, int64_t rows)
{
    Unit *u = &w->units[w->unit_of[i] = w->nunits++];
    const Kernel *k = w->list[i];
    Slabs slabs = {0};
    if (!enough(rows, w->options)) return;
    slabs_of(k, rows, &slabs);
    if (rows_apart(&slabs) && columns_apart(k, &slabs)) u->rows = rows;
}

static void find_units(Work *w)
{
    for (int i = 0; i < w->n; i++) w->unit_of[i] = -1;
    for (int i = 0; i < w->n; i++) {
        int64_t rows = rows_of_kernel(w->list[i], false);
        int u = enough(rows, w->options) ? w->nunits : 0;
        while (--u >= 0 && !joins(w, u, i, rows)) continue;
        if (u < 0) start_unit(w, i, rows);
        else w->unit_of[i] = u;
        Unit *unit = &w->units[w->unit_of[i]];
        push(&unit->members, (Kernel *)w->list[i]);
        if (w->list[i]->block) unit->block = w->list[i]->block;
    }
}

/* Does a kernel of unit u lead to one of unit v through other units? */
static bool others_between(Work *w, int u, int v)
{
    for (int k = 0; k < w->nunits; k++) w->units[k].reached = k == v;
    reach_rows(w, u);
    for (int a = 0; a < w->n; a++)
        for (int b = a + 1; w->unit_of[a] != u && w->unit_of[a] != v && w->units[w->unit_of[a]].reached && b < w->n;
             b++)
            if (w->unit_of[b] == v && must_precede(w, a, b)) return true;
    return false;
}

static bool leads_to(const Work *w, int u, int v)
{
    for (int a = 0; a < w->n; a++)
        for (int b = a + 1; w->unit_of[a] == u && b < w->n; b++)
            if (w->unit_of[b] == v && must_precede(w, a, b)) return true;
    return false;
}

/* Could unit v run with the earlier unit u, as when both end in one sum? */
static bool unites(Work *w, int u, int v)
{
    const Unit *first = &w->units[u], *second = &w->units[v];
    bool of_rows = !are_of_samples((const Kernel *const *)first->members.at, first->members.n) &&
                   !are_of_samples((const Kernel *const *)second->members.at, second->members.n);
    if (!of_rows || !first->rows || first->rows != second->rows || first->members.n == 1 || second->members.n == 1 ||
        (first->block && second->block && first->block != second->block))
        return false;
    Slabs all = {0};
    for (int j = 0; j < first->members.n; j++) slabs_of(first->members.at[j], first->rows, &all);
    for (int j = 0; j < second->members.n; j++) slabs_of(second->members.at[j], first->rows, &all);
    bool fits = rows_apart(&all) && leads_to(w, u, v) && !others_between(w, u, v) && !others_between(w, v, u);
    for (int j = 0; j < first->members.n; j++) fits &= columns_apart(first->members.at[j], &all);
    for (int j = 0; j < second->members.n; j++) fits &= columns_apart(second->members.at[j], &all);
    return fits;
}

static void unite(Work *w, int u, int v)
{
    Unit *first = &w->units[u], *second = &w->units[v];
    for (int i = 0; i < w->n; i++)
        if (w->unit_of[i] == v) w->unit_of[i] = u;
    if (!first->block) first->block = second->block;
    second->members.n = second->rows = first->members.n = 0;
    for (int i = 0; i < w->n; i++)
        if (w->unit_of[i] == u) push(&first->members, (Kernel *)w->list[i]);
}

/* Kernels that were not related when they came may be by now. */
static void unite_units(Work *w)
{
    for (int v = w->nunits; v-- > 0;)
        for (int u = v; u-- > 0;)
            if (w->units[v].members.n > 1 && unites(w, u, v)) {
                unite(w, u, v);
                break;
            }
}

/* ------------------------------------------------------------------ groups */

static double flops_of(const Kernel *k)
{
    double sum = k->kind == REPEAT ? 0 : k->flops;
    for (int i = 0; i < k->body.n; i++)
        sum += flops_of(k->body.at[i]) * (k->kind == REPEAT ? (double)k->loop->trip : 1);
    return sum;
}

static double moved_by(const Kernel *k)
{
    double sum = k->kind == REPEAT ? 0 : k->bytes;
    for (int i = 0; i < k->body.n; i++)
        sum += moved_by(k->body.at[i]) * (k->kind == REPEAT ? (double)k->loop->trip : 1);
    return sum;
}

static bool worth_it(const Unit *u, const Options *o)
{
    double work = 0;
    for (int i = 0; i < u->members.n; i++) work += flops_of(u->members.at[i]) + moved_by(u->members.at[i]);
    bool several = u->members.n > 1 || u->members.at[0]->kind == REPEAT;
    return u->rows && several && (o->all_panels || work >= least_work);
}

static char *group_name(const Unit *u)
{
    const char *first = u->members.at[0]->name, *last = u->members.at[u->members.n - 1]->name;
    return u->members.n > 1 ? format("%s_to_%s", first, last) : format("%s_panels", first);
}

/* Is it made; the first groups that are met are noted for compile.c. */
static bool taken(const Work *w, const char *name)
{
    const Options *o = w->options;
    bool taken = o->all_panels, met = false;
    for (int i = 0; i < o->panels.n; i++) taken |= same(o->panels.at[i], name);
    for (int i = 0; i < w->program->panels_met.n; i++) met |= same(w->program->panels_met.at[i], name);
    if (!met && w->program->panels_met.n < MOST_CHOICES) push(&w->program->panels_met, name);
    return taken;
}

/* Rows of a panel that are worth what a product or a convolution does for each panel. */
static int64_t fewest_rows(const Kernel *k)
{
    int64_t each = rows_each(k);
    if (k->kind == GEMM) return (LOWEST + each - 1) / each;
    if (k->kind != CONVOLUTION) return 1;
    const Shape *y = &k->writes.at[0].view.shape;
    int64_t pixels = elements(*y) / y->dim[y->rank - 1] / kernel_rows(k) * each;
    return (FEWEST_PIXELS + pixels - 1) / pixels;
}

/* Rows of a panel that a core's cache holds; of a recurrence all there are: each panel reads the weights every time. */
static int64_t highest_panel(const Kernel *panels)
{
    const Kernel *const *body = (const Kernel *const *)panels->body.at;
    int64_t row = 1, unit = panels->unit, fewest = are_of_samples(body, panels->body.n) ? 1 : LOWEST;
    Slabs s = {0};
    slabs_of(panels, panels->rows, &s);
    for (int i = 0; i < panels->body.n; i++)
        if (body[i]->kind == REPEAT) return panels->rows;
    for (int i = 0; i < panels->body.n; i++) fewest = max64(fewest, fewest_rows(body[i]));
    for (int i = 0; i < s.n; i++)
        if (s.at[i].writes) row += s.at[i].S * dtype_bytes(s.at[i].buffer->dtype);
    int64_t rows = max64(fewest, min64(CACHE / row, HIGHEST));
    return min64(max64(rows / unit, 1) * unit, panels->rows);
}

static void enter_panels(Kernel *k, Kernel *panels)
{
    k->panels = panels;
    if (k->kind != REPEAT) k->share = SOME_ROWS;
    for (int i = 0; i < k->body.n; i++) enter_panels(k->body.at[i], panels);
}

/* The kernel after the group that makes the column results of k. */
static Kernel *column_sums(const Kernel *k)
{
    Kernel *c = copy_of(k, sizeof *k);
    c->panels = NULL;
    c->share = COLUMN_SUMS;
    c->name = format("%s_sums", k->name);
    c->flops = c->bytes = 0;
    for (int i = 0; i < k->partials.n; i++) c->bytes += (double)k->partials.at[i]->bytes;
    return c;
}

/* What the axis of a kernel's rows is (graph/axis.c). */
static int axis_of_rows(const Kernel *k)
{
    if (k->kind == CONVOLUTION) {
        const Shape *image = &k->reads.at[0].view.shape;
        return axis_merged(*image, 0, image->rank - 1 - convolution_of(k->node).n);
    }
    return k->kind == GEMM ? k->gemm.axis_m : k->kind == ROWS ? axis_merged(k->space, 0, k->space.rank - 1) : 0;
}

/* The length of the longest layer that a, of n letters, and b are in: 1 of "h.attn.c_proj" and "h.mlp.c_fc". */
static int common_layer(const char *a, int n, const char *b)
{
    int common = 0;
    for (int k = 0; k <= n; k++) {
        bool ends = (k == n || a[k] == '.') && (!b[k] || b[k] == '.');
        if (ends) common = k;
        if (k == n || a[k] != b[k]) break;
    }
    return common;
}

static const char *path_of_all(const Unit *u)
{
    const char *path = u->members.at[0]->where.path;
    int n = path ? (int)strlen(path) : 0;
    for (int i = 1; i < u->members.n && n; i++) {
        const char *other = u->members.at[i]->where.path;
        n = common_layer(path, n, other ? other : "");
    }
    return n ? format("%.*s", n, path) : NULL;
}

static void add_group(Program *p, const Unit *u, Kernels *out)
{
    const Kernel *first = u->members.at[0];
    Kernel *panels = NEW(Kernel);
    *panels = (Kernel){.kind = PANELS, .where = first->where, .in_loop = first->in_loop, .rows = u->rows};
    panels->where.path = path_of_all(u);
    panels->unit = whole_step(u, u->rows);
    panels->name = group_name(u);
    for (int i = 0; i < u->members.n && !panels->axis_rows; i++)
        if (kernel_rows(u->members.at[i]) == u->rows) panels->axis_rows = axis_of_rows(u->members.at[i]);
    for (int i = 0; i < u->members.n; i++) {
        Kernel *k = u->members.at[i];
        if (k->kind == GEMM && !k->gemm.packed) push(&panels->body, pack_right(p, k, k->in_loop));
    }
    for (int i = 0; i < u->members.n; i++) push(&panels->body, u->members.at[i]);
    for (int i = 0; i < panels->body.n; i++) enter_panels(panels->body.at[i], panels);
    panels->highest = highest_panel(panels);
    panels->flops = flops_of(panels);
    panels->bytes = moved_by(panels);
    push(out, panels);
    for (int i = 0; i < u->members.n; i++)
        if (u->members.at[i]->block) push(out, column_sums(u->members.at[i]));
}

static Kernels in_panels(Program *p, const Options *o, Kernel *const *list, int n);

static void add_alone(Program *p, const Options *o, Kernel *k, Kernels *out)
{
    if (k->kind == REPEAT) {
        Kernels body = in_panels(p, o, (Kernel *const *)k->body.at, k->body.n);
        k->body.n = 0;
        for (int i = 0; i < body.n; i++) push(&k->body, body.at[i]);
    }
    push(out, k);
}

static bool ready(const Work *w, int u)
{
    for (int b = 0; b < w->n; b++)
        for (int a = 0; w->unit_of[b] == u && a < b; a++)
            if (w->unit_of[a] != u && !w->units[w->unit_of[a]].done && must_precede(w, a, b)) return false;
    return true;
}

/* Units that are no group become single kernels again. */
static void dissolve(Work *w)
{
    for (int i = 0; i < w->n; i++) {
        Unit *u = &w->units[w->unit_of[i]];
        if (!u->judged) u->group = worth_it(u, w->options) && taken(w, group_name(u));
        u->judged = true;
        if (u->group || u->members.n == 1) continue;
        for (int j = i + 1; j < w->n; j++) {
            if (&w->units[w->unit_of[j]] != u) continue;
            Unit *alone = &w->units[w->unit_of[j] = w->nunits++];
            *alone = (Unit){.judged = true};
            push(&alone->members, (Kernel *)w->list[j]);
        }
        u->members.n = 1;
    }
}

static void window_in_panels(Program *p, const Options *o, Kernel *const *list, int n, Kernels *out)
{
    Work w = {.program = p,
              .options = o,
              .list = list,
              .n = n,
              .conflicts = NEW_ARRAY(bool, (int64_t)n *n + 1),
              .units = NEW_ARRAY(Unit, 2 * n + 1),
              .unit_of = NEW_ARRAY(int, n + 1)};
    find_conflicts(&w);
    find_units(&w);
    unite_units(&w);
    dissolve(&w);
    for (int done = 0; done < w.nunits; done++) {
        int u = 0;
        while (u < w.nunits && (w.units[u].done || !ready(&w, u))) u++;
        must(u < w.nunits);
        w.units[u].done = true;
        if (w.units[u].group) add_group(p, &w.units[u], out);
        else
            for (int i = 0; i < w.units[u].members.n; i++) add_alone(p, o, w.units[u].members.at[i], out);
    }
}

/* A long list is taken in windows, one after another: each is looked through pair by pair. */
static Kernels in_panels(Program *p, const Options *o, Kernel *const *list, int n)
{
    Kernels out = {0};
    for (int at = 0; at < n; at += WINDOW) window_in_panels(p, o, list + at, (int)min64(WINDOW, n - at), &out);
    return out;
}

void pass_panels(Program *p, const Desc *d)
{
    if (!without(d, PASS_panels) && !rows_alike(p) && !entry_of(p->graph)->pulls && d->options->target->panels)
        p->kernels = in_panels(p, d->options, p->kernels.at, p->kernels.n);
}
