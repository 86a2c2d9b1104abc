/* test_op_gradients.c: every differentiable op in a small graph of its own; gradients of the generated code in fp64
 * against differences.  Maps, reductions and scans come from the op table; any other op must have a builder here. */
#include "../attention.h"
#include "graph/parts.h"
#include "harness.h"
#include "kernels/kernel.h"
#include "ops/head.h"

#include <math.h>
#include <string.h>

enum { ROWS_ = 4, COLUMNS = 19 }; /* odd against the 16 lanes of a reduction */

static Shape shape2(int64_t a, int64_t b) { return shape_of(2, (int64_t[]){a, b}); }
static Shape shape3(int64_t a, int64_t b, int64_t c) { return shape_of(3, (int64_t[]){a, b, c}); }

/* ------------------------------------------------------------------ leaves and the loss */

static const char *prefix; /* of the parameters of the graph under construction */
static VEC(struct Drawn { const char *name, *domain; }) drawn;

static Node *parameter_in(const char *domain, const char *name, Shape s)
{
    const char *full = format("%s.%s", prefix, name);
    push(&drawn, ((struct Drawn){full, domain}));
    return parameter_node(full, F32, s);
}

static Node *param(const char *name, Shape s) { return parameter_in("ANY", name, s); }

static double draw(const char *domain, Rng *r)
{
    if (same(domain, "POSITIVE")) return 0.5 + 2 * uniform(r);
    if (same(domain, "NONZERO")) return (uniform(r) < 0.5 ? -1 : 1) * (0.5 + 2 * uniform(r));
    if (same(domain, "SMALL")) return 5 * uniform(r) - 2.5;
    return normal(r);
}

/* The graphs whose names contain the word given on the command line, if one is. */
static const char *wanted = "";

/* Different for every element, so that a gradient in the wrong place shows. */
static Node *weights(Shape s)
{
    Node *w = filled(0.3, F32, s);
    for (int k = 0; k < s.rank; k++)
        w = map2(OP_add, w, map1(OP_sin, map2(OP_mul, cast_op(iota(s, k), F32), filled(1.3 + k, F32, s))));
    return w;
}

static Node *sum_all(Node *x)
{
    int axes[MAXRANK];
    for (int k = 0; k < x->shape.rank; k++) axes[k] = k;
    return x->shape.rank ? reduce(OP_sum, x, x->shape.rank, axes) : x;
}

static Node *loss_from(Node *y) { return sum_all(map2(OP_mul, y, weights(y->shape))); }

/* ids below n, with repeats */
static Node *ids_for(Shape s, int64_t n)
{
    Node *i = filled(1, I32, s);
    for (int k = 0; k < s.rank; k++) i = map2(OP_add, i, map2(OP_mul, iota(s, k), filled(3 + 2 * k, I32, s)));
    return map2(OP_mod, i, filled((double)n, I32, s));
}

/* ------------------------------------------------------------------ one builder for each op that is not a map */

static Node *build_where(void)
{
    Node *a = param("a", shape2(ROWS_, COLUMNS)), *b = param("b", shape2(ROWS_, COLUMNS));
    return where_op(map2(OP_lt, ids_for(a->shape, 5), filled(2, I32, a->shape)), a, b);
}

static Node *build_cast(void)
{
    Node *a = param("a", shape2(ROWS_, COLUMNS)); /* no gradient flows through an integer */
    return map2(OP_add, a, cast_op(cast_op(a, I32), F32));
}

static Node *build_reshape(void) { return reshape(param("a", shape3(2, 3, 10)), shape2(12, 5)); }

static Node *build_permute(void) { return permute(param("a", shape3(2, 3, 7)), (int[]){2, 0, 1}); }

static Node *build_expand(void) { return expand(param("a", shape3(3, 1, 7)), shape3(3, 5, 7)); }

static Node *build_slice(void)
{
    return slice(param("a", shape2(7, 20)), (int64_t[]){1, 2}, (int64_t[]){3, 6}, (int64_t[]){2, 3});
}

static Node *build_pad(void) { return pad(param("a", shape2(3, 7)), (int64_t[]){1, 0}, (int64_t[]){2, 5}); }

static Node *build_flip(void) { return flip(param("a", shape3(2, 3, 7)), 2, (int[]){0, 2}); }

static Node *build_concat(void)
{
    Node *parts[] = {param("a", shape2(3, 5)), param("b", shape2(3, 1)), param("c", shape2(3, 9))};
    return concat(3, parts, 1);
}

static Node *build_dot(void)
{
    Node *a = param("a", shape3(2, 5, 7)), *b = param("b", shape3(7, 2, 3));
    Node *batched = dot(a, b, (Dot_axes){.nb = 1, .nc = 1, .ab = {0}, .bb = {1}, .ac = {2}, .bc = {0}}); /* [2,5,3] */
    Node *c = param("c", shape2(5, 3));
    return dot(batched, c, (Dot_axes){.nc = 2, .ac = {1, 2}, .bc = {0, 1}});
}

static Node *build_gather(void)
{
    Node *rows = gather(param("a", shape2(5, 7)), ids_for(shape2(3, 4), 5), 0, 0);      /* [3,4,7] */
    Node *picked = gather(param("b", shape3(3, 4, 7)), ids_for(shape2(3, 4), 7), 2, 2); /* [3,4] */
    return map2(OP_mul, rows, broadcast(reshape(picked, shape3(3, 4, 1)), rows->shape));
}

static Node *build_scatter_add(void)
{
    return scatter_add(param("a", shape3(3, 4, 7)), ids_for(shape2(3, 4), 5), shape2(5, 7), 0, 0);
}

static Node *build_overwrite(void)
{
    int64_t four = 4;
    Node *a = param("a", shape2(9, 7)), *b = param("b", shape2(4, 7));
    return overwrite(a, map2(OP_mul, iota(shape_of(1, &four), 0), filled(2, I32, shape_of(1, &four))), b, 0, 0);
}

static Node *build_topk(void) { return pick(topk(param("a", shape2(5, 9)), 1, 3), 0, 0); }

/* A recurrence with everything a loop has: carry, history, slices of a stack, an invariant, the index. */
static Node *recurrence(bool reverse)
{
    Node *xs = param("xs", shape3(5, 3, 4)), *w = param("w", shape2(4, 4)), *h0 = param("h0", shape2(3, 4));
    Loop *l = loop_open("time", 5, reverse);
    Node *h = loop_carry(l, h0), *x = loop_x(l, xs);
    Node *scale = broadcast(cast_op(map2(OP_add, l->index, filled(1, I32, (Shape){0})), F32), h->shape);
    Node *wh = dot(h, w, (Dot_axes){.nc = 1, .ac = {1}, .bc = {0}});
    Node *next = map1(OP_tanh, map2(OP_add, map2(OP_mul, scale, x), wh));
    loop_next(l, 0, next);
    loop_close(l);
    Node *history = loop_stack(l, map2(OP_mul, h, next));
    return map2(OP_add, sum_all(loop_result(l, 0)), loss_from(history));
}

static Node *build_loop(void) { return recurrence(false); }
static Node *build_reversed_loop(void) { return recurrence(true); }

/* Layers over layers of time steps: parameters by slice, a carry through both. */
static Node *build_nested_loop(void)
{
    Node *w = param("w", shape3(3, 4, 4)), *x = param("x", shape3(5, 2, 4));
    Loop *layer = loop_open("layer", 3, false);
    Node *seq = loop_carry(layer, x), *wl = loop_x(layer, w);
    Loop *time = loop_open("time", 5, false);
    Node *h = loop_carry(time, filled(0, F32, shape2(2, 4))), *xt = loop_x(time, seq);
    Node *next = map1(OP_tanh, map2(OP_add, xt, dot(h, wl, (Dot_axes){.nc = 1, .ac = {1}, .bc = {0}})));
    loop_next(time, 0, next);
    loop_close(time);
    loop_next(layer, 0, map2(OP_add, seq, loop_stack(time, next)));
    loop_close(layer);
    return loop_result(layer, 0);
}

/* Iterations that do not depend on each other. */
static Node *build_map_loop(void)
{
    Loop *l = loop_open("copy", 6, false);
    Node *x = loop_x(l, param("x", shape3(6, 3, 4))), *w = loop_x(l, param("w", shape3(6, 4, 2)));
    Node *y = map1(OP_tanh, dot(x, w, (Dot_axes){.nc = 1, .ac = {1}, .bc = {0}}));
    loop_close(l);
    return loop_stack(l, y);
}

static Node *build_attention(void)
{
    Attention_sizes z = {.B = 2,
                         .T = 5,
                         .S = 7,
                         .H = 4,
                         .G = 2,
                         .D = 4,
                         .E = 6,
                         .flags = CAUSAL | LENGTHS | TURNS | SOFT_CAP | SCORE_BIAS};
    Node *q = param("q", shape_of(4, (int64_t[]){z.B, z.T, z.H, z.D})),
         *k = param("k", shape_of(4, (int64_t[]){z.B, z.S, z.G, z.D})),
         *v = param("v", shape_of(4, (int64_t[]){z.B, z.S, z.G, z.E}));
    Attention a = attention_over(z, q, k, v);
    return pick(attention_op(&a), 0, 0);
}

static Node *build_convolution_to(Side_of side)
{
    Convolution v = {.side = side, .n = 2, .groups = 2, .axis = {{3, 2, 1, 1, 4}, {2, 1, 2, 0, 5}}};
    Shape x = shape_of(4, (int64_t[]){3, 8, 7, 6}), y = shape_of(4, (int64_t[]){3, 4, 5, 4});
    if (side != TOWARDS_Y) v.y = param("y", y);
    if (side != TOWARDS_X) v.x = param("x", x);
    if (side != TOWARDS_W) v.w = param("w", shape_of(4, (int64_t[]){4, 3, 3, 2}));
    for (int i = 0; i < 2 && side == TOWARDS_X; i++) v.axis[i].extent = x.dim[1 + i];
    return convolution_op(&v);
}

static Node *build_convolution(void) { return build_convolution_to(TOWARDS_Y); }
static Node *build_transposed(void) { return build_convolution_to(TOWARDS_X); }
static Node *build_weight_gradient(void) { return build_convolution_to(TOWARDS_W); }

/* Rows of several matrices, in no order; matrix 1 has none, the last most. */
static Node *by_ids_of(Node *x, Node *w, int across)
{
    double *ids = NEW_ARRAY(double, 14);
    for (int i = 0; i < 14; i++) ids[i] = (double[]){3, 0, 3, 2, 3, 3, 3, 0, 3, 3, 2, 3, 3, 3}[i];
    Shape s = shape2(7, 2);
    return dot_by_ids(x, w, intern((Node){.op = OP_constant, .dtype = I32, .shape = s, .data = ids}), across);
}

/* Each token's row is multiplied by two matrices. */
static Node *build_by_ids(void)
{
    Node *x = reshape(param("x", shape2(7, 5)), shape_of(3, (int64_t[]){7, 1, 5}));
    return by_ids_of(expand(x, shape_of(3, (int64_t[]){7, 2, 5})), param("w", shape_of(3, (int64_t[]){4, 3, 5})), 2);
}

static Node *build_by_ids_turned(void)
{
    return by_ids_of(param("x", shape_of(3, (int64_t[]){7, 2, 5})), param("w", shape_of(3, (int64_t[]){4, 5, 3})), 1);
}

/* A loss for each row, weighed by something that depends on a parameter and on the losses. */
static Node *build_linear_cross_entropy(void)
{
    Head h = {.x = param("x", shape2(9, 5)), .weight = param("w", shape2(5, COLUMNS)), .smoothing = 0.2};
    h.bias = param("b", shape_of(1, (int64_t[]){COLUMNS}));
    h.ids = ids_for(shape_of(1, (int64_t[]){9}), COLUMNS);
    h.ignores = true;
    h.ignored = 1 + 3 * 2; /* of row 2 */
    Node *losses = pick(linear_cross_entropy(&h), 0, 0), *g = param("g", losses->shape);
    return map2(OP_mul, map2(OP_add, losses, g), losses);
}

/* The same with soft targets, of parameters that are trained, too. */
static Node *build_soft_targets(void)
{
    Head h = {.x = param("x", shape2(7, 5)), .weight = param("w", shape2(5, COLUMNS)), .smoothing = 0.1};
    h.ids = ids_for(shape_of(1, (int64_t[]){7}), COLUMNS);
    h.ignores = true;
    h.ignored = 1 + 3 * 2;
    h.soft = (Soft_targets){.across = 1, .share = 0.6, .temperature = 1.7};
    h.soft.x = param("y", shape2(7, 3));
    h.soft.weight = param("v", shape2(COLUMNS, 3));
    h.soft.bias = param("c", shape_of(1, (int64_t[]){COLUMNS}));
    Node *losses = pick(linear_cross_entropy(&h), 0, 0);
    return map2(OP_mul, losses, losses);
}

static const struct Builder {
    Op op;
    const char *name;
    Node *(*make)(void);
} builders[] = {
    {OP_where, "where", build_where},
    {OP_cast, "cast", build_cast},
    {OP_reshape, "reshape", build_reshape},
    {OP_permute, "permute", build_permute},
    {OP_expand, "expand", build_expand},
    {OP_slice, "slice", build_slice},
    {OP_pad, "pad", build_pad},
    {OP_flip, "flip", build_flip},
    {OP_concat, "concat", build_concat},
    {OP_dot, "dot", build_dot},
    {OP_gather, "gather", build_gather},
    {OP_scatter_add, "scatter_add", build_scatter_add},
    {OP_overwrite, "overwrite", build_overwrite},
    {OP_topk, "topk", build_topk},
    {OP_attention, "attention", build_attention},
    {OP_convolution, "convolution", build_convolution},
    {OP_convolution, "convolution_transposed", build_transposed},
    {OP_convolution, "convolution_weight", build_weight_gradient},
    {OP_dot_by_ids, "dot_by_ids", build_by_ids},
    {OP_dot_by_ids, "dot_by_ids_turned", build_by_ids_turned},
    {OP_linear_cross_entropy, "linear_cross_entropy", build_linear_cross_entropy},
    {OP_linear_cross_entropy, "linear_cross_entropy_soft", build_soft_targets},
    {OP_loop, "loop", build_loop},
    {OP_loop, "reversed_loop", build_reversed_loop},
    {OP_loop, "nested_loop", build_nested_loop},
    {OP_loop, "map_loop", build_map_loop},
};

/* Nothing to differentiate: leaves, what yields integers, derivatives. */
static const Op without_gradient[] = {OP_input,     OP_parameter, OP_state, OP_gradient,       OP_constant,
                                      OP_iota,      OP_philox,    OP_u01,   OP_class_id,       OP_stop_gradient,
                                      OP_argmax,    OP_loop_arg,  OP_pick,  OP_attention_back, OP_over_ranks,
                                      OP_cumargmax, OP_argsort};

/* ------------------------------------------------------------------ the table of graphs */

typedef VEC(Graph *) Graphs;

static void add_graph(Graphs *graphs, const char *name, Node *y)
{
    if (!strstr(name, wanted)) return;
    Graph *g = NEW(Graph);
    *g = (Graph){.name = name, .wants_grads = true};
    push(&g->outs, ((Output){OUT_VALUE, "loss", loss_from(y)}));
    push(graphs, g);
}

static void add_map(Graphs *graphs, Op op)
{
    const OpInfo *info = &op_info[op];
    Node *in[8];
    prefix = format("op_%s", info->name);
    for (int k = 0; k < info->arity; k++)
        in[k] = parameter_in(info->domain, (const char *[]){"a", "b", "c"}[k], shape2(ROWS_, COLUMNS));
    add_graph(graphs, prefix, map_op(op, info->arity, in));
}

static void add_reduction(Graphs *graphs, Op op)
{
    static const struct {
        int n, axes[3];
        const char *name;
    } ways[] = {
        {1, {0}, "first"}, {1, {1}, "middle"}, {1, {2}, "last"}, {2, {0, 2}, "outer"}, {3, {0, 1, 2}, "all"},
    };
    for (int k = 0; k < COUNT_OF(ways); k++) {
        prefix = format("op_%s_%s", op_info[op].name, ways[k].name);
        add_graph(graphs, prefix, reduce(op, param("a", shape3(3, 5, 21)), ways[k].n, ways[k].axes));
    }
}

/* Along both ways, and along an axis with others behind it. */
static void add_scan(Graphs *graphs, Op op)
{
    prefix = format("op_%s", op_info[op].name);
    add_graph(graphs, prefix, scanned(op, scanned(op, param("a", shape3(2, 7, 3)), 1, false), 2, true));
}

/* How many graphs this op got. */
static int add_built(Graphs *graphs, Op op)
{
    int n = 0;
    for (int k = 0; k < COUNT_OF(builders); k++)
        if (builders[k].op == op) {
            prefix = format("op_%s", builders[k].name);
            add_graph(graphs, prefix, builders[k].make());
            n++;
        }
    return n;
}

static void add_op(Graphs *graphs, Op op)
{
    const OpInfo *info = &op_info[op];
    bool real_map = info->kind == MAP && (same(info->class, "REAL") || same(info->class, "NUM"));
    if (real_map) add_map(graphs, op);
    else if (info->kind == REDUCE) add_reduction(graphs, op);
    else if (op_parts[op].kernel && op_parts[op].kernel->kind == SCAN && op_parts[op].gradient) add_scan(graphs, op);
    else if (!add_built(graphs, op)) {
        bool exempt = same(info->class, "INT") || same(info->class, "CMP") || same(info->class, "LOGIC");
        for (int k = 0; k < COUNT_OF(without_gradient); k++) exempt |= without_gradient[k] == op;
        expect(exempt, "op %s has no graph here: add a builder", info->name);
    }
}

static void fill_drawn(Live *l, Rng *r)
{
    for (int k = 0; k < l->model->params; k++) {
        const Lathe_param *p = &l->model->param[k];
        for (int j = 0; j < drawn.n; j++)
            if (same(drawn.at[j].name, p->name))
                for (int64_t i = 0; i < param_elements(p); i++)
                    set_element(l->model->real, l->params, flat_place(p, i), draw(drawn.at[j].domain, r));
    }
}

int main(int argc, char **argv)
{
    Graphs graphs = {0};
    wanted = argc > 1 ? argv[1] : "";
    Rng r = rng_of(5);
    for (int op = 0; op < OPS; op++) add_op(&graphs, (Op)op);
    options.precision = "fp64";
    Live *l = load_module(compile(describe_graphs(graphs.n, graphs.at)));
    fill_drawn(l, &r);
    double worst = 0;
    for (int k = 0; k < l->model->entries; k++) {
        const char *name = l->model->entry[k].name;
        worst = fmax(worst, check_gradients(l, k, name, format("%s.", name), 6, &r));
    }
    printf("%d graphs, worst relative error %.1e\n", graphs.n, worst);
    unload(l);
    return finish();
}
