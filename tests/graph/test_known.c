/* test_known.c: gathers by ids that are known while compiling: those that walk along cut, turned, flipped, repeated
 * axes become views of the same value, with the same gradient; rotations a few of them; what is no such list stays a
 * gather. */
#include "harness.h"

#include <string.h>

static Value given; /* of the input */

static Value feed(void *user, const Node *leaf)
{
    (void)user;
    must(leaf->op == OP_input && same_shape(leaf->shape, given.shape));
    return given;
}

static Graph *graph_with(Node *n)
{
    Graph *g = NEW(Graph);
    g->name = "known";
    push(&g->outs, ((Output){OUT_VALUE, "y", n}));
    return g;
}

static int gathers(const Graph *g)
{
    Nodes all = {0};
    int n = 0;
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++) n += all.at[i]->op == OP_gather;
    return n;
}

static Node *table(int64_t n, const double *v, Shape s)
{
    Node *flat = intern((Node){.op = OP_constant, .dtype = I32, .shape = {1, {n}}, .data = v});
    return s.rank == 1 ? flat : reshape(flat, s);
}

/* y[a][i][b] = x[a][ids[i]][b], by plain loops; returns the gathers that are left. */
static int try(const char *what, int64_t before, int64_t extent, int64_t after, Shape ids, const double *v)
{
    int64_t n = elements(ids);
    Shape s = {.rank = 3, .dim = {before, extent, after}};
    Node *y = gather(input_node("x", F32, s), table(n, v, ids), 1, 0);
    Graph *g = graph_with(y);
    given = (Value){s, NEW_ARRAY(double, elements(s))};
    for (int64_t i = 0; i < elements(s); i++) given.at[i] = (double)i;
    pass_known(g, describe(NULL, "test", &options));
    check_graph(g, "known");
    Value got;
    eval_graph(g, feed, NULL, &got);
    bool ok = same_shape(got.shape, y->shape);
    for (int64_t a = 0; ok && a < before; a++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t b = 0; b < after; b++)
                ok = ok && got.at[(a * n + i) * after + b] == given.at[(a * extent + (int64_t)v[i]) * after + b];
    expect(ok, "%s: another value", what);
    return gathers(g);
}

/* A tensor of random extents, its elements numbered, seen in a random way: the ids.  Returns their number. */
static int64_t draw_view(Rng *r, double **v, int64_t *extent, Shape *shape)
{
    int64_t dim[4], stride[4], step[4], n = 1;
    int rank = (int)(1 + below(r, 4));
    for (int k = 0; k < rank; k++) dim[k] = 1 + below(r, 6);
    *extent = 1;
    for (int k = rank - 1; k >= 0; *extent *= dim[k--]) stride[k] = *extent;
    int64_t base = 0, taken[4];
    for (int k = 0; k < rank; k++) { /* a slice of it, perhaps backwards, or one element again and again */
        int64_t first = below(r, 2) * below(r, dim[k]), by = 1 + below(r, 3) / 2;
        step[k] = stride[k] * by;
        taken[k] = (dim[k] - 1 - first) / by + 1;
        if (below(r, 2)) taken[k] = 1 + below(r, taken[k]);
        base += first * stride[k];
        if (below(r, 3) == 0) base += (taken[k] - 1) * step[k], step[k] = -step[k];
        if (below(r, 8) == 0) step[k] = 0;
    }
    for (int k = rank - 1; k > 0; k--) {
        int other = (int)below(r, k + 1);
        int64_t t = taken[k], s = step[k];
        taken[k] = taken[other], taken[other] = t;
        step[k] = step[other], step[other] = s;
    }
    for (int k = 0; k < rank; k++) n *= taken[k];
    *v = NEW_ARRAY(double, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = base, at = i;
        for (int k = rank - 1; k >= 0; at /= taken[k--]) id += step[k] * (at % taken[k]);
        (*v)[i] = (double)id;
    }
    *shape = below(r, 2) ? shape_of(rank, taken) : shape_of(1, &n);
    return n;
}

static void random_views(void)
{
    Rng r = rng_of(11);
    int64_t long_ones = 0;
    for (int i = 0; i < 2000; i++) {
        double *v;
        int64_t extent;
        Shape ids;
        long_ones += draw_view(&r, &v, &extent, &ids) > 8;
        expect(try(format("view %d", i), 1 + below(&r, 3), extent, 1 + below(&r, 3), ids, v) == 0,
               "view %d: ids %s of %lld stay a gather", i, shape_text(ids), (long long)extent);
    }
    expect(long_ones > 500, "too few views of some size");
}

static void rotations(void)
{
    for (int64_t n = 2; n < 40; n++)
        for (int64_t by = 1; by < n; by += 1 + n / 5) {
            double line[40], grid[40 * 5];
            for (int64_t i = 0; i < n; i++) line[i] = (double)((i + by) % n);
            for (int64_t i = 0; i < 5 * n; i++) grid[i] = (double)(i / n * n) + line[i % n];
            expect(try("a rotation", 2, n, 3, shape_of(1, &n), line) == 0, "a rotation of %lld stays", (long long)n);
            expect(try("rotated rows", 1, 5 * n, 2, shape_of(2, (int64_t[]){5, n}), grid) == 0, "rows of %lld stay",
                   (long long)n);
        }
}

static void tables(void)
{
    Rng r = rng_of(12);
    for (int i = 0; i < 50; i++) {
        int64_t n = 24;
        double v[24];
        for (int k = 0; k < n; k++) v[k] = k;
        for (int64_t k = n - 1; k > 0; k--) {
            int64_t other = below(&r, k + 1);
            double t = v[k];
            v[k] = v[other], v[other] = t;
        }
        expect(try("a shuffle", 2, n, 2, shape_of(1, &n), v) == 1, "a shuffle became views");
    }
}

/* The gradient of what has become views is that of the gather. */
static void gradients(void)
{
    Rng r = rng_of(13);
    for (int i = 0; i < 200; i++) {
        double *v;
        int64_t extent, n;
        Shape ids, loss = {0};
        n = draw_view(&r, &v, &extent, &ids);
        Node *x = parameter_node("w", F32, (Shape){.rank = 1, .dim = {extent}}),
             *y = reshape(gather(x, table(n, v, ids), 0, 0), (Shape){.rank = 1, .dim = {n}});
        Node *weight = cast_op(iota((Shape){.rank = 1, .dim = {n}}, 0), F32);
        Graph *g = graph_with(reduce(OP_sum, map2(OP_mul, y, weight), 1, (int[]){0}));
        must(same_shape(g->outs.at[0].node->shape, loss));
        g->wants_grads = true;
        Desc *d = describe_graphs(1, &g);
        pass_known(g, d);
        pass_grad(g, d);
        must(g->outs.n == 2 && gathers(g) == 0);
        double *want = NEW_ARRAY(double, extent);
        for (int64_t k = 0; k < n; k++) want[(int64_t)v[k]] += (double)k;
        Graph *gradient = graph_with(g->outs.at[1].node);
        Value got;
        eval_graph(gradient, feed, NULL, &got);
        expect(memcmp(got.at, want, sizeof *want * (size_t)extent) == 0, "view %d: another gradient", i);
    }
}

int main(void)
{
    random_views();
    rotations();
    tables();
    gradients();
    return finish();
}
