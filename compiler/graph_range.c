/* graph_range.c: which values an i32 node can have, so that generated code wraps around where it has to, and reads
 * plainly where it need not: signed overflow has no meaning in C. */
#include "lathe.h"

typedef struct Range {
    int64_t low, high;
} Range;

static const Range anything = {INT32_MIN, INT32_MAX};

static bool fits(Range r) { return r.low >= INT32_MIN && r.high <= INT32_MAX; }

static Range both(Range a, Range b) { return (Range){min64(a.low, b.low), max64(a.high, b.high)}; }

static Range product(Range a, Range b)
{
    Range r = {a.low * b.low, a.low * b.low};
    const int64_t corner[] = {a.low * b.high, a.high * b.low, a.high * b.high};
    for (int i = 0; i < COUNT_OF(corner); i++) r = both(r, (Range){corner[i], corner[i]});
    return r;
}

static Range range_of(Table *seen, const Node *n);

/* n, as if there were integers without end. */
static Range exact(Table *seen, const Node *n)
{
    Range a = n->nin > 0 ? range_of(seen, n->in[0]) : anything, b = n->nin > 1 ? range_of(seen, n->in[1]) : anything;
    switch (n->op) {
    case OP_neg: return (Range){-a.high, -a.low};
    case OP_add: return (Range){a.low + b.low, a.high + b.high};
    case OP_sub: return (Range){a.low - b.high, a.high - b.low};
    case OP_mul: return product(a, b);
    case OP_max: return (Range){max64(a.low, b.low), max64(a.high, b.high)};
    case OP_min: return (Range){min64(a.low, b.low), min64(a.high, b.high)};
    case OP_bitand: return a.low >= 0 && b.low >= 0 ? (Range){0, min64(a.high, b.high)} : anything;
    case OP_mod: return b.low > 0 ? (Range){0, b.high - 1} : anything;
    case OP_idiv: return b.low > 0 && a.low >= 0 ? (Range){0, a.high} : anything;
    case OP_sign: return (Range){-1, 1};
    case OP_where: return both(b, range_of(seen, n->in[2]));
    case OP_cast: return n->in[0]->dtype == BOOL ? (Range){0, 1} : n->in[0]->dtype == I32 ? a : anything;
    case OP_reshape:
    case OP_permute:
    case OP_expand:
    case OP_slice:
    case OP_flip:
    case OP_gather: return a;
    case OP_pad: return both(a, (Range){0, 0});
    case OP_argmax: return (Range){0, n->in[0]->shape.dim[n->ints[0]] - 1};
    case OP_sum: return product(a, (Range){1, max64(1, elements(n->in[0]->shape) / max64(1, elements(n->shape)))});
    case OP_rmax: return a;
    case OP_cumsum: return product(a, (Range){1, n->in[0]->shape.dim[n->ints[0]]});
    default: return anything;
    }
}

static Range of_leaf(Table *seen, const Node *n)
{
    double x;
    if (is_filled(n, &x)) return (Range){(int64_t)x, (int64_t)x};
    if (n->op == OP_iota) return (Range){0, n->shape.dim[n->ints[0]] - 1};
    if (n->op == OP_loop_arg && n->ints[0] == ARG_INDEX) return (Range){0, n->loop->trip - 1};
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X) return range_of(seen, n->loop->xs.at[n->ints[1]].outer);
    return exact(seen, n);
}

static Range range_of(Table *seen, const Node *n)
{
    if (n->dtype != I32) return anything;
    Range *known = table_get(seen, n);
    if (known) return *known;
    Range r = of_leaf(seen, n);
    if (!fits(r)) r = anything;
    known = NEW(Range);
    *known = r;
    *table_at(seen, n) = known;
    return r;
}

bool may_wrap(const Node *n)
{
    Table seen = {0};
    return n->dtype == I32 && !fits(exact(&seen, n));
}
