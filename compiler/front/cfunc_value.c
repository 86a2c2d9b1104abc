/* cfunc_value.c: arithmetic on the values of a C function while it is traced: constants are computed, the rest becomes
 * the same nodes as with Lua's operators.
 *
 * Both sides of a branch are computed for every element, and one is selected.  The other side gets a gradient of zero,
 * but zero times an infinite slope, such as that of a square root at 0, is NaN.  So the argument of a function whose
 * slope may be infinite is replaced by a harmless constant for elements that do not reach this code (`guarded` below),
 * and the gradient of that choice is zero.  Products that overflow on the other side are not guarded. */
#include "front/cfunc.h"
#include "graph/eval.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ constants and tensors */

C_valuep c_number(C_kind k, double number) { return copy_of(&(C_value){.kind = k, .number = number}, sizeof(C_value)); }
C_valuep c_tensor(C_kind k, Node *n) { return copy_of(&(C_value){.kind = k, .node = n}, sizeof(C_value)); }

static DType dtype_of(C_kind k) { return k == C_REAL ? F32 : k == C_INT ? I32 : BOOL; }

bool c_known(C_valuep v, bool *truth)
{
    *truth = !v->node && v->number != 0;
    return !v->node;
}

static bool always(C_valuep v) { return !v->node && v->number != 0; }
static bool never(C_valuep v) { return !v->node && v->number == 0; }

Node *c_node(C_valuep v, DType t) { return v->node ? cast_op(v->node, t) : scalar(v->number, t); }

static _Noreturn void fail(C_here *h, const char *what) { c_error(h->text, h->at, "%s", what); }

static C_valuep checked(C_here *h, C_kind k, double x)
{
    if (isnan(x)) fail(h, "this constant is not a number (0 / 0, the logarithm of a negative number, …)");
    if (fabs(x) > FLT_MAX) fail(h, "this constant is infinite or too large for a float");
    return c_number(k, x);
}

/* ------------------------------------------------------------------ operations */

static Shape joined(Shape a, Shape b) /* they fit */
{
    Shape s = a.rank >= b.rank ? a : b, t = a.rank >= b.rank ? b : a;
    for (int i = 1; i <= t.rank; i++) s.dim[s.rank - i] = max64(s.dim[s.rank - i], t.dim[t.rank - i]);
    return s;
}

static Shape shape_of_all(int n, Node *const *in)
{
    Shape s = {0};
    for (int i = 0; i < n; i++) s = joined(s, in[i]->shape);
    return s;
}

/* Applies op to values converted to dtype t. */
static C_valuep apply_operator(C_here *h, Op op, DType t, C_kind result, int n, C_valuep const *v)
{
    double x[3] = {0};
    Node *in[3];
    bool known = true;
    for (int i = 0; i < n; i++) {
        known = known && !v[i]->node;
        x[i] = v[i]->number;
    }
    if (known) return checked(h, result, eval_element(op, t, result == C_REAL ? t : dtype_of(result), x));
    for (int i = 0; i < n; i++) in[i] = c_node(v[i], t);
    Shape s = shape_of_all(n, in);
    for (int i = 0; i < n; i++) in[i] = broadcast(in[i], s);
    return c_tensor(result, map_op(op, n, in));
}

static C_valuep real1(C_here *h, Op op, C_valuep a) { return apply_operator(h, op, F32, C_REAL, 1, &a); }
static C_valuep real2(C_here *h, Op op, C_valuep a, C_valuep b)
{
    return apply_operator(h, op, F32, C_REAL, 2, (C_valuep[]){a, b});
}

/* Refuses constants beyond 32 bits, which C leaves undefined. */
static C_valuep integer2(C_here *h, Op op, C_valuep a, C_valuep b)
{
    if (!a->node && !b->node) {
        double x = op == OP_add   ? a->number + b->number
                   : op == OP_sub ? a->number - b->number
                   : op == OP_mul ? a->number * b->number
                                  : 0;
        if (x > INT_MAX || x < INT_MIN) fail(h, "this constant overflows an int");
    }
    return apply_operator(h, op, I32, C_INT, 2, (C_valuep[]){a, b});
}

static C_valuep compare(C_here *h, Op op, C_kind k, C_valuep a, C_valuep b)
{
    return apply_operator(h, op, dtype_of(k), C_INT, 2, (C_valuep[]){a, b});
}

/* ------------------------------------------------------------------ truths */

C_valuep c_truth(C_here *h, C_valuep v)
{
    if (v->kind == C_STRUCT) fail(h, "a struct cannot be a condition");
    if (!v->node) return c_number(C_BOOL, v->number != 0);
    if (v->node->dtype == BOOL) return c_tensor(C_BOOL, v->node);
    return c_tensor(C_BOOL, compare(h, OP_ne, v->kind, v, c_number(v->kind, 0))->node);
}

C_valuep c_not(C_here *h, C_valuep v) { return apply_operator(h, OP_lnot, BOOL, C_BOOL, 1, &v); }

C_valuep c_and(C_here *h, C_valuep a, C_valuep b)
{
    if (never(a) || always(b)) return a;
    if (never(b) || always(a)) return b;
    return apply_operator(h, OP_land, BOOL, C_BOOL, 2, (C_valuep[]){a, b});
}

C_valuep c_or(C_here *h, C_valuep a, C_valuep b)
{
    if (always(a) || never(b)) return a;
    if (always(b) || never(a)) return b;
    return apply_operator(h, OP_lor, BOOL, C_BOOL, 2, (C_valuep[]){a, b});
}

/* ------------------------------------------------------------------ choices */

static C_valuep choose_truth(C_here *h, C_valuep c, C_valuep a, C_valuep b)
{
    if (always(a)) return c_or(h, c, b);
    if (never(b)) return c_and(h, c, a);
    if (never(a)) return c_and(h, c_not(h, c), b);
    if (always(b)) return c_or(h, c_not(h, c), a);
    return c_or(h, c_and(h, c, a), c_and(h, c_not(h, c), b));
}

static C_valuep choose_fields(C_here *h, C_valuep c, C_valuep a, C_valuep b)
{
    C_value *v = NEW(C_value);
    *v = *a;
    v->field = NEW_ARRAY(C_valuep, a->record->n);
    for (int i = 0; i < a->record->n; i++) v->field[i] = c_choose(h, c, a->field[i], b->field[i]);
    return v;
}

C_valuep c_choose(C_here *h, C_valuep c, C_valuep a, C_valuep b)
{
    if (always(c) || a == b) return a;
    if (never(c)) return b;
    if (!a || !b) return NULL;
    if (a->kind == C_STRUCT) return choose_fields(h, c, a, b);
    if (a->node == b->node && a->number == b->number) return a;
    bool truths = (!a->node || a->node->dtype == BOOL) && (!b->node || b->node->dtype == BOOL);
    if (a->kind == C_BOOL || (truths && a->node && b->node)) {
        C_valuep either = choose_truth(h, c, a, b);
        return either->node ? c_tensor(a->kind, either->node) : c_number(a->kind, either->number);
    }
    DType t = dtype_of(a->kind);
    Node *in[] = {c->node, c_node(a, t), c_node(b, t)};
    Shape s = shape_of_all(3, in);
    return c_tensor(a->kind, where_op(broadcast(in[0], s), broadcast(in[1], s), broadcast(in[2], s)));
}

/* v, but `harmless` for elements that do not reach this code: see the head of this file. */
static C_valuep guarded(C_here *h, C_valuep v, double harmless)
{
    return v->node && h->path->node ? c_choose(h, h->path, v, c_number(C_REAL, harmless)) : v;
}

/* ------------------------------------------------------------------ conversions */

C_valuep c_convert(C_here *h, C_valuep v, C_type to)
{
    if (!v || to.kind == v->kind) return v;
    if (to.kind == C_STRUCT || v->kind == C_STRUCT)
        fail(h, "a struct and a number cannot be converted into each other");
    if (to.kind == C_BOOL) return c_truth(h, v);
    if (v->node) {
        bool truth_as_int =
            to.kind == C_INT && v->node->dtype == BOOL; /* stays a BOOL node until arithmetic needs an int */
        return c_tensor(to.kind, truth_as_int ? v->node : cast_op(v->node, dtype_of(to.kind)));
    }
    double x = to.kind == C_INT ? trunc(v->number) : v->number;
    if (to.kind == C_INT && (x > INT_MAX || x < INT_MIN)) fail(h, "this constant overflows an int");
    return c_number(to.kind, x);
}

static C_valuep as(C_here *h, C_valuep v, C_kind k) { return c_convert(h, v, (C_type){k, NULL}); }

/* ------------------------------------------------------------------ operators */

C_valuep c_unary(C_here *h, const char *op, C_valuep a)
{
    if (a->kind == C_STRUCT) fail(h, "expected a number, found a struct; name a field");
    if (*op == '!') return as(h, c_not(h, c_truth(h, a)), C_INT);
    if (a->kind == C_BOOL) a = as(h, a, C_INT);
    if (*op == '+') return a;
    if (*op == '~') return integer2(h, OP_bitxor, a, c_number(C_INT, -1));
    if (a->kind == C_REAL) return real1(h, OP_neg, a);
    return a->node ? apply_operator(h, OP_neg, I32, C_INT, 1, &a) : integer2(h, OP_sub, c_number(C_INT, 0), a);
}

/* C rounds quotients toward zero, idiv rounds down; they differ if there is a remainder and the signs differ. */
static C_valuep integer_quotient(C_here *h, C_valuep a, C_valuep b, bool rest)
{
    if (never(b)) fail(h, "division by zero");
    if (!a->node && !b->node && a->number == INT_MIN && b->number == -1) fail(h, "this constant overflows an int");
    C_valuep down = integer2(h, OP_idiv, a, b), over = integer2(h, OP_mod, a, b), zero = c_number(C_INT, 0);
    C_valuep below = compare(h, OP_lt, C_INT, a, zero), other = compare(h, OP_lt, C_INT, b, zero);
    C_valuep differ = c_or(h, c_and(h, below, c_not(h, other)), c_and(h, other, c_not(h, below)));
    C_valuep fix = c_and(h, differ, c_truth(h, compare(h, OP_ne, C_INT, over, zero)));
    return rest ? c_choose(h, fix, integer2(h, OP_sub, over, b), over)
                : c_choose(h, fix, integer2(h, OP_add, down, c_number(C_INT, 1)), down);
}

static C_valuep integer_binary(C_here *h, const char *op, C_valuep a, C_valuep b)
{
    switch (*op) {
    case '+': return integer2(h, OP_add, a, b);
    case '-': return integer2(h, OP_sub, a, b);
    case '*': return integer2(h, OP_mul, a, b);
    case '/': return integer_quotient(h, a, b, false);
    case '%': return integer_quotient(h, a, b, true);
    case '&': return integer2(h, OP_bitand, a, b);
    case '^': return integer2(h, OP_bitxor, a, b);
    default: return integer2(h, OP_bitxor, integer2(h, OP_bitand, a, b), integer2(h, OP_bitxor, a, b));
    }
}

static C_valuep divided_values(C_here *h, C_valuep a, C_valuep b)
{
    if (never(b)) fail(h, "division by zero");
    return real2(h, OP_div, a, guarded(h, b, 1));
}

C_valuep c_binary(C_here *h, const char *op, C_valuep a, C_valuep b)
{
    if (a->kind == C_STRUCT || b->kind == C_STRUCT) fail(h, "expected a number, found a struct; name a field");
    C_kind k = a->kind == C_REAL || b->kind == C_REAL ? C_REAL : C_INT;
    a = as(h, a, k);
    b = as(h, b, k);
    if (same(op, "<")) return compare(h, OP_lt, k, a, b);
    if (same(op, ">")) return compare(h, OP_lt, k, b, a);
    if (same(op, "<=")) return compare(h, OP_le, k, a, b);
    if (same(op, ">=")) return compare(h, OP_le, k, b, a);
    if (same(op, "==")) return compare(h, OP_eq, k, a, b);
    if (same(op, "!=")) return compare(h, OP_ne, k, a, b);
    if (k == C_INT) return integer_binary(h, op, a, b);
    return *op == '+'   ? real2(h, OP_add, a, b)
           : *op == '-' ? real2(h, OP_sub, a, b)
           : *op == '*' ? real2(h, OP_mul, a, b)
                        : divided_values(h, a, b);
}

/* ------------------------------------------------------------------ math.h */

static C_valuep whole_power(C_here *h, C_valuep x, int n)
{
    if (n == 0) return c_number(C_REAL, 1);
    if (n == 1) return x;
    C_valuep rest = whole_power(h, x, n % 2 ? n - 1 : n / 2);
    return real2(h, OP_mul, rest, n % 2 ? x : rest);
}

/* A constant integer exponent becomes a product: exact, cheaper, and for any sign of x.  Otherwise pow needs x > 0. */
static C_valuep power(C_here *h, C_valuep x, C_valuep e)
{
    enum { LARGEST_WHOLE = 64 };
    if (e->node || !x->node) return real2(h, OP_pow, guarded(h, x, 1), e);
    double n = e->number;
    if (n == 0.5) return real1(h, OP_sqrt, guarded(h, x, 1));
    if (n == -0.5) return real1(h, OP_rsqrt, guarded(h, x, 1));
    if (n != floor(n) || fabs(n) > LARGEST_WHOLE) return real2(h, OP_pow, guarded(h, x, 1), e);
    C_valuep p = whole_power(h, n < 0 ? guarded(h, x, 1) : x, (int)fabs(n));
    return n < 0 ? real2(h, OP_div, c_number(C_REAL, 1), p) : p;
}

static C_valuep ceiling(C_here *h, C_valuep x) { return real1(h, OP_neg, real1(h, OP_floor, real1(h, OP_neg, x))); }

static C_valuep truncated(C_here *h, C_valuep x)
{
    C_valuep below = c_truth(h, compare(h, OP_lt, C_REAL, x, c_number(C_REAL, 0)));
    return c_choose(h, below, ceiling(h, x), real1(h, OP_floor, x));
}

/* Functions that are one op; guard: their slope may be infinite, but not at `harmless`. */
static const struct {
    const char *name;
    int arity;
    Op op;
    bool guard;
    double harmless;
} one_op[] = {{"exp", 1, OP_exp, true, 0},      {"expm1", 1, OP_expm1, true, 0}, {"log", 1, OP_log, true, 1},
              {"log1p", 1, OP_log1p, true, 0},  {"sqrt", 1, OP_sqrt, true, 1},   {"sin", 1, OP_sin, false, 0},
              {"cos", 1, OP_cos, false, 0},     {"tanh", 1, OP_tanh, false, 0},  {"erf", 1, OP_erf, false, 0},
              {"floor", 1, OP_floor, false, 0}, {"fabs", 1, OP_abs, false, 0},   {"fmax", 2, OP_max, false, 0},
              {"fmin", 2, OP_min, false, 0}};

static bool is_function(const char *name, const char *of) /* expf is exp */
{
    size_t n = strlen(of);
    return strncmp(name, of, n) == 0 && (!name[n] || same(name + n, "f"));
}

static const struct {
    const char *name;
    int arity;
} made_of_several[] = {{"pow", 2}, {"log2", 1}, {"log10", 1}, {"tan", 1}, {"ceil", 1}, {"trunc", 1}, {"fma", 3}};

static C_valuep several(C_here *h, const char *name, C_valuep *v)
{
    if (same(name, "pow")) return power(h, v[0], v[1]);
    if (same(name, "fma")) return real2(h, OP_add, real2(h, OP_mul, v[0], v[1]), v[2]);
    if (same(name, "ceil")) return ceiling(h, v[0]);
    if (same(name, "trunc")) return truncated(h, v[0]);
    if (same(name, "tan")) {
        C_valuep x = guarded(h, v[0], 0);
        return real2(h, OP_div, real1(h, OP_sin, x), real1(h, OP_cos, x));
    }
    C_valuep log = real1(h, OP_log, guarded(h, v[0], 1));
    return real2(h, OP_mul, log, c_number(C_REAL, same(name, "log2") ? 1.4426950408889634 : 0.43429448190325183));
}

/* Number of arguments; -1: unknown function. */
static int arity_of(const char *name)
{
    for (int i = 0; i < COUNT_OF(one_op); i++)
        if (is_function(name, one_op[i].name)) return one_op[i].arity;
    for (int i = 0; i < COUNT_OF(made_of_several); i++)
        if (is_function(name, made_of_several[i].name)) return made_of_several[i].arity;
    return same(name, "abs") ? 1 : -1;
}

const char *c_math_fault(const char *name, int n)
{
    int arity = arity_of(name);
    if (arity < 0)
        return format("unknown function '%s'; known are the functions of this text, exp expm1 log log1p log2 log10 "
                      "sqrt pow sin cos tan tanh erf fabs fmin fmax floor ceil trunc fma (also with f: expf) and abs",
                      name);
    if (arity != n) return format("%s takes %d argument%s, found %d", name, arity, arity > 1 ? "s" : "", n);
    return NULL;
}

static C_valuep absolute(C_here *h, C_valuep a)
{
    if (!a->node && a->number == INT_MIN) fail(h, "this constant overflows an int");
    return apply_operator(h, OP_abs, I32, C_INT, 1, &a);
}

C_valuep c_math(C_here *h, const char *name, int n, C_valuep *v)
{
    for (int i = 0; i < n; i++) v[i] = as(h, v[i], same(name, "abs") ? C_INT : C_REAL);
    if (same(name, "abs")) return absolute(h, v[0]);
    for (int i = 0; i < COUNT_OF(one_op); i++) {
        if (!is_function(name, one_op[i].name)) continue;
        if (one_op[i].guard) v[0] = guarded(h, v[0], one_op[i].harmless);
        return apply_operator(h, one_op[i].op, F32, C_REAL, n, v);
    }
    for (int i = 0; i < COUNT_OF(made_of_several); i++)
        if (is_function(name, made_of_several[i].name)) return several(h, made_of_several[i].name, v);
    die("no function %s", name);
}
