/* random_values.h: values that random graphs are made of, and how they are made to fit each other; see random_graph.h.
 */
#ifndef RANDOM_VALUES_H
#define RANDOM_VALUES_H

#include "harness.h"

#include <math.h>
#include <string.h>

enum { MOST = 300, LARGE = 1000, DEEPEST_LOOP = 3 }; /* elements of a value; bound of a value */
enum { STEPS = 64 };                                 /* that a value which is ordered may have on either side of zero */

typedef struct Thing {
    Node *n;
    double bound; /* of |value|, reals */
    bool used;
} Thing;

typedef struct Maker {
    Rng rng;
    VEC(Thing) pool; /* what can be used here; a body's own go when its loop closes */
    int parameters, inputs, sites, depth;
    bool smooth; /* the graph is to be differentiated */
    Graph *g;
} Maker;

/* ------------------------------------------------------------------ choosing */

static int rg_below(Maker *m, int n) { return (int)below(&m->rng, n); }
static bool rg_chance(Maker *m, double p) { return uniform(&m->rng) < p; }
static int64_t rg_extent(Maker *m) { return (int64_t[]){1, 2, 3, 4, 5, 3, 2, 7, 17}[rg_below(m, 9)]; }

static Shape rg_shape(Maker *m, int most_axes, int64_t most)
{
    Shape s = {.rank = rg_below(m, most_axes + 1)};
    for (int i = 0; i < s.rank; i++) s.dim[i] = rg_extent(m);
    while (elements(s) > most) s.dim[--s.rank] = 0;
    return s;
}

static Thing *rg_push(Maker *m, Node *n, double bound)
{
    if (is_real(n->dtype) && bound > LARGE) {
        n = map2(OP_mul, n, filled(4 / bound, n->dtype, n->shape));
        bound = 4;
    }
    push(&m->pool, ((Thing){n, bound, false}));
    return &m->pool.at[m->pool.n - 1];
}

static Thing rg_leaf(Maker *m)
{
    Shape s = rg_shape(m, 3, 60);
    bool parameter = rg_chance(m, m->smooth ? 0.7 : 0.4);
    char *name = parameter ? format("p%d", m->parameters++) : format("x%d", m->inputs++);
    Node *n = parameter ? parameter_node(name, F32, s) : input_node(name, F32, s);
    return *rg_push(m, n, 6);
}

/* Something of the pool of that class; late ones are likelier, so that graphs get deep. */
static Thing rg_any(Maker *m, bool (*fits)(const Node *))
{
    for (int tries = 0; tries < 40 && m->pool.n; tries++) {
        double u = uniform(&m->rng);
        Thing *t = &m->pool.at[(int)((1 - u * u) * (m->pool.n - 1) + 0.5)];
        if (!fits(t->n)) continue;
        t->used = true;
        return *t;
    }
    Thing t = rg_leaf(m);
    m->pool.at[m->pool.n - 1].used = true;
    return t;
}

static bool rg_is_real(const Node *n) { return is_real(n->dtype); }
static bool rg_is_ranked(const Node *n) { return is_real(n->dtype) && n->shape.rank > 0; }
static bool rg_is_int(const Node *n) { return n->dtype == I32; }
static bool rg_is_bool(const Node *n) { return n->dtype == BOOL; }
static Thing rg_real(Maker *m) { return rg_any(m, rg_is_real); }
static Thing rg_ranked(Maker *m)
{
    Thing t = rg_any(m, rg_is_ranked);
    if (t.n->shape.rank == 0) t.n = reshape(t.n, (Shape){.rank = 1, .dim = {1}});
    return t;
}

static Node *rg_number(double x, const Node *like) { return filled(x, like->dtype, like->shape); }

/* ------------------------------------------------------------------ fitting a value to a shape, by moves */

static Node *rg_flat_fit(Node *n, Shape s)
{
    int64_t have = elements(n->shape), want = elements(s);
    n = reshape(n, (Shape){.rank = 1, .dim = {have}});
    if (have > want) n = slice(n, (int64_t[]){(have - want) / 2}, &want, NULL);
    if (have < want) n = pad(n, (int64_t[]){(want - have) / 2}, (int64_t[]){want - have - (want - have) / 2});
    return reshape(n, s);
}

static bool rg_broadcasts(Shape a, Shape s)
{
    if (a.rank > s.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dim[i] != 1 && a.dim[i] != s.dim[s.rank - a.rank + i]) return false;
    return true;
}

static Node *rg_first(Node *n)
{
    int64_t start[MAXRANK] = {0}, one[MAXRANK];
    for (int i = 0; i < MAXRANK; i++) one[i] = 1;
    return reshape(slice(n, start, one, NULL), (Shape){0});
}

static Node *rg_fit(Maker *m, Node *n, Shape s)
{
    if (same_shape(n->shape, s)) return n;
    if (elements(n->shape) == elements(s)) return reshape(n, s);
    if (rg_broadcasts(n->shape, s)) return broadcast(n, s);
    if (rg_chance(m, 0.2)) return broadcast(rg_first(n), s);
    return rg_flat_fit(n, s);
}

static Thing rg_real_of(Maker *m, Shape s)
{
    Thing t = rg_real(m);
    for (int tries = 0; tries < 6 && !same_shape(t.n->shape, s); tries++) t = rg_real(m);
    t.n = rg_fit(m, t.n, s);
    return t;
}

static Node *rg_int_of(Maker *m, Shape s)
{
    Thing t = rg_any(m, rg_is_int);
    return rg_fit(m, t.n->dtype == I32 ? t.n : scalar(rg_below(m, 5), I32), s);
}

/* ids below n */
static Node *rg_ids(Maker *m, Shape s, int64_t n)
{
    Node *ids = rg_int_of(m, s);
    return map2(OP_mod, ids, rg_number((double)n, ids));
}

#endif
