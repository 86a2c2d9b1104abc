/* compile.c: runs the passes of desc/passes.def over a description, and chooses among plans. */
#include "desc/passes.h"
#include "desc/target.h"
#include "emit/emit.h"
#include "lathe.h"
#include "lower/lower.h"
#include "ops/head.h"

#include <string.h>

/* ------------------------------------------------------------------ running them */

static void run_over_cuts(const Pass *p, Module *m)
{
    const Desc *d = m->desc;
    for (int i = m->cuts.n; i < d->graphs.n; i++) push(&m->cuts, new_cut(d->graphs.at[i], d));
    for (int i = 0; i < m->cuts.n; i++)
        if (p->kind == CUTS) p->run.cut(m->cuts.at[i]);
        else push(&m->programs, p->run.lower(m->cuts.at[i]));
    if (p->kind == LOWER) m->cuts.n = 0;
}

static void run(const Pass *p, Module *m)
{
    const Desc *d = m->desc;
    for (int i = 0; i < d->graphs.n && p->kind == GRAPHS; i++) p->run.graph(d->graphs.at[i], d);
    if (p->kind == CUTS || p->kind == LOWER) run_over_cuts(p, m);
    for (int i = 0; i < m->programs.n && (p->kind == KERNELS || p->kind == SCHEDULE); i++)
        p->run.kernels(m->programs.at[i], d);
    if (p->kind == PLAN) p->run.plan(m);
    for (int i = 0; i < m->programs.n; i++) m->programs.at[i]->after = p->name;
}

static void check(const Pass *p, const Module *m)
{
    bool graphs = p->kind == FRONT || p->kind == GRAPHS;
    for (int i = 0; i < m->desc->graphs.n && graphs; i++) check_graph(m->desc->graphs.at[i], p->name);
    bool normal = p->kind == GRAPHS && !comes_before(p->name, "normal");
    for (int i = 0; i < m->desc->graphs.n && normal; i++) check_form(m->desc->graphs.at[i], p->name);
    for (int i = 0; i < m->cuts.n && p->kind == CUTS; i++) check_cutting(m->cuts.at[i], p->name);
    for (int i = 0; i < m->programs.n; i++) check_program(m->programs.at[i], p->name, m->desc);
}

static void run_all(Module *m, int first, int last)
{
    int n;
    const Pass *passes = pass_list(&n);
    for (int i = first; i <= last; i++) {
        run(&passes[i], m);
        if (m->desc->options->check_stages) check(&passes[i], m);
    }
}

/* Passes first … last, on a module of its own. */
static Module *run_passes(Desc *d, int first, int last)
{
    Module *m = NEW(Module);
    m->desc = d;
    run_all(m, first, last);
    return m;
}

/* ------------------------------------------------------------------ choosing among plans */

/* Graphs of its own, of the same nodes: passes make new ones. */
static Desc *with_own_graphs(const Desc *d)
{
    Desc *copy = copy_of(d, sizeof *d);
    copy->graphs.n = copy->graphs.cap = 0;
    for (int i = 0; i < d->graphs.n; i++) {
        Graph *g = copy_of(d->graphs.at[i], sizeof *g);
        g->outs.at = copy_of(g->outs.at, sizeof *g->outs.at * (size_t)g->outs.cap);
        push(&copy->graphs, g);
    }
    return copy;
}

/* Its graphs, ready to be cut into kernels. */
static Desc *prepared(const Desc *d, const Options *o)
{
    Desc *own = with_own_graphs(d);
    own->options = copy_of(o, sizeof *o);
    run_passes(own, place_of_pass("whole"), place_of_pass("straighten") - 1);
    return own;
}

/* The plan of prepared graphs, which stay as they are. */
static Module *planned(const Desc *d, const Options *o)
{
    Desc *own = copy_of(d, sizeof *d);
    own->options = copy_of(o, sizeof *o);
    return run_passes(own, place_of_pass("straighten"), place_of_pass("plan"));
}

static int64_t planned_bytes(const Desc *d, int64_t head_rows)
{
    Options o = *d->options;
    o.head_rows = head_rows;
    return planned(prepared(d, &o), &o)->plan.total;
}

/* Rows of a head at a time: the most, all or by halving, whose plan is hardly larger than that of the fewest. */
static int64_t chosen_head_rows(const Desc *d)
{
    enum { FEWEST = 512, TOLERANCE = 50 }; /* fewer rows slow the products down; a part of the bytes */
    int64_t rows = most_head_rows(d);
    if (rows <= FEWEST || without(d, PASS_whole)) return rows;
    int64_t least = planned_bytes(d, FEWEST);
    while (rows > FEWEST && planned_bytes(d, rows) > least + least / TOLERANCE) rows = (rows + 1) / 2;
    return max64(rows, FEWEST);
}

typedef struct Groups_met { /* by all trials: names in the order in which they were met */
    VEC(const char *) names;
    Strings numbers;
} Groups_met;

static void note_groups(const Module *m, Groups_met *met)
{
    for (int i = 0; i < m->programs.n; i++)
        for (int k = 0; k < m->programs.at[i]->panels_met.n; k++) {
            const char *name = m->programs.at[i]->panels_met.at[k];
            int *number = strings_at(&met->numbers, name);
            if (*number) continue;
            push(&met->names, name);
            *number = met->names.n;
        }
}

/* Takes the groups of kernels (plan/panels.c) that enlarge the plan by at most NOTHING bytes, whatever its size,
 * although their values all live at once: so a model's source is the same for any number of layers.  --memory allows what
 * it leaves.  Returns the module of what was chosen, planned; NULL: there is nothing to choose. */
static Module *choose_panels(const Desc *d, Options *o)
{
    enum { NOTHING = 64 << 10, MOST_NODES = 1 << 18, MOST_GROUPS = 64 }; /* bytes; of all trials together */
    if (without(d, PASS_panels) || o->all_panels || !o->target->panels) return NULL;
    const Desc *own = prepared(d, o);
    Module *m = planned(own, o);
    Groups_met met = {0};
    int64_t most = max64(m->plan.total + NOTHING, o->limit), nodes = 1;
    for (int i = 0; i < d->graphs.n; i++) nodes += count_nodes(d->graphs.at[i]);
    note_groups(m, &met);
    for (int i = 0; i < met.names.n && i < MOST_GROUPS && (i + 1) * nodes <= MOST_NODES; i++) {
        push(&o->panels, met.names.at[i]);
        m = planned(own, o);
        note_groups(m, &met); /* taking one may show others */
        if (m->plan.total <= most) continue;
        o->panels.n--;
        m = NULL;
    }
    return m ? m : planned(own, o);
}

/* A layer's program becomes two, over one arena: what its outputs need, and what needs their gradients. */
static void part_layer(Module *m)
{
    for (int i = 0; i < m->programs.n; i++) {
        Program *p = m->programs.at[i];
        if (!entry_of(p->graph)->pulls) continue;
        Program *back = copy_of(p, sizeof *p);
        back->graph = copy_of(p->graph, sizeof *p->graph);
        back->graph->entry = ENTRY_layer_back;
        back->graph->name = entry_of(back->graph)->name;
        back->kernels.at += p->half;
        back->kernels.n -= p->half;
        p->kernels.n = p->half;
        push(&m->programs, back);
        return;
    }
}

Module *compile_until(Desc *d, const char *from, const char *until)
{
    int first = from ? place_of_pass(from) : 0, last = until ? place_of_pass(until) : last_pass();
    int whole = place_of_pass("whole");
    if (from) refuse_text(d, from);
    if (first > whole || last < whole) return run_passes(d, first, last);
    if (first < whole) run_passes(d, first, whole - 1);
    const Options *given = d->options;
    Options chosen = *given;
    chosen.head_rows = given->head_rows ? given->head_rows : chosen_head_rows(d);
    Module *m = last >= place_of_pass("panels") ? choose_panels(d, &chosen) : NULL;
    d->options = &chosen;
    if (!m || last < place_of_pass("plan")) m = run_passes(d, whole, last);
    else run_all(m, place_of_pass("plan") + 1, last);
    d->options = given;
    if (last == last_pass()) part_layer(m);
    return m;
}

Module *compile(Desc *d) { return compile_until(d, NULL, NULL); }

void compile_kernels(Module *m, const char *until)
{
    run_all(m, place_of_pass(m->programs.at[0]->after) + 1, until ? place_of_pass(until) : last_pass());
}

/* So that a text of kernels may end in it. */
static void print_plan_as_comment(Text *t, const Module *m)
{
    Text plan = {0};
    print_plan(new_page(m), &plan);
    for (const char *line = plan.at; *line; line += strcspn(line, "\n") + 1)
        say(t, "%s%.*s\n", *line == '\n' ? "#" : "# ", (int)strcspn(line, "\n"), line);
}

void print_stage(Text *t, const Module *m, const Pass *p)
{
    bool graphs = p->kind == FRONT || p->kind == GRAPHS;
    for (int i = 0; i < m->desc->graphs.n && graphs; i++) {
        if (i) say(t, "\n");
        print_graph(t, m->desc->graphs.at[i]);
    }
    for (int i = 0; i < m->cuts.n && p->kind == CUTS; i++) {
        if (i) say(t, "\n");
        print_cut(t, m->cuts.at[i]);
    }
    for (int i = 0; i < m->programs.n && !graphs; i++)
        if (m->desc->options->brief) print_kernels_in_brief(t, m->programs.at[i]);
        else print_kernels(t, m->programs.at[i]);
    if (p->kind == PLAN) print_plan_as_comment(t, m);
}
