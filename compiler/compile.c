/* compile.c: the pipeline: what happens to a description between reading and printing, as a list. */
#include "head.h"

#include <string.h>

Options options = {.target = &target_cpu};

static void nothing(Graph *g, const Desc *d) { (void)g, (void)d; }
static void fuse(Graph *g, const Desc *d);
static void carry(Graph *g, const Desc *d);
static void pack(Graph *g, const Desc *d);
static void panels(Graph *g, const Desc *d);
static void persist(Graph *g, const Desc *d);
static void schedule(Graph *g, const Desc *d);
static void in_place(Graph *g, const Desc *d);
static void plan(Graph *g, const Desc *d);

static Module *module; /* being compiled; the last three passes work on it */

/* The pipeline.  Each pass is done for every graph before the next begins. */
static const Pass passes[] = {
    {"front", nothing, GRAPHS, "runs the description: every entry's graph, as written"},
    {"known", pass_known, GRAPHS, "makes views of gathers whose ids are known"},
    {"merge", pass_merge, GRAPHS, "makes one of the products that share an operand and have weights side by side"},
    {"recompute", pass_recompute, GRAPHS, "marks what is computed again to save memory (--memory)"},
    {"grad", pass_grad, GRAPHS, "adds the gradient of the loss towards every parameter"},
    {"whole", pass_whole, GRAPHS, "makes loops or primitives of whole ops that have no kernel"},
    {"precision", pass_precision, GRAPHS, "gives reals their type"},
    {"simplify", pass_simplify, GRAPHS, "rewrites by the rules of rules.def"},
    {"split", pass_split, GRAPHS, "takes out of loops what is not recurrent"},
    {"remat", pass_remat, GRAPHS, "lets the backward part remake cheap values instead of keeping them"},
    {"store", pass_store, GRAPHS, "keeps what backward reads of forward in 16 bits (--precision bf16, fp16)"},
    {"narrow", pass_narrow, GRAPHS, "gives products operands of 16 bits, where the target multiplies those"},
    {"clean", pass_clean, GRAPHS, "drops what nobody reads"},
    {"parts", pass_parts, GRAPHS, "makes in parts what is read in parts alone"},
    {"normal", pass_normal, GRAPHS, "brings graphs into the form that kernels are cut from"},
    {"fuse", fuse, KERNELS, "groups operations into kernels and gives values their places"},
    {"carry", carry, KERNELS, "makes the next values of carries where they lie, without a copy"},
    {"pack", pack, KERNELS, "packs before a loop what every iteration multiplies by"},
    {"panels", panels, KERNELS, "lets kernels over the same rows run panel by panel"},
    {"persist", persist, KERNELS, "makes one launch of a loop of many small kernels"},
    {"schedule", schedule, KERNELS, "orders the kernels"},
    {"in_place", in_place, KERNELS, "lets values lie where their inputs end"},
    {"plan", plan, PLANNED, "gives every buffer its offset"},
};

const Pass *pass_list(int *n)
{
    *n = COUNT_OF(passes);
    return passes;
}

/* ------------------------------------------------------------------ passes over a module */

static void fuse(Graph *g, const Desc *d) { push(&module->programs, pass_fuse(g, d)); }

static Program *program_of(const Graph *g)
{
    for (int i = 0; i < module->programs.n; i++)
        if (module->programs.at[i]->graph == g) return module->programs.at[i];
    die("graph %s has no program yet", g->name);
}

static void carry(Graph *g, const Desc *d) { pass_carry(program_of(g), d); }
static void pack(Graph *g, const Desc *d) { pass_pack(program_of(g), d); }
static void panels(Graph *g, const Desc *d) { pass_panels(program_of(g), d); }
static void persist(Graph *g, const Desc *d) { pass_persist(program_of(g), d); }
static void schedule(Graph *g, const Desc *d) { pass_schedule(program_of(g), d); }
static void in_place(Graph *g, const Desc *d) { pass_in_place(program_of(g), d); }

/* Takes all programs at once: with the last graph. */
static void plan(Graph *g, const Desc *d)
{
    if (g == d->graphs.at[d->graphs.n - 1]) pass_plan(module);
}

/* ------------------------------------------------------------------ running them */

static void check(const Pass *p, const Graph *g)
{
    if (!options.check_stages) return;
    if (p->stage == GRAPHS) check_graph(g, p->name);
    else if (!same(p->name, "fuse")) check_program(program_of(g), p->name);
}

static void run(const Pass *p, Desc *d)
{
    for (int i = 0; i < d->graphs.n; i++) p->run(d->graphs.at[i], d);
    for (int i = 0; i < d->graphs.n; i++) check(p, d->graphs.at[i]);
}

static int pass_number(const char *name)
{
    for (int i = 0; i < COUNT_OF(passes); i++)
        if (same(passes[i].name, name)) return i;
    die("there is no pass %s", name);
}

/* Passes first … last, on a module of its own. */
static Module *run_passes(Desc *d, int first, int last)
{
    module = NEW(Module);
    module->desc = d;
    for (int i = first; i <= last; i++) run(&passes[i], d);
    return module;
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

static Module *tried(const Desc *d, int64_t head_rows)
{
    options.head_rows = head_rows;
    return run_passes(with_own_graphs(d), pass_number("whole"), COUNT_OF(passes) - 1);
}

static int64_t planned_bytes(const Desc *d, int64_t head_rows) { return tried(d, head_rows)->plan.total; }

/* Rows of a head at a time: the most, all or by halving, whose plan is hardly larger than that of the fewest. */
static int64_t chosen_head_rows(const Desc *d)
{
    enum { FEWEST = 512, TOLERANCE = 50 }; /* fewer rows slow the products down; a part of the bytes */
    int64_t rows = most_head_rows(d);
    if (rows <= FEWEST || options.no_whole) return rows;
    int64_t least = planned_bytes(d, FEWEST);
    while (rows > FEWEST && planned_bytes(d, rows) > least + least / TOLERANCE) rows = (rows + 1) / 2;
    return max64(rows, FEWEST);
}

/* Takes the groups of kernels (pass_panels.c) whose values, which all live at once, make the plan not worth mentioning
 * larger, whatever its size: so a model's source is the same for any number of layers.  Returns the last trial where it
 * is of what was chosen, or NULL. */
static Module *choose_panels(const Desc *d, int64_t head_rows)
{
    enum { NOTHING = 64 << 10, MOST_NODES = 1 << 18 }; /* bytes; of all trials together */
    if (options.no_panels || options.all_panels || !options.target->panels) return NULL;
    Module *m = tried(d, head_rows);
    int64_t most = m->plan.total + NOTHING, nodes = 1;
    for (int i = 0; i < d->graphs.n; i++) nodes += count_nodes(d->graphs.at[i]);
    for (int i = 0; i < panel_choices.n && (i + 1) * nodes <= MOST_NODES; i++) { /* taking one may show others */
        panel_choices.at[i].taken = true;
        m = tried(d, head_rows);
        panel_choices.at[i].taken = m->plan.total <= most;
        if (!panel_choices.at[i].taken) m = NULL;
    }
    return m;
}

Module *compile_until(Desc *d, const char *from, const char *until)
{
    int first = from ? pass_number(from) : 0, last = until ? pass_number(until) : COUNT_OF(passes) - 1;
    int whole = pass_number("whole");
    memset(&panel_choices, 0, sizeof panel_choices); /* an arena may have been given back since */
    if (first > whole || last < whole) return run_passes(d, first, last);
    if (first < whole) run_passes(d, first, whole - 1);
    const Options given = options;
    int64_t rows = given.head_rows ? given.head_rows : chosen_head_rows(d);
    Module *chosen = last >= pass_number("panels") ? choose_panels(d, rows) : NULL;
    options.head_rows = rows;
    Module *m = chosen && last == COUNT_OF(passes) - 1 ? chosen : run_passes(d, whole, last);
    options = given;
    return m;
}

Module *compile(Desc *d) { return compile_until(d, NULL, NULL); }

void print_stage(Text *t, const Module *m, const Pass *p)
{
    for (int i = 0; i < m->desc->graphs.n && p->stage == GRAPHS; i++) {
        if (i) say(t, "\n");
        print_graph(t, m->desc->graphs.at[i]);
    }
    for (int i = 0; i < m->programs.n && p->stage != GRAPHS; i++) print_kernels(t, m->programs.at[i]);
    if (p->stage == PLANNED) print_plan(t, m);
}

/* ------------------------------------------------------------------ a graph that came as text */

static void add_leaf(Desc *d, const Node *n)
{
    if (n->op == OP_parameter) {
        Param *p = NEW(Param);
        *p = (Param){.name = n->name, .export_name = n->name, .shape = n->shape, .where = n->where};
        push(&d->params, p);
    } else if (n->op == OP_input || n->op == OP_state) {
        Lathe_role role = n->op == OP_state ? LATHE_STATE : LATHE_FEATURES;
        Tensor_spec spec = {.name = n->name, .dtype = n->dtype, .shape = n->shape, .role = role, .where = n->where};
        if (n->op == OP_state) push(&d->states, spec);
        else push(&d->inputs, spec);
    }
}

/* A graph of ours gives gradients of parameters and next values of states that it has; another text may not. */
static void refuse_stray(const Desc *d, const Output *o)
{
    bool state = false;
    for (int i = 0; i < d->states.n; i++) state |= same(d->states.at[i].name, o->name);
    if (o->kind == OUT_GRAD && !find_param(d, o->name))
        err((Where){.file = d->file}, "grad %s: nothing in the graph reads a parameter of this name", o->name);
    if (o->kind == OUT_STATE && !state)
        err((Where){.file = d->file}, "state %s: nothing in the graph reads a state of this name", o->name);
}

Desc *describe(Graph *g, const char *file)
{
    Desc *d = NEW(Desc);
    Nodes roots = {0}, nodes = {0};
    *d = (Desc){.file = file, .model = "graph"};
    graph_roots(g, &roots);
    nodes_at(NULL, roots.at, roots.n, &nodes);
    for (int i = 0; i < nodes.n; i++) add_leaf(d, nodes.at[i]);
    for (int i = 0; i < g->outs.n; i++) refuse_stray(d, &g->outs.at[i]);
    push(&d->graphs, g);
    return d;
}
