/* gradcheck.h: small graphs whose gradients the interpreter compares with differences of the loss, before and after the
 * loop passes.  Everything is F64, so that constants are not rounded. */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE(...) shape_of(COUNT_OF(((int64_t[]){__VA_ARGS__})), (int64_t[]){__VA_ARGS__})
#define AXES(...)  COUNT_OF(((int[]){__VA_ARGS__})), ((int[]){__VA_ARGS__})
#define INTS(...)  ((int64_t[]){__VA_ARGS__})

/* ------------------------------------------------------------------ leaves */

/* Values by name, drawn when first fed.  domain as in graph/ops.def, or "<N": ids below N. */
typedef struct Leaf {
    const char *name, *domain;
    Value value;
} Leaf;
static VEC(Leaf) leaves;
static Rng dice;

static double draw(const char *domain)
{
    if (domain[0] == '<') return (double)below(&dice, atoll(domain + 1));
    if (same(domain, "POSITIVE")) return 0.5 + 1.5 * uniform(&dice);
    if (same(domain, "NONZERO")) return (uniform(&dice) < 0.5 ? -1 : 1) * (0.5 + 1.5 * uniform(&dice));
    return 0.7 * normal(&dice);
}

static Node *leaf(Node *n, const char *domain)
{
    Leaf l = {.name = n->name, .domain = domain, .value = {.shape = n->shape}};
    l.value.at = NEW_ARRAY(double, elements(n->shape));
    for (int64_t i = 0; i < elements(n->shape); i++) l.value.at[i] = draw(domain);
    push(&leaves, l);
    return n;
}

/* Each check names its leaves anew: equal names would be one tensor. */
static int check_number;
static const char *own(const char *name) { return format("%d.%s", check_number, name); }
static inline Node *param_in(const char *domain, const char *name, Shape s)
{
    return leaf(parameter_node(own(name), F64, s), domain);
}
static inline Node *param(const char *name, Shape s) { return param_in("ANY", name, s); }
static inline Node *reals(const char *name, Shape s) { return leaf(input_node(own(name), F64, s), "ANY"); }
static inline Node *ids(const char *name, Shape s, int64_t n)
{
    return leaf(input_node(own(name), I32, s), format("<%lld", (long long)n));
}

/* Leaves that were not made here come from source, once. */
static Feed source;
static void *source_user;

static Value feed(void *user, const Node *n)
{
    (void)user;
    for (int i = 0; i < leaves.n; i++)
        if (same(leaves.at[i].name, n->name)) return leaves.at[i].value;
    if (!source) die("nothing feeds %s", n->name);
    Leaf l = {.name = n->name, .value = source(source_user, n)};
    push(&leaves, l);
    return l.value;
}

/* ------------------------------------------------------------------ building */

static inline Node *add(Node *a, Node *b) { return map2(OP_add, a, b); }
static inline Node *mul(Node *a, Node *b) { return map2(OP_mul, a, b); }
static inline Node *times(double k, Node *a) { return mul(a, filled(k, a->dtype, a->shape)); }
static inline Node *tanh_of(Node *a) { return map1(OP_tanh, a); }
static inline Node *sigmoid(Node *a)
{
    Node *one = filled(1, a->dtype, a->shape);
    return map2(OP_div, one, add(one, map1(OP_exp, map1(OP_neg, a))));
}

/* a[…, k] b[k, n] */
static inline Node *matmul(Node *a, Node *b)
{
    return dot(a, b, (Dot_axes){.nc = 1, .ac = {a->shape.rank - 1}, .bc = {0}});
}

/* The number of the element in order, as a real. */
static inline Node *counting(Shape s)
{
    Node *n = filled(0, I32, s);
    for (int k = 0; k < s.rank; k++) n = add(mul(n, filled((double)s.dim[k], I32, s)), iota(s, k));
    return cast_op(n, F64);
}

/* A sum in which each element has another weight, so that a gradient in the wrong place shows. */
static inline Node *loss_of_all(Node *y)
{
    int axes[MAXRANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    Node *n = counting(y->shape), *w = add(map1(OP_sin, times(0.37, n)), filled(0.6, F64, y->shape));
    return reduce(OP_sum, mul(y, w), y->shape.rank, axes);
}

/* ------------------------------------------------------------------ checking */

static double loss_now(const Graph *plain)
{
    Value *out = NEW_ARRAY(Value, plain->outs.n);
    eval_graph(plain, feed, NULL, out);
    return out[0].at[0];
}

/* d loss / d h along direction, five points h apart. */
static double slope(const Graph *plain, Value v, const double *direction, double h)
{
    static const struct {
        double at, weight;
    } point[] = {{-2, 1}, {-1, -8}, {1, 8}, {2, -1}};
    int64_t n = elements(v.shape);
    double *home = copy_of(v.at, sizeof *v.at * (size_t)n), sum = 0;
    for (int p = 0; p < COUNT_OF(point); p++) {
        for (int64_t i = 0; i < n; i++) v.at[i] = home[i] + point[p].at * h * direction[i];
        sum += point[p].weight * loss_now(plain);
    }
    memcpy(v.at, home, sizeof *v.at * (size_t)n);
    return sum / (12 * h);
}

/* Near a kink only a smaller step is right, away from one a larger is better. */
static void check_slope(const char *what, const Graph *plain, const Node *p, const double *direction, double expected,
                        double scale)
{
    double found = 0;
    for (double h = 2e-4; h > 1e-6; h /= 10) {
        found = slope(plain, feed(NULL, p), direction, h);
        if (fabs(found - expected) < 1e-6 * scale) break;
    }
    expect(fabs(found - expected) < 1e-6 * scale, "%s: slope along %s is %.12g, gradient says %.12g", what, p->name,
           found, expected);
}

static void check_parameter(const char *what, const Graph *plain, const Node *p, Value grad, int samples)
{
    int64_t n = elements(p->shape);
    double *direction = NEW_ARRAY(double, n), expected = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        direction[i] = normal(&dice);
        size += direction[i] * direction[i];
    }
    for (int64_t i = 0; i < n; i++) expected += grad.at[i] * (direction[i] /= sqrt(size));
    double scale = norm_of(grad.at, n) + 1e-4;
    check_slope(what, plain, p, direction, expected, scale);
    for (int s = 0; s < samples && s < n; s++) {
        int64_t i = n <= samples ? s : below(&dice, n);
        memset(direction, 0, sizeof *direction * (size_t)n);
        direction[i] = 1;
        check_slope(what, plain, p, direction, grad.at[i], scale);
    }
}

static Graph copy_of_graph(const Graph *g)
{
    Graph c = *g;
    c.outs.at = copy_of(g->outs.at, sizeof *g->outs.at * (size_t)g->outs.n);
    c.outs.cap = g->outs.n;
    return c;
}

static void check_same(const char *what, const Graph *g, const Value *wanted)
{
    Value *out = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, feed, NULL, out);
    for (int i = 0; i < g->outs.n; i++) {
        int64_t n = elements(wanted[i].shape);
        bool ok = same_shape(out[i].shape, wanted[i].shape);
        expect(ok, "%s: %s has another shape", what, g->outs.at[i].name);
        if (!ok) continue;
        double off = norm_of_difference(out[i].at, wanted[i].at, n), scale = norm_of(wanted[i].at, n) + 1e-12;
        expect(off <= 1e-12 * scale, "%s: %s is off by %.3g of %.3g", what, g->outs.at[i].name, off, scale);
    }
}

static const Node *parameter_named(const Graph *g, const char *name)
{
    Nodes roots = {0}, all = {0};
    graph_roots(g, &roots);
    nodes_at(NULL, roots.at, roots.n, &all);
    for (int k = 0; k < all.n; k++)
        if (all.at[k]->op == OP_parameter && same(all.at[k]->name, name)) return all.at[k];
    return NULL; /* a gradient of zeros may be all that is left of it */
}

/* Differentiates g, and checks the gradients of all parameters, and that every loop pass leaves all values as they are.
 */
static inline void check_gradients_in(const char *what, Graph *g, int samples)
{
    Graph plain = copy_of_graph(g);
    double before = loss_now(&plain);
    pass_grad(g, describe(NULL, "test", &options));
    check_graph(g, "pass_grad");
    Value *out = NEW_ARRAY(Value, g->outs.n);
    eval_graph(g, feed, NULL, out);
    expect(fabs(out[0].at[0] - before) <= 1e-12 * fabs(before), "%s: the loss has changed", what);
    for (int i = plain.outs.n; i < g->outs.n; i++) {
        const Node *p = parameter_named(g, g->outs.at[i].name);
        if (p) check_parameter(what, &plain, p, out[i], samples);
    }
    Graph split = copy_of_graph(g), remat = copy_of_graph(g);
    pass_split(&split, describe(NULL, "test", &options));
    check_graph(&split, "pass_split");
    check_same(format("%s, split", what), &split, out);
    pass_remat(&remat, describe(NULL, "test", &options));
    check_graph(&remat, "pass_remat");
    check_same(format("%s, remade", what), &remat, out);
    pass_remat(&split, describe(NULL, "test", &options));
    check_graph(&split, "pass_remat");
    check_same(format("%s, split and remade", what), &split, out);
}

/* The same for a loss, which lies in micro's body if there is one.  Returns the graph as pass_grad left it. */
static inline Graph *check_gradients_of(const char *what, Node *loss, Loop *micro, int samples)
{
    Graph *g = graph_of(ENTRY_train);
    g->micro = micro;
    push(&g->outs, ((Output){OUT_VALUE, "loss", loss}));
    check_gradients_in(what, g, samples);
    check_number++;
    return g;
}

/* ------------------------------------------------------------------ counting */

/* Nodes of op at the level itself and in the bodies of its loops, as the graph stands. */
static inline void count_op(Loop *level, const Nodes *roots, Op op, int phase, int *here_, int *inside)
{
    Nodes all = {0};
    nodes_at(level, roots->at, roots->n, &all);
    for (int i = 0; i < all.n; i++) {
        *here_ += all.at[i]->op == op && (phase < 0 || all.at[i]->phase == phase);
        if (all.at[i]->op != OP_loop) continue;
        Nodes inner = {0};
        loop_roots(all.at[i]->loop, &inner);
        count_op(all.at[i]->loop, &inner, op, phase, inside, inside);
    }
}

static inline int count_inside(const Graph *g, Op op)
{
    int top = 0, inside = 0;
    Nodes roots = {0};
    graph_roots(g, &roots);
    count_op(NULL, &roots, op, -1, &top, &inside);
    return inside;
}

static inline int count_at_top(const Graph *g, Op op, int phase)
{
    int top = 0, inside = 0;
    Nodes roots = {0};
    graph_roots(g, &roots);
    count_op(NULL, &roots, op, phase, &top, &inside);
    return top;
}

#endif
