/* test_random_scans.c: random scans with random bodies as the entries of one generated file, in fp64: the loss is the
 * interpreter's, the gradients are those of differences.  Prints what the scans covered, and fails where a feature is
 * in none.
 *
 *   test_random_scans [FIRST [COUNT]]      other seeds, without the check of coverage */
#include "harness.h"
#include "passes/models.h"

enum { QUICK = 100, LONG = 500, PER_FILE = 25, DEEPEST = 2, MEMORY = 4, WORDS = 5 };

static struct {
    int scans, ragged, reversed, nested, carries, integers, invariants, attention, additive, lookups, outputs_unused,
        carries_unused, results_unused, once, recomputed;
} covered;

static double worst;

/* One graph being made.  Values are [rows][width]; those of a body go when its scan closes. */
typedef struct Maker {
    uint64_t seed;
    int leaves, depth;
    int64_t rows, width;
    Node *memory; /* [rows][MEMORY][width], of the top */
    Nodes pool;
} Maker;

static Shape shape_here(const Maker *m) { return SHAPE(m->rows, m->width); }
static bool one_in(int64_t n) { return below(&dice, n) == 0; }

static const char *new_name(Maker *m) { return format("g%llu.p%d", (unsigned long long)m->seed, m->leaves++); }
static Node *learned(Maker *m, Shape s) { return leaf(parameter_node(new_name(m), F64, s), "ANY"); }
static Node *drawn_ids(Maker *m, Shape s, int64_t n)
{
    return leaf(input_node(new_name(m), I32, s), format("<%lld", (long long)n));
}

/* Mostly what was made last. */
static Node *any(const Maker *m)
{
    int from = one_in(3) ? 0 : m->pool.n / 2;
    return m->pool.at[from + (int)below(&dice, m->pool.n - from)];
}

/* ------------------------------------------------------------------ bodies */

static Node *linear(Maker *m, Node *a)
{
    Node *y = matmul(a, learned(m, SHAPE(m->width, m->width)));
    return one_in(2) ? y : add(y, broadcast(learned(m, SHAPE(m->width)), y->shape));
}

/* One value where nothing hinders it. */
static Node *two_products(Maker *m)
{
    Node *one = matmul(tanh_of(any(m)), learned(m, SHAPE(m->width, m->width)));
    return add(one, linear(m, tanh_of(any(m))));
}

static Node *gated(Maker *m)
{
    Node *s = sigmoid(any(m)), *rest = map2(OP_sub, filled(1, F64, s->shape), s);
    return add(mul(s, any(m)), mul(rest, tanh_of(any(m))));
}

static Node *softmax(Node *x)
{
    Node *e = map1(OP_exp, x), *sum = reduce(OP_sum, e, AXES(1));
    return map2(OP_div, e, expand(reshape(sum, SHAPE(x->shape.dim[0], 1)), x->shape));
}

/* scores [rows][MEMORY] of a query with the memory, which no iteration changes */
static Node *product_scores(Maker *m, Node *q)
{
    covered.attention++;
    return dot(m->memory, q, (Dot_axes){.nb = 1, .nc = 1, .ac = {2}, .bc = {1}});
}

static Node *additive_scores(Maker *m, Node *q)
{
    covered.additive++;
    Node *keys = matmul(m->memory, learned(m, SHAPE(m->width, m->width)));
    Node *query = expand(reshape(linear(m, q), SHAPE(m->rows, 1, m->width)), keys->shape);
    return matmul(tanh_of(add(keys, query)), learned(m, SHAPE(m->width)));
}

static Node *attended(Maker *m)
{
    Node *p = softmax(one_in(2) ? product_scores(m, any(m)) : additive_scores(m, any(m)));
    return dot(p, m->memory, (Dot_axes){.nb = 1, .nc = 1, .ac = {1}, .bc = {1}});
}

static Node *shuffled(Maker *m)
{
    Node *a = any(m);
    int64_t first = 1 + below(&dice, m->width - 1);
    Node *left = slice(a, INTS(0, first), INTS(m->rows, m->width - first), NULL);
    return concat(2, (Node *[]){left, slice(a, INTS(0, 0), INTS(m->rows, first), NULL)}, 1);
}

static Node *random_scan(Maker *m);

static Node *random_value(Maker *m)
{
    switch (below(&dice, m->depth < DEEPEST && one_in(2) ? 10 : 9)) {
    case 0: return tanh_of(linear(m, any(m)));
    case 1: return tanh_of(add(linear(m, any(m)), linear(m, any(m))));
    case 2: return gated(m);
    case 3: return map1(OP_sin, mul(any(m), any(m)));
    case 4: return attended(m);
    case 5: return shuffled(m);
    case 6: return mul(any(m), broadcast(reduce(OP_sum, tanh_of(any(m)), AXES(0)), shape_here(m)));
    case 7: return add(any(m), times(0.5, any(m)));
    case 8: return two_products(m);
    default: return random_scan(m);
    }
}

static void add_values(Maker *m, int64_t values)
{
    Making region = making();
    while (values-- > 0) {
        bool recompute = region.recompute || one_in(10);
        make_with((Making){.recompute = recompute});
        covered.recomputed += recompute;
        Node *v = random_value(m);
        push(&m->pool, v);
    }
    make_with(region);
}

/* ------------------------------------------------------------------ scans */

/* [trip][rows][width]: learned, projected from something narrower, or made of a value that is there. */
static Node *random_stack(Maker *m, int64_t trip)
{
    Shape s = SHAPE(trip, m->rows, m->width);
    switch (below(&dice, trip == MEMORY ? 4 : 3)) {
    case 0: return learned(m, s);
    case 1: return matmul(learned(m, SHAPE(trip, m->rows, 2)), learned(m, SHAPE(2, m->width)));
    case 2: return mul(broadcast(any(m), s), map1(OP_sin, counting(s)));
    default: return permute(m->memory, (int[]){1, 0, 2});
    }
}

/* Where the row has not ended yet: new, else old. */
static Node *until(Loop *l, Node *lengths, Node *new, Node *old)
{
    if (!lengths) return new;
    Node *on = map2(OP_lt, broadcast(l->index, lengths->shape), lengths);
    return where_op(expand(reshape(on, SHAPE(lengths->shape.dim[0], 1)), new->shape), new, old);
}

/* Carries' arguments, x's and the index come into the pool; a carry that is unused is left out of it. */
static void open_body(Maker *m, Loop *l, const Nodes *inits, const Nodes *stacks, const Node *unused)
{
    for (int k = 0; k < inits->n; k++) {
        Node *arg = loop_carry(l, inits->at[k]);
        if (inits->at[k] != unused) push(&m->pool, arg);
    }
    for (int k = 0; k < stacks->n; k++) push(&m->pool, loop_x(l, stacks->at[k]));
    push(&m->pool, times(0.1, broadcast(cast_op(l->index, F64), shape_here(m))));
    if (!one_in(3)) return;
    covered.lookups++;
    Node *table = learned(m, SHAPE(WORDS, m->width));
    push(&m->pool, gather(table, loop_x(l, drawn_ids(m, SHAPE(l->trip, m->rows), WORDS)), 0, 0));
}

/* An integer carry that counts by the index, seen by the body as a factor. */
static void count_along(Maker *m, Loop *l)
{
    covered.integers++;
    Node *arg = loop_carry(l, scalar(1, I32));
    loop_next(l, l->carries.n - 1, add(arg, l->index));
    push(&m->pool, times(0.05, broadcast(cast_op(arg, F64), shape_here(m))));
}

static void count_scan(const Maker *m, const Loop *l, const Node *lengths, int carries)
{
    covered.scans++;
    covered.ragged += lengths != NULL;
    covered.reversed += l->reverse;
    covered.nested += m->depth > 1;
    covered.carries += carries > 1;
    covered.once += l->trip == 1;
}

/* The body of a closed scan reads what was computed outside of it. */
static bool reads_invariants(Loop *l)
{
    Nodes roots = {0}, body = {0};
    loop_roots(l, &roots);
    nodes_at(l, roots.at, roots.n, &body);
    for (int i = 0; i < body.n; i++)
        for (int k = 0; k < body.at[i]->nin; k++) {
            const Node *in = body.at[i]->in[k];
            double value;
            if (in->in_loop != l && op_info[in->op].kind != LEAF && !is_filled(in, &value)) return true;
        }
    return false;
}

/* A value of some of the results; all stacks are there before the first is picked. */
static Node *close_scan(Maker *m, Loop *l, int carries, Node *const *ys, int nys)
{
    for (int k = 0; k < nys; k++) loop_yield(l, ys[k]);
    loop_close(l);
    covered.invariants += reads_invariants(l);
    Node *result = filled(0.1, F64, shape_here(m));
    for (int k = 0; k < nys; k++) {
        if (one_in(4)) covered.outputs_unused++;
        else
            result =
                add(result,
                    reduce(OP_sum, mul(loop_stack(l, ys[k]), map1(OP_cos, counting(SHAPE(l->trip, m->rows, m->width)))),
                           AXES(0)));
    }
    for (int k = 0; k < carries; k++) {
        if (one_in(3)) covered.results_unused++;
        else result = add(result, loop_result(l, k));
    }
    return tanh_of(result);
}

static Node *random_scan(Maker *m)
{
    int64_t trip = one_in(6) ? 1 : 2 + below(&dice, 3), outer = m->pool.n;
    int ncarries = 1 + (int)below(&dice, 3);
    Node *lengths = one_in(2) ? drawn_ids(m, SHAPE(m->rows), trip + 1) : NULL, *unused = NULL;
    Nodes inits = {0}, stacks = {0};
    for (int k = 0; k < ncarries; k++)
        push(&inits, one_in(3) ? filled(0, F64, shape_here(m)) : one_in(2) ? any(m) : learned(m, shape_here(m)));
    for (int64_t k = below(&dice, 3); k >= 0; k--) push(&stacks, random_stack(m, trip));
    if (ncarries > 1 && one_in(4)) unused = inits.at[ncarries - 1], covered.carries_unused++;
    Loop *l = loop_open("time", trip, one_in(2));
    open_body(m, l, &inits, &stacks, unused);
    if (one_in(5)) count_along(m, l);
    m->depth++;
    count_scan(m, l, lengths, ncarries);
    add_values(m, 2 + below(&dice, 4));
    for (int k = 0; k < ncarries; k++)
        loop_next(l, k, until(l, lengths, one_in(3) ? two_products(m) : tanh_of(any(m)), l->carries.at[k].arg));
    Node *ys[2], *zero = filled(0, F64, shape_here(m));
    for (int k = 0; k < 2; k++) ys[k] = until(l, lengths, any(m), zero);
    m->pool.n = (int)outer;
    m->depth--;
    return close_scan(m, l, ncarries, ys, 2);
}

static Graph *random_scans(uint64_t seed)
{
    dice = rng_of(seed);
    Maker m = {.seed = seed, .rows = 1 + below(&dice, 4), .width = 2 + below(&dice, 4)};
    m.memory = tanh_of(learned(&m, SHAPE(m.rows, MEMORY, m.width)));
    for (int k = 0; k < 2; k++) push(&m.pool, learned(&m, shape_here(&m)));
    add_values(&m, 1);
    Node *scan = random_scan(&m);
    push(&m.pool, scan);
    add_values(&m, 1);
    make_with((Making){0});
    Graph *g = NEW(Graph);
    *g = (Graph){.name = format("g%llu", (unsigned long long)seed), .wants_grads = true};
    Node *loss = loss_of_all(map1(OP_sin, add(scan, add(any(&m), m.pool.at[m.pool.n - 1]))));
    push(&g->outs, ((Output){OUT_VALUE, "loss", loss}));
    return g;
}

/* ------------------------------------------------------------------ checks */

static const Value *value_named(const char *name)
{
    for (int i = 0; i < leaves.n; i++)
        if (same(leaves.at[i].name, name)) return &leaves.at[i].value;
    die("nothing feeds %s", name);
}

static void feed_live(Live *l, int entry)
{
    for (int k = 0; k < l->model->params; k++)
        write_param(l, &l->model->param[k], value_named(l->model->param[k].name)->at);
    const Lathe_entry *e = &l->model->entry[entry];
    for (int k = 0; k < e->inputs; k++) {
        const Value *v = value_named(e->input[k].name);
        for (int64_t i = 0; i < elements(v->shape); i++)
            set_element(e->input[k].dtype, l->room[entry].in + e->input[k].offset, i, v->at[i]);
    }
}

static void check_scan(Live *l, int entry, double expected, Rng *r)
{
    const char *name = l->model->entry[entry].name;
    feed_live(l, entry);
    call_entry(l, entry);
    double got = loss_of(l, entry);
    expect(fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected)), "%s: loss is %.17g, interpreted %.17g", name, got,
           expected);
    worst = fmax(worst, check_gradients(l, entry, name, format("%s.", name), 1, r));
}

static void check_file(uint64_t first, int n)
{
    Graph *graphs[PER_FILE];
    double expected[PER_FILE];
    for (int i = 0; i < n; i++) {
        graphs[i] = random_scans(first + (uint64_t)i);
        Value loss;
        eval_graph(graphs[i], feed, NULL, &loss);
        expected[i] = loss.at[0];
    }
    Live *l = load_module(compile_until(describe_graphs(n, graphs), NULL, NULL));
    Rng r = rng_of(first);
    for (int i = 0; i < n; i++) check_scan(l, i, expected[i], &r);
    unload(l);
    leaves.n = 0;
}

static void check_coverage(void)
{
    const struct {
        const char *name;
        int count;
    } features[] = {
        {"scans", covered.scans},
        {"ragged lengths", covered.ragged},
        {"reversed scans", covered.reversed},
        {"scans in scans", covered.nested},
        {"several carries", covered.carries},
        {"integer carries", covered.integers},
        {"invariant values in bodies", covered.invariants},
        {"attention to a memory", covered.attention},
        {"additive attention", covered.additive},
        {"lookups", covered.lookups},
        {"outputs that are not used", covered.outputs_unused},
        {"carries that are not used", covered.carries_unused},
        {"last states that are not used", covered.results_unused},
        {"scans of one step", covered.once},
        {"values that are computed again", covered.recomputed},
    };
    for (int i = 0; i < COUNT_OF(features); i++) {
        printf("note: %4d %s\n", features[i].count, features[i].name);
        expect(features[i].count >= 10, "%d graphs have %s", features[i].count, features[i].name);
    }
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int n = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : long_run() ? LONG : QUICK;
    options = (Options){.target = &target_cpu, .precision = "fp64", .check_stages = true, .poison = true};
    for (int done = 0; done < n; done += PER_FILE) check_file(first + (uint64_t)done, (int)min64(n - done, PER_FILE));
    if (argc == 1) check_coverage();
    printf("note: %d graphs, worst relative error of a gradient %.1e\n", n, worst);
    return finish();
}
