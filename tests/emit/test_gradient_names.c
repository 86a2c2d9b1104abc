/* test_gradient_names.c: what is called d_x is the gradient of x: differences of the loss, x moved a little, say so.  The
 * interpreter computes both; of the compiler nothing but the front end and differentiation is asked. */
#include "harness.h"

#include <math.h>

static const char *const file = "tests/emit/named.lua";
enum { LEAST_CHECKED = 40 };

static Rng dice;
static double moved_by; /* times the input "push", which is added to the node at hand */
static Node *moved_node;

typedef VEC(struct Fed {
    const char *name;
    Value value;
}) Fed;
static Fed fed;

static double draw(const Node *n, const Desc *d)
{
    if (n->dtype == I32) return (double)below(&dice, d->vocab);
    return 0.5 * normal(&dice) + (n->op == OP_parameter && own_part_of(n->name)[0] == 'w' && n->shape.rank == 1);
}

static Value feed(void *user, const Node *n)
{
    if (same(n->name, "by")) return (Value){n->shape, &moved_by};
    for (int i = 0; i < fed.n; i++)
        if (same(fed.at[i].name, n->name) && same_shape(fed.at[i].value.shape, n->shape)) return fed.at[i].value;
    Value v = {n->shape, NEW_ARRAY(double, elements(n->shape))};
    for (int64_t i = 0; i < elements(n->shape); i++) v.at[i] = draw(n, user);
    push(&fed, ((struct Fed){n->name, v}));
    return v;
}

static Value value_of(Node *n, const Desc *d)
{
    Graph g = {.name = "value"};
    Value out;
    push(&g.outs, ((Output){OUT_VALUE, "value", n}));
    eval_graph(&g, feed, (void *)d, &out);
    return out;
}

static Node *push_of(const Node *n) { return input_node("push", n->dtype, n->shape); }

static Node *moved(Rewrite *r, Node *old, Node *const *in)
{
    (void)r;
    if (old != moved_node) return NULL;
    Node *by = broadcast(input_node("by", old->dtype, (Shape){0}), old->shape);
    return map2(OP_add, remade(old, in), map2(OP_mul, by, push_of(old)));
}

/* How fast the loss grows where x goes along `push`. */
static double slope(Node *loss, Node *x, const Desc *d)
{
    const double step = 1e-4;
    double at[2];
    moved_node = x;
    Rewrite r = {.node = moved};
    Node *of_moved = rewritten(&r, loss);
    for (int i = 0; i < 2; i++) {
        moved_by = i ? step : -step;
        at[i] = value_of(of_moved, d).at[0];
    }
    return (at[1] - at[0]) / (2 * step);
}

static bool is_called_like(const Node *x, const Node *g)
{
    return !x->gradient && !x->phase && x->title && x->op != OP_loop_arg && is_real(x->dtype) &&
           same(x->title, g->title) && same(x->layer, g->layer) && same_shape(x->shape, g->shape);
}

/* Of several values that have that name it is one's. */
static bool is_gradient_of_its_title(Node *loss, const Nodes *forward, Node *g, const Desc *d, bool *any)
{
    Value have = value_of(g, d);
    for (int i = 0; i < forward->n; i++) {
        Node *x = forward->at[i];
        if (!is_called_like(x, g)) continue;
        *any = true;
        Value push = feed((void *)d, push_of(x));
        double along = 0, want = slope(loss, x, d);
        for (int64_t k = 0; k < elements(g->shape); k++) along += have.at[k] * push.at[k];
        if (fabs(along - want) < 1e-5 * fmax(1, fabs(want))) return true;
    }
    return false;
}

static const Graph *entry(const Desc *d, const char *name)
{
    for (int i = 0; i < d->graphs.n; i++)
        if (same(d->graphs.at[i]->name, name)) return d->graphs.at[i];
    die("no entry %s", name);
}

int main(void)
{
    Options o = {.model_file = file, .target = &target_cpu};
    Desc *d = front(&o);
    Graph *g = (Graph *)entry(d, "grad");
    Nodes forward = {0}, all = {0};
    dice = rng_of(5);
    all_nodes(g, &forward);
    Node *loss = g->outs.at[0].node;
    pass_grad(g, d);
    all_nodes(g, &all);
    int checked = 0;
    for (int i = 0; i < all.n; i++) {
        Node *n = all.at[i];
        bool any = false;
        if (!n->gradient || !n->title) continue;
        bool right = is_gradient_of_its_title(loss, &forward, n, d, &any);
        expect(right || !any, "%s: node %d is called the gradient of %s (%s), and is not", file, n->id, n->title, n->layer);
        checked += any;
    }
    printf("note: %d gradients compared\n", checked);
    expect(checked >= LEAST_CHECKED, "%d gradients have the name of a value, fewer than %d", checked, LEAST_CHECKED);
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind == OUT_GRAD && !g->outs.at[i].node->known)
            expect(g->outs.at[i].node->gradient, "what comes out as the gradient of %s has no such name", g->outs.at[i].name);
    return finish();
}
