/* gelu.c: gelu in its tanh form, and its derivative, as ends of products, where the target's products have such
 * (Target.ends).
 *
 * Found by what is computed: additions, multiplications and one tanh over a value x, and for the derivative a factor g,
 * are multiplied out to a polynomial in x, g and tanh(p(x)), and compared with those of
 *
 *     gelu(x) = x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))        Hendrycks and Gimpel, arXiv 1606.08415
 *
 * and of g · gelu'(x), whatever order they are written in.  The constants are those of the library's epilogues, too.
 *
 * A gelu becomes an end where it is a kernel for a dot alone: of what was this dot, which others may read, another one
 * is made that ends in gelu; the two become one product (pair_gelus).  A derivative becomes one where a dot is its g
 * and nothing else, and where it is an end of its kernel: rounded, summed over rows, read elsewhere. */
#include "desc/target.h"
#include "lower/lower.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ polynomials */

enum { MOST_TERMS = 24, MOST_STEPS = 400 };

typedef struct Term { /* by · x^x · g^g · tanh^t */
    double by;
    int x, g, t;
} Term;

typedef struct Poly {
    int n;
    Term at[MOST_TERMS];
} Poly;

static bool add_monomial(Poly *p, Term term)
{
    for (int i = 0; i < p->n; i++) {
        Term *at = &p->at[i];
        if (at->x != term.x || at->g != term.g || at->t != term.t) continue;
        at->by += term.by;
        return true;
    }
    if (p->n == MOST_TERMS) return false;
    p->at[p->n++] = term;
    return true;
}

/* p + by · q */
static bool add_poly(Poly *p, const Poly *q, double by)
{
    bool fits = true;
    for (int i = 0; i < q->n; i++)
        fits &= add_monomial(p, (Term){by * q->at[i].by, q->at[i].x, q->at[i].g, q->at[i].t});
    return fits;
}

static bool product_of(Poly *out, const Poly *p, const Poly *q)
{
    bool fits = true;
    *out = (Poly){0};
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < q->n; k++) {
            Term a = p->at[i], b = q->at[k];
            fits &= add_monomial(out, (Term){a.by * b.by, a.x + b.x, a.g + b.g, a.t + b.t});
        }
    return fits;
}

/* Coefficients may be a rounding of fp32 apart: constants are written with as many digits as somebody liked. */
static bool equal(const Poly *p, const Poly *q)
{
    Poly apart = *p;
    if (!add_poly(&apart, q, -1)) return false;
    for (int i = 0; i < apart.n; i++)
        if (!(fabs(apart.at[i].by) < 6e-8)) return false;
    return true;
}

/* ------------------------------------------------------------------ the two forms */

static const Poly inside = {2, {{0.7978845608028654, 1, 0, 0}, {0.7978845608028654 * 0.044715, 3, 0, 0}}};
static const Poly gelu = {2, {{0.5, 1, 0, 0}, {0.5, 1, 0, 1}}};

/* d/dx of p, whose tanh is of `inside`. */
static Poly derivative(const Poly *p)
{
    Poly d = {0}, slope = {0};
    for (int i = 0; i < inside.n; i++)
        add_monomial(&slope, (Term){inside.at[i].by * inside.at[i].x, inside.at[i].x - 1, 0, 0});
    for (int i = 0; i < p->n; i++) {
        Term a = p->at[i];
        if (a.x) add_monomial(&d, (Term){a.by * a.x, a.x - 1, a.g, a.t});
        for (int k = 0; a.t && k < slope.n; k++) { /* tanh' = 1 - tanh² */
            Term s = slope.at[k];
            add_monomial(&d, (Term){a.by * a.t * s.by, a.x + s.x, a.g, a.t - 1});
            add_monomial(&d, (Term){-a.by * a.t * s.by, a.x + s.x, a.g, a.t + 1});
        }
    }
    return d;
}

static Poly gelu_back(void)
{
    Poly g = {1, {{1, 0, 1, 0}}}, slope = derivative(&gelu), back;
    must(product_of(&back, &g, &slope));
    return back;
}

/* ------------------------------------------------------------------ of nodes */

/* The 16-bit value that n widens, or n itself. */
static Node *beneath_cast(const Node *n)
{
    return n->op == OP_cast && is_stored(n->in[0]->dtype) ? n->in[0] : (Node *)n;
}

typedef struct Reach {
    const Node *x, *g; /* x NULL: the first that is met */
    bool finds_x;
    Node *seen[MOST_STEPS];
    int nseen;
} Reach;

static bool is_variable(Reach *r, const Node *n, Poly *out)
{
    const Node *under = beneath_cast(n);
    bool x = r->x && under == beneath_cast(r->x), g = r->g && under == beneath_cast(r->g);
    *out = (Poly){1, {{1, x, g, 0}}};
    return x || g;
}

static bool is_step(const Node *n)
{
    return n->op == OP_neg || n->op == OP_add || n->op == OP_sub || n->op == OP_mul || n->op == OP_div ||
           n->op == OP_tanh;
}

static bool poly_of(Reach *r, Node *n, Poly *out);

static bool poly_of_map(Reach *r, const Node *n, Poly *out)
{
    Poly a, b;
    if (n->nin > 2 || !poly_of(r, n->in[0], &a) || (n->nin > 1 && !poly_of(r, n->in[1], &b))) return false;
    bool number = n->nin > 1 && b.n == 1 && b.at[0].x + b.at[0].g + b.at[0].t == 0 && b.at[0].by != 0;
    *out = (Poly){0};
    switch (n->op) {
    case OP_neg: return add_poly(out, &a, -1);
    case OP_add: return add_poly(out, &a, 1) && add_poly(out, &b, 1);
    case OP_sub: return add_poly(out, &a, 1) && add_poly(out, &b, -1);
    case OP_mul: return product_of(out, &a, &b);
    case OP_div: return number && add_poly(out, &a, 1 / b.at[0].by);
    case OP_tanh: return equal(&a, &inside) && add_monomial(out, (Term){1, 0, 0, 1});
    default: return false;
    }
}

static bool poly_of(Reach *r, Node *n, Poly *out)
{
    double value;
    *out = (Poly){0};
    if (r->nseen == MOST_STEPS) return false;
    r->seen[r->nseen++] = n;
    if (is_filled(n, &value)) return add_monomial(out, (Term){value, 0, 0, 0});
    if (is_variable(r, n, out)) return true;
    if (is_step(n)) return poly_of_map(r, n, out);
    if (!r->finds_x || r->x) return false;
    r->x = n;
    return is_variable(r, n, out);
}

static bool is_form(Node *n, const Poly *form, Reach *r)
{
    Poly p;
    bool ends_so = n->op == OP_mul || n->op == OP_add || n->op == OP_sub || n->op == OP_div;
    r->nseen = 0;
    return ends_so && is_real(n->dtype) && poly_of(r, n, &p) && equal(&p, form);
}

static bool has_seen(const Reach *r, const Node *n)
{
    for (int i = 0; i < r->nseen; i++)
        if (r->seen[i] == n) return true;
    return false;
}

/* ------------------------------------------------------------------ gelu of a dot */

static bool is_rounding(const Node *n, const Node *dot, const Node *value)
{
    return n->op == OP_cast && is_stored(dot->dtype) && n->dtype == dot->dtype && n->in[0] == value;
}

/* Its kernel makes the gelu of x, rounded perhaps, and nothing else.  x is what a dot gave, widened, or with a row. */
static bool is_lone(const Group *g, const Node *y, const Reach *r)
{
    for (int i = 0; g && i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        bool beneath_x = n == r->x->in[0] || (r->x->nin > 1 && n == r->x->in[1]);
        bool rounded = n->op == OP_cast && is_stored(n->dtype) && n->in[0] == y;
        if (!has_seen(r, n) && !rounded && !beneath_x) return false;
    }
    return g;
}

static bool makes_gelus(const Desc *d) { return d->options->target->ends & ENDS_GELU && !without(d, PASS_gelu); }

bool makes_gelu(Cut *cut, const Node *x)
{
    const Group *g = info(cut, x)->group;
    if (!makes_gelus(cut->desc)) return false;
    for (int i = 0; g && i < g->nodes.n; i++) {
        Reach r = {.x = x};
        if (is_form(g->nodes.at[i], &gelu, &r)) return is_lone(g, g->nodes.at[i], &r);
    }
    return false;
}

/* What replaces an old node: the dot with another end, or, if the dot is stored in 16 bits, its widened value. */
typedef struct Ended {
    Node *dot, *aux;
    Product_end end;
    bool widened;
} Ended;

static void note_ended(Table *made, const Node *old, Ended e)
{
    Ended *kept = NEW(Ended);
    *kept = e;
    *table_at(made, old) = kept;
}

/* The dot in the type that expressions compute with: the dot itself, or the only cast that widens it. */
static Node *as_real(Cut *cut, Node *dot)
{
    Node *wide = NULL;
    if (!is_stored(dot->dtype)) return dot;
    for (int i = 0; i < readers(cut, dot)->nodes.n; i++) {
        Node *n = readers(cut, dot)->nodes.at[i];
        if (n->op != OP_cast) continue;
        if (wide) return NULL;
        wide = n;
    }
    return wide;
}

static bool only_nodes_read(Cut *cut, const Node *n)
{
    const Readers *r = readers(cut, n);
    return !r->else_too && !r->xs.n && !r->ys.n;
}

typedef struct Turn {
    int order;
    Node *node;
} Turn;

static int by_order(const void *a, const void *b) { return ((const Turn *)a)->order - ((const Turn *)b)->order; }

static void sort_by_order(Cut *cut, Nodes *all)
{
    Turn *turns = NEW_ARRAY(Turn, all->n);
    for (int i = 0; i < all->n; i++) turns[i] = (Turn){info(cut, all->at[i])->order, all->at[i]};
    qsort(turns, (size_t)all->n, sizeof *turns, by_order);
    for (int i = 0; i < all->n; i++) all->at[i] = turns[i].node;
}

/* Nodes that may end an expression of x: they read x within a few steps. They are in the level's order. */
static Nodes ends_of(Cut *cut, const Level *level, Node *x)
{
    enum { DEEPEST = 16 };
    Nodes all = {0};
    Table seen = {0};
    Node *under = beneath_cast(x);
    push(&all, under);
    *table_at(&seen, under) = under;
    for (int from = 0, depth = 0; depth < DEEPEST && from < all.n; depth++) {
        for (int end = all.n; from < end; from++) {
            const Nodes *by = &readers(cut, all.at[from])->nodes;
            for (int k = 0; k < by->n; k++) {
                void **slot = table_at(&seen, by->at[k]);
                bool wide = by->at[k]->op == OP_cast && all.at[from] == under;
                if (*slot || by->at[k]->in_loop != level->loop || !(is_step(by->at[k]) || wide)) continue;
                *slot = by->at[k];
                push(&all, by->at[k]);
            }
        }
    }
    sort_by_order(cut, &all);
    return all;
}

static bool find_gelu(Cut *cut, const Level *level, Table *made, Node *dot, Node *x)
{
    Nodes ends = ends_of(cut, level, x);
    for (int i = 0; i < ends.n; i++) {
        Node *y = ends.at[i];
        Reach r = {.x = x};
        if (!same_shape(y->shape, dot->shape) || !is_form(y, &gelu, &r) || !is_lone(info(cut, y)->group, y, &r))
            continue;
        const Readers *of = readers(cut, y);
        bool rounded = of->nodes.n == 1 && is_rounding(of->nodes.at[0], dot, y) && only_nodes_read(cut, y);
        if (is_stored(dot->dtype) && !rounded) continue;
        note_ended(made, is_stored(dot->dtype) ? of->nodes.at[0] : y, (Ended){.dot = dot, .end = END_GELU});
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------ its derivative */

/* Nothing but the expression looks at the dot. */
static bool is_factor_alone(Cut *cut, Node *dot, Node *g, const Reach *r)
{
    if (!only_nodes_read(cut, dot) || !only_nodes_read(cut, g) || (g != dot && readers(cut, dot)->nodes.n > 1))
        return false;
    for (int i = 0; i < readers(cut, g)->nodes.n; i++)
        if (!has_seen(r, readers(cut, g)->nodes.at[i])) return false;
    return true;
}

/* In the kernel of y, only its rounding and its sums over rows read what shows y. */
static bool is_end_of_kernel(Cut *cut, const Node *y, const Node *shows, const Node *dot)
{
    const Group *g = info(cut, y)->group;
    if (!g || (is_stored(dot->dtype) && !only_nodes_read(cut, shows))) return false;
    for (int i = 0; i < readers(cut, shows)->nodes.n; i++) {
        const Node *n = readers(cut, shows)->nodes.at[i];
        bool elsewhere = !is_stored(dot->dtype) && info(cut, n)->group != g, sum = n->op == OP_sum && n->ints[0] == 0;
        if (is_view(n) ? !is_end_of_kernel(cut, y, n, dot) : !elsewhere && !sum && !is_rounding(n, dot, y))
            return false;
    }
    return true;
}

/* In memory, the matrix aux has the dot's type, and its rows are contiguous. */
static bool may_be_aux(Cut *cut, Node *aux, const Node *dot)
{
    View v = reading(cut, aux).view, over;
    int64_t columns = dot_columns(dot);
    Shape s = {.rank = 2, .dim = {elements(dot->shape) / columns, columns}};
    return aux->dtype == dot->dtype && has_address(cut, aux) && !info(cut, aux)->group && !v.guarded &&
           view_reshape(&v, s, &over) && over.stride[1] == 1 && over.stride[0] >= columns;
}

static bool find_back(Cut *cut, const Level *level, Table *made, Node *dot, Node *g, const Poly *form)
{
    Nodes ends = ends_of(cut, level, g);
    for (int i = 0; i < ends.n; i++) {
        Node *y = ends.at[i];
        Reach r = {.g = g, .finds_x = true};
        if (!same_shape(y->shape, dot->shape) || !is_form(y, form, &r) || !is_factor_alone(cut, dot, g, &r)) continue;
        Node *aux = beneath_cast(r.x);
        if (!is_end_of_kernel(cut, y, y, dot) || !may_be_aux(cut, aux, dot)) continue;
        bool stored = is_stored(dot->dtype);
        note_ended(made, y, (Ended){.dot = dot, .end = END_GELU_BACK, .aux = aux, .widened = stored});
        for (int k = 0; stored && k < readers(cut, y)->nodes.n; k++)
            if (is_rounding(readers(cut, y)->nodes.at[k], dot, y))
                note_ended(made, readers(cut, y)->nodes.at[k], (Ended){.dot = dot, .end = END_GELU_BACK, .aux = aux});
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------ making them */

static void find_gelus(Cut *cut, const Level *level, Table *made, int *found)
{
    Poly back = gelu_back();
    for (int i = 0; i < level->nodes.n; i++) {
        Node *dot = level->nodes.at[i], *x = dot->op == OP_dot && is_plain(cut, dot) ? as_real(cut, dot) : NULL;
        if (!x || !can_be_added(dot)) continue;
        *found += find_gelu(cut, level, made, dot, x) ||
                  (dot_end(dot) == END_NONE && find_back(cut, level, made, dot, x, &back));
    }
    for (int i = 0; i < level->inside.n; i++) find_gelus(cut, level->inside.at[i], made, found);
}

static void needs_with_end(Rewrite *r, const Node *old, Nodes *out)
{
    const Ended *e = table_get(r->user, old);
    for (int i = 0; e && i < e->dot->nin; i++) push(out, e->dot->in[i]);
    if (e && e->aux) push(out, e->aux);
}

static Node *with_end(Rewrite *r, Node *old)
{
    const Ended *e = table_get(r->user, old);
    if (!e) return NULL;
    Node *in[3];
    int n = 0;
    for (; n < e->dot->nin; n++) in[n] = rewritten(r, e->dot->in[n]);
    if (e->aux) in[n++] = rewritten(r, e->aux);
    Node *dot = ended_dot(e->dot, n, in, e->end);
    Making was = make_in_phase(old->phase);
    if (e->widened) dot = cast_op(dot, old->dtype);
    make_with(was);
    return dot;
}

void pass_gelu(Graph *g, const Desc *d)
{
    Table made = {0};
    int found = 0;
    if (without(d, PASS_fuse) || !makes_gelus(d)) return;
    Cut *c = trial_cut(g, d);
    note_readers(c);
    find_gelus(c, c->top, &made, &found);
    if (found) rewrite_graph(&(Rewrite){.needs = needs_with_end, .before = with_end, .user = &made}, g);
    drop_cut(c);
}
