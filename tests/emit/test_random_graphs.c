/* test_random_graphs.c: many random graphs as the entries of one generated file.  Compiled equals interpreted; the
 * planned arena equals one where nothing shares memory, bit for bit; so do fused and unfused, merged and unmerged,
 * rewritten and as written, within bounds.  Prints what the graphs covered and fails where an op or a feature is in
 * none.
 *
 *   test_random_graphs [FIRST [COUNT]]      other seeds, without the check of coverage */
#include "lower/lower.h"
#include "random_results.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { QUICK = 50, LONG = 500, PER_FILE = 20 }; /* of 25, some files take 17 GB in all ways of compiling */

/* ------------------------------------------------------------------ graphs */

static Desc *describe_seeds(uint64_t first, int n, bool count)
{
    Graph *graphs[PER_FILE];
    for (int i = 0; i < n; i++) graphs[i] = random_graph_apart(first + (uint64_t)i, count);
    return describe_graphs(n, graphs);
}

/* ------------------------------------------------------------------ variants */

#define OFF(pass) ((uint64_t)1 << PASS_##pass)

/* optimized: compiled as for users; gcc then works out what functions of constants are, to other bits than libm. */
static const struct Variant {
    const char *name, *precision;
    Options options;
    double bound; /* 0: the same bits as the first */
    bool optimized;
} variants[] = {
    {"compiled", "fp64", {0}, 1e-12, false},
    {"optimized", "fp64", {.all_panels = true, .all_in_place = true}, 1e-12, true},
    {"unplanned", "fp64", {.without = OFF(plan)}, 0, false},
    {"all in place", "fp64", {.all_in_place = true}, 0, false},
    {"in panels", "fp64", {.all_panels = true, .all_in_place = true}, 0, false},
    {"unfused", "fp64", {.without = OFF(fuse)}, 1e-12, false},
    {"as written",
     "fp64",
     {.without = OFF(known) | OFF(merge) | OFF(simplify) | OFF(split) | OFF(remat) | OFF(parts) | OFF(twins) |
                 OFF(absorb) | OFF(stored)},
     1e-12,
     false},
    {"as lowered",
     "fp64",
     {.without =
          OFF(clean) | OFF(carry) | OFF(pack) | OFF(order) | OFF(in_place) | OFF(axes) | OFF(threads) | OFF(marks)},
     0,
     false},
    {"defined", "fp64", {.without = OFF(whole) | OFF(across) | OFF(lanes)}, 1e-12, false},
    {"fp32", "fp32", {0}, 2e-5, true},
    {"bf16", "fp64-bf16", {.without = OFF(merge)}, 1e-12, true}, /* against the interpreter with the same roundings */
};

static int stored;                        /* values kept in 16 bits */
static int narrow;                        /* products of such */
static int rows_added, gelus, gelus_back; /* products that end so */

/* What the interpreter is given: merged products read and differentiate stretches of several parameters. */
static const struct Variant plain = {"interpreted", "fp64", {.without = OFF(merge)}, 0, false};

static double worst[COUNT_OF(variants)];
static int taken_over, carried; /* where all is in place that can be */
static int panels, loops_in_panels, columns_in_panels;

static Desc *begin_variant(const struct Variant *v, uint64_t first, int n, bool count)
{
    options = v->options;
    options.target = &target_cpu;
    options.precision = v->precision;
    options.check_stages = options.poison = true;
    options.head_rows = 3;
    leave_out(&options, PASS_panels, !options.all_panels); /* these graphs are too small for them otherwise */
    Desc *d = describe_seeds(first, n, count);
    compile_until(d, NULL, "grad");
    return d;
}

/* What only differentiation makes is counted after it. */
static void count_derivatives(const Graph *g)
{
    int before[OPS];
    __typeof__(covered) features = covered;
    memcpy(before, coverage, sizeof before);
    count_coverage(g);
    before[OP_attention_back] = coverage[OP_attention_back];
    memcpy(coverage, before, sizeof before);
    covered = features;
}

/* One graph pass after the other, what the graph means after it against what it meant before them all. */
static void check_passes(Desc *d, const Reference *refs)
{
    int npasses;
    const Pass *pass = pass_list(&npasses);
    while (!same(pass->name, "whole")) pass++;
    for (; pass->kind == GRAPHS; pass++) {
        compile_until(d, pass->name, pass->name);
        for (int i = 0; i < d->graphs.n; i++) {
            Results got = interpret(d->graphs.at[i], 0, 0);
            compare(d->graphs.at[i]->name, format("after %s", pass->name), 1e-12, &refs[i], &got);
        }
    }
}

static void check_variant(int variant, Live *l, const Reference *refs, Results *planned)
{
    const struct Variant *v = &variants[variant];
    for (int i = 0; i < l->model->entries; i++) {
        const char *graph = l->model->entry[i].name;
        Results got = run(l, i, &refs[i].exact);
        if (variant == 0) planned[i] = got;
        if (v->bound > 0) worst[variant] = fmax(worst[variant], compare(graph, v->name, v->bound, &refs[i], &got));
        else compare_bits(graph, v->name, &planned[i], &got);
    }
}

static void count_panels(Kernel *const *kernels, int n)
{
    for (int i = 0; i < n; i++) {
        const Kernel *k = kernels[i];
        panels += k->kind == PANELS;
        loops_in_panels += k->kind == REPEAT && k->panels;
        columns_in_panels += k->share == COLUMN_SUMS;
        count_panels(k->body.at, k->body.n);
    }
}

/* But for its roundings a graph means after passes what it meant before. */
static void check_unrounded(const Graph *g, const char *what, const Reference *ref)
{
    eval_rounds_stored = false;
    Results got = interpret(g, 0, 0);
    eval_rounds_stored = true;
    compare(g->name, what, 1e-12, ref, &got);
}

/* A pass that is left out makes none. */
static void count_ends(const Graph *g)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (int k = 0; k < all.n; k++) {
        if (all.at[k]->op != OP_dot) continue;
        Product_end end = dot_end(all.at[k]);
        bool row = end == END_BIAS || (end == END_GELU && all.at[k]->nin > 2);
        expect(!row || !(options.without & OFF(bias)), "%s: a product ends in a row without that pass", g->name);
        expect(end < END_GELU || !(options.without & OFF(gelu)), "%s: a product ends in gelu without that pass",
               g->name);
        rows_added += row;
        gelus += end == END_GELU;
        gelus_back += end == END_GELU_BACK;
    }
}

/* What rounding changes is no mistake of what comes after it: graphs as pass_store leaves them are the reference. */
static void refer_to_stored(Desc *d, Reference *refs)
{
    compile_until(d, "whole", "store");
    for (int i = 0; i < d->graphs.n; i++) {
        Nodes all = {0};
        all_nodes(d->graphs.at[i], &all);
        for (int k = 0; k < all.n; k++) stored += is_stored(all.at[k]->dtype);
        check_unrounded(d->graphs.at[i], "stored but not rounded", &refs[i]);
        refs[i] = reference_of(d->graphs.at[i]);
    }
}

/* Products and attention over 16 bits, which C has not: but for their roundings, too, a graph means what it meant. */
static void check_narrow(uint64_t first, int n)
{
    static const struct Variant v = {"narrow", "bf16", {.without = OFF(merge)}, 0, false};
    Reference refs[PER_FILE];
    Desc *d = begin_variant(&v, first, n, false);
    options.target = &target_cuda;
    for (int i = 0; i < n; i++) refs[i] = reference_of(d->graphs.at[i]);
    compile_until(d, "whole", "narrow");
    for (int i = 0; i < n; i++) {
        Nodes all = {0};
        all_nodes(d->graphs.at[i], &all);
        for (int k = 0; k < all.n; k++) {
            OpKind kind = op_info[all.at[k]->op].kind;
            narrow += (kind == DOT || kind == WHOLE) && is_stored(all.at[k]->in[0]->dtype);
        }
        check_unrounded(d->graphs.at[i], "stored but not rounded", &refs[i]);
    }
}

/* Without the passes that make them, no value has 16 bits. */
static void check_wide(uint64_t first, int n)
{
    static const struct Variant v = {"wide", "bf16", {.without = OFF(store) | OFF(narrow)}, 0, false};
    Desc *d = begin_variant(&v, first, n, false);
    options.target = &target_cuda;
    compile_until(d, "whole", "narrow");
    for (int i = 0; i < n; i++) {
        Nodes all = {0};
        all_nodes(d->graphs.at[i], &all);
        for (int k = 0; k < all.n; k++)
            expect(!is_stored(all.at[k]->dtype), "%s: %s", d->graphs.at[i]->name, node_text(all.at[k]));
    }
}

/* What a cut prints, once everything is known of it, is the graph's text, too. */
static void check_text_of_cuts(Desc *d)
{
    const Module *m = compile_until(d, "straighten", "place");
    for (int i = 0; i < m->cuts.n; i++) {
        Text t = {0};
        print_cut(&t, m->cuts.at[i]);
        const char *as_read = printed(parse_graph("cut", t.at)), *name = d->graphs.at[i]->name;
        expect(same(as_read, printed(d->graphs.at[i])), "%s: a cut reads as another graph:\n%s", name, t.at);
        expect(strstr(t.at, "  # "), "%s: nothing is known of a cut", name);
    }
}

/* What products end in on a GPU means what it meant before, and makes sound programs. */
static void check_ends(uint64_t first, int n)
{
    static const struct Variant ways[] = {
        {"ends", "fp32", {.without = OFF(merge)}, 0, false},
        {"ends of 16 bits", "bf16", {.without = OFF(merge)}, 0, false},
        {"no rows", "fp32", {.without = OFF(merge) | OFF(bias) | OFF(sums) | OFF(pair)}, 0, false},
        {"no gelus", "fp32", {.without = OFF(merge) | OFF(gelu)}, 0, false},
    };
    Reference refs[PER_FILE];
    for (int way = 0; way < COUNT_OF(ways); way++) {
        Desc *d = begin_variant(&ways[way], first, n, false);
        options.target = &target_cuda;
        for (int i = 0; i < n; i++) refs[i] = reference_of(d->graphs.at[i]);
        compile_until(d, "whole", "bias");
        for (int i = 0; i < n; i++) check_unrounded(d->graphs.at[i], "rows added", &refs[i]);
        compile_until(d, "gelu", "gelu");
        for (int i = 0; i < n; i++) check_unrounded(d->graphs.at[i], "with gelus", &refs[i]);
        for (int i = 0; i < n; i++) count_ends(d->graphs.at[i]);
        if (way == 0) check_text_of_cuts(d);
        compile_until(d, "straighten", NULL);
    }
}

static void check_file(uint64_t first, int n)
{
    Reference refs[PER_FILE];
    Results planned[PER_FILE];
    Desc *d = begin_variant(&plain, first, n, true);
    for (int i = 0; i < n; i++) { refs[i] = reference_of(d->graphs.at[i]); }
    for (int i = 0; i < n; i++) count_derivatives(d->graphs.at[i]);
    check_passes(d, refs);
    const char *less = gcc_level;
    for (int v = 0; v < COUNT_OF(variants); v++) {
        Desc *fresh = begin_variant(&variants[v], first, n, false);
        for (int i = 0; i < fresh->params.n && v == 0; i++) covered.merged += fresh->params.at[i]->wide != NULL;
        bool stores = precision_of(&options).saved != precision_of(&options).real;
        if (stores) refer_to_stored(fresh, refs);
        const Module *m = compile_until(fresh, stores ? "clean" : "whole", NULL);
        for (int i = 0; i < m->programs.n && options.all_panels; i++)
            count_panels(m->programs.at[i]->kernels.at, m->programs.at[i]->kernels.n);
        for (int i = 0; i < m->programs.n && options.all_in_place; i++)
            taken_over += m->programs.at[i]->taken_over, carried += m->programs.at[i]->carried;
        gcc_level = variants[v].optimized ? NULL : less;
        Live *l = load_module(m);
        check_variant(v, l, refs, planned);
        unload(l);
    }
    check_narrow(first, n);
    check_wide(first, n);
    check_ends(first, n);
}

/* What a file's process leaves for the next: they count on, one after another. */
typedef struct Tally {
    int coverage[OPS];
    __typeof__(covered) covered;
    double worst[COUNT_OF(variants)];
    int taken_over, carried, zeros, panels, loops_in_panels, columns_in_panels, stored, narrow;
    int rows_added, gelus, gelus_back;
} Tally;

static void write_tally(Tally *t)
{
    memcpy(t->coverage, coverage, sizeof coverage);
    memcpy(t->worst, worst, sizeof worst);
    t->covered = covered;
    t->taken_over = taken_over;
    t->carried = carried;
    t->zeros = zeros;
    t->panels = panels;
    t->loops_in_panels = loops_in_panels;
    t->columns_in_panels = columns_in_panels;
    t->stored = stored;
    t->narrow = narrow;
    t->rows_added = rows_added;
    t->gelus = gelus;
    t->gelus_back = gelus_back;
}

static void read_tally(const Tally *t)
{
    memcpy(coverage, t->coverage, sizeof coverage);
    memcpy(worst, t->worst, sizeof worst);
    covered = t->covered;
    taken_over = t->taken_over;
    carried = t->carried;
    zeros = t->zeros;
    panels = t->panels;
    loops_in_panels = t->loops_in_panels;
    columns_in_panels = t->columns_in_panels;
    stored = t->stored;
    narrow = t->narrow;
    rows_added = t->rows_added;
    gelus = t->gelus;
    gelus_back = t->gelus_back;
}

typedef struct Run {
    uint64_t first;
    int n;
    Tally *tally; /* shared with the process that runs it */
} Run;

static void check_run(void *user)
{
    const Run *run = user;
    check_file(run->first, run->n);
    write_tally(run->tally);
}

static void check_file_apart(uint64_t first, int n)
{
    Tally *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED);
    expect(run_apart(check_run, &(Run){first, n, shared}), "graphs %llu to %llu failed", (unsigned long long)first,
           (unsigned long long)first + (uint64_t)n - 1);
    read_tally(shared);
    munmap(shared, sizeof *shared);
}

static void check_coverage(void)
{
    const struct {
        const char *name;
        int count;
    } features[] = {
        {"loops in loops", covered.nested},
        {"loops three deep", covered.deep},
        {"reversed loops", covered.reversed},
        {"several carries", covered.carries},
        {"stacks", covered.stacks},
        {"invariants", covered.invariants},
        {"random draws", covered.random},
        {"ragged lengths", covered.ragged},
        {"updates in place", covered.in_place},
        {"values over their inputs", taken_over},
        {"carries made where they lie", carried},
        {"merged products", covered.merged},
        {"kernels in panels", panels},
        {"loops in panels", loops_in_panels},
        {"column sums in panels", columns_in_panels},
        {"values stored in 16 bits", stored},
        {"products of 16 bits", narrow},
        {"products that add a row", rows_added},
        {"products that end in gelu", gelus},
        {"products that end in its derivative", gelus_back},
    };
    for (int op = 0; op < OPS; op++) expect(coverage[op] > 0, "no graph has the op %s", op_info[op].name);
    for (int i = 0; i < COUNT_OF(features); i++) expect(features[i].count > 0, "no graph has %s", features[i].name);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int n = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : long_run() ? LONG : QUICK;
    for (int done = 0; done < n; done += PER_FILE)
        check_file_apart(first + (uint64_t)done, (int)min64(n - done, PER_FILE));
    printf("note: ");
    print_coverage();
    if (argc == 1) check_coverage();
    printf("note: %d values over their inputs, %d carries made where they lie\n", taken_over, carried);
    printf("note: %d groups in panels, %d loops in them, %d kernels with columns\n", panels, loops_in_panels,
           columns_in_panels);
    printf("note: %d values stored in 16 bits, %d products of such\n", stored, narrow);
    printf("note: %d products add a row, %d end in gelu, %d in its derivative\n", rows_added, gelus, gelus_back);
    printf("note: %d results are zero but for rounding, and are off\n", zeros);
    for (int v = 0; v < COUNT_OF(variants); v++)
        if (variants[v].bound > 0)
            printf("note: %-12s worst difference %.1e of %.0e\n", variants[v].name, worst[v], variants[v].bound);
    return finish();
}
