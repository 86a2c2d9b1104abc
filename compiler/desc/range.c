/* range.c: which values an i32 node can have, so that generated code wraps around where it has to, and reads
 * plainly where it need not: signed overflow has no meaning in C. */
#include "desc/range.h"
#include "desc/passes.h"
#include "graph/parts.h"

static const Range anything = {INT32_MIN, INT32_MAX};

static bool fits_range(Range r) { return r.low >= INT32_MIN && r.high <= INT32_MAX; }

Range range_union(Range a, Range b) { return (Range){min64(a.low, b.low), max64(a.high, b.high)}; }

Range range_product(Range a, Range b)
{
    Range r = {a.low * b.low, a.low * b.low};
    const int64_t corner[] = {a.low * b.high, a.high * b.low, a.high * b.high};
    for (int i = 0; i < COUNT_OF(corner); i++) r = range_union(r, (Range){corner[i], corner[i]});
    return r;
}

enum { DEEPEST = 256 }; /* steps that are looked through: what is farther may be anything */

/* The ranges found so far, and the description, which gives those of inputs (NULL: none). */
typedef struct Ranges {
    Table seen;
    const Desc *desc;
    int depth;
} Ranges;

static Range range_of(Ranges *seen, const Node *n);

/* Of a result of an op with a file of its own. */
static Range own_range(Ranges *seen, const Node *n, int result)
{
    Range in[2] = {anything, anything};
    for (int i = 0; i < n->nin && i < 2; i++) in[i] = range_of(seen, n->in[i]);
    return op_parts[n->op].range(n, result, in);
}

static Range of_picked(Ranges *seen, const Node *n)
{
    const Node *from = n->in[0];
    if (op_parts[from->op].range) return own_range(seen, from, (int)n->ints[0]);
    if (from->op != OP_loop || n->ints[0] != PICK_STACK) return anything;
    return range_of(seen, from->loop->ys.at[n->ints[1]]);
}

/* n, as if there were integers without end. */
static Range exact(Ranges *seen, const Node *n)
{
    if (op_parts[n->op].range) return own_range(seen, n, 0);
    Range a = n->nin > 0 ? range_of(seen, n->in[0]) : anything, b = n->nin > 1 ? range_of(seen, n->in[1]) : anything;
    switch (n->op) {
    case OP_neg: return (Range){-a.high, -a.low};
    case OP_add: return (Range){a.low + b.low, a.high + b.high};
    case OP_sub: return (Range){a.low - b.high, a.high - b.low};
    case OP_mul: return range_product(a, b);
    case OP_max: return (Range){max64(a.low, b.low), max64(a.high, b.high)};
    case OP_min: return (Range){min64(a.low, b.low), min64(a.high, b.high)};
    case OP_bitand: return a.low >= 0 && b.low >= 0 ? (Range){0, min64(a.high, b.high)} : anything;
    case OP_mod: return b.low > 0 ? (Range){0, b.high - 1} : anything;
    case OP_idiv: return b.low > 0 && a.low >= 0 ? (Range){0, a.high} : anything;
    case OP_sign: return (Range){-1, 1};
    case OP_where: return range_union(b, range_of(seen, n->in[2]));
    case OP_class_id: return range_union((Range){0, b.high - 1}, range_of(seen, n->in[2]));
    case OP_cast: return n->in[0]->dtype == BOOL ? (Range){0, 1} : n->in[0]->dtype == I32 ? a : anything;
    case OP_sum:
        return range_product(a, (Range){1, max64(1, elements(n->in[0]->shape) / max64(1, elements(n->shape)))});
    case OP_rmax:
    case OP_rmin: return a;
    case OP_pick: return of_picked(seen, n);
    default: return anything;
    }
}

static Range of_array(const Node *n)
{
    Range r = {(int64_t)n->data[0], (int64_t)n->data[0]};
    for (int64_t i = 1; i < elements(n->shape); i++)
        r = range_union(r, (Range){(int64_t)n->data[i], (int64_t)n->data[i]});
    return r;
}

/* As class_count() of the runtime; 0: the trainer does not know. */
static int64_t class_extent(const Desc *d)
{
    for (int i = 0; i < d->graphs.n && !d->vocab; i++)
        for (int k = 0; k < d->graphs.at[i]->outs.n; k++) {
            const Output *o = &d->graphs.at[i]->outs.at[k];
            Shape s = o->node->shape;
            if (o->kind == OUT_VALUE && same(o->name, "logits") && s.rank > 0) return s.dim[s.rank - 1];
        }
    return d->vocab;
}

static Range of_targets(const Desc *d)
{
    int64_t classes = class_extent(d);
    Range r = {lathe_ignores(&d->recipe) ? -1 : 0, classes - 1};
    if (!classes) return anything;
    return d->recipe.ignored ? range_union(r, (Range){d->recipe.ignored, d->recipe.ignored}) : r;
}

bool is_label_of_words(const Desc *d, const char *name) { return d->recipe.sentences && same(name, "labels"); }

/* As the trainer fills it, and checks what it fills it with.  Tokens of `sample` may be -1. */
static Range of_input(const Desc *d, const Node *n)
{
    Lathe_role role = LATHE_FEATURES;
    int64_t below = 0;
    for (int i = 0; i < d->inputs.n; i++)
        if (same(d->inputs.at[i].name, n->name)) role = d->inputs.at[i].role, below = d->inputs.at[i].below;
    if (is_real(n->dtype)) return anything;
    if (below) return (Range){is_label_of_words(d, n->name) ? NO_LABEL : 0, below - 1};
    bool sampled = entry_graph(d, ENTRY_sample);
    switch (role) {
    case LATHE_TOKENS: return d->vocab ? (Range){sampled ? -1 : 0, d->vocab - 1} : anything;
    case LATHE_SOURCE: return d->vocab ? (Range){0, d->vocab - 1} : anything;
    case LATHE_TARGETS: return d->recipe.arrays ? anything : of_targets(d);
    case LATHE_POSITION:
    case LATHE_POSITIONS: return d->seq ? (Range){0, d->seq - 1} : anything;
    case LATHE_LENGTHS: return d->seq ? (Range){0, d->seq} : anything;
    case LATHE_SOURCE_LENGTHS: return d->source_seq ? (Range){0, d->source_seq} : anything;
    case LATHE_BEGINS: return (Range){0, 1};
    default: return anything;
    }
}

Range range_of_input(const Desc *d, const Node *n) { return of_input(d, n); }

static Range of_leaf(Ranges *seen, const Node *n)
{
    double x;
    if (is_filled(n, &x)) return (Range){(int64_t)x, (int64_t)x};
    if (n->op == OP_constant && n->data) return of_array(n);
    if (n->op == OP_input && seen->desc) return of_input(seen->desc, n);
    if (n->op == OP_iota) return (Range){0, n->shape.dim[n->ints[0]] - 1};
    if (n->op == OP_loop_arg && n->ints[0] == ARG_INDEX) return (Range){0, n->loop->trip - 1};
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return range_of(seen, n->loop->xs.at[n->ints[1]].outer);
    return exact(seen, n);
}

static Range range_of(Ranges *seen, const Node *n)
{
    if (n->dtype != I32 || seen->depth == DEEPEST) return anything;
    Range *known = table_get(&seen->seen, n);
    if (known) return *known;
    seen->depth++;
    Range r = of_leaf(seen, n);
    seen->depth--;
    if (!fits_range(r)) r = anything;
    known = NEW(Range);
    *known = r;
    *table_at(&seen->seen, n) = known;
    return r;
}

bool may_wrap(const Node *n)
{
    Ranges seen = {0};
    return n->dtype == I32 && !fits_range(exact(&seen, n));
}

int64_t largest_integer(const Node *n, const Desc *d)
{
    Ranges seen = {.desc = d};
    Range r = range_of(&seen, n);
    if (n->dtype != I32 || r.low == anything.low || r.high == anything.high) return 0;
    return max64(r.high, -r.low);
}

bool ids_below(const Node *ids, int64_t n, const Desc *d)
{
    Ranges seen = {.desc = d};
    Range r = range_of(&seen, ids);
    return r.low >= 0 && r.high < n;
}

bool classes_below(const Node *ids, int64_t n, int64_t ignored, const Desc *d)
{
    Ranges seen = {.desc = d};
    Range r = range_of(&seen, ids);
    return r.low >= (ignored == -1 ? -1 : 0) && r.high < n;
}
