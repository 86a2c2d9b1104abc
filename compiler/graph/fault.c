/* fault.c: derives a node's type again from its op, inputs and ints. */
#include "graph/fault.h"
#include "graph/parts.h"

#include <string.h>

/* The type that the node must have, or why it cannot have one. */
typedef struct Found {
    const char *fault;
    DType dtype;
    Shape shape;
} Found;

static Found bad(const char *fault) { return (Found){.fault = fault}; }
static Found typed(DType t, Shape s) { return (Found){.dtype = t, .shape = s}; }

bool valid_shape(Shape s)
{
    if (s.rank < 0 || s.rank > MAXRANK) return false;
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++) {
        if (s.dim[i] < 1 || s.dim[i] > MOST_ELEMENTS / n) return false;
        n *= s.dim[i];
    }
    return true;
}

bool valid_axes(const Node *n, int first, int count, int rank, bool ascending)
{
    bool seen[MAXRANK] = {false};
    for (int i = first; i < first + count; i++) {
        int64_t axis = n->ints[i];
        if (axis < 0 || axis >= rank || seen[axis]) return false;
        if (ascending && i > first && axis < n->ints[i - 1]) return false;
        seen[axis] = true;
    }
    return true;
}

/* ------------------------------------------------------------------ leaves, maps, reductions */

static Found leaf_type(const Node *n)
{
    switch (n->op) {
    case OP_constant:
        if (n->nints) return bad("a constant has no ints");
        if (!n->data && n->shape.rank) return bad("a constant without elements is a scalar");
        return typed(n->dtype, n->shape);
    case OP_iota:
        if (n->nints != 1 || !valid_axes(n, 0, 1, n->shape.rank, false)) return bad("iota needs one of its axes");
        return typed(I32, n->shape);
    default:
        if (!n->name || !*n->name) return bad("it needs a name");
        if (n->nints) return bad("it has no ints");
        return typed(n->dtype, n->shape);
    }
}

static Found mixed_map_type(const Node *n)
{
    Node *const *in = n->in;
    Shape s = in[n->nin - 1]->shape;
    for (int i = 0; i < n->nin; i++)
        if (!same_shape(in[i]->shape, s)) return bad("its inputs must have equal shapes");
    switch (n->op) {
    case OP_where:
        if (in[0]->dtype != BOOL || in[1]->dtype != in[2]->dtype || is_stored(n->dtype))
            return bad("where takes a bool and two of one type");
        return typed(in[1]->dtype, s);
    case OP_cast:
        if ((is_stored(n->dtype) && !is_real(in[0]->dtype)) || (is_stored(in[0]->dtype) && !is_real(n->dtype)))
            return bad("only reals are stored in 16 bits");
        return typed(n->dtype, s);
    case OP_philox:
        for (int i = 0; i < n->nin; i++)
            if (in[i]->dtype != I32) return bad("philox takes i32");
        return typed(I32, s);
    case OP_class_id:
        for (int i = 0; i < n->nin; i++)
            if (in[i]->dtype != I32) return bad("class_id takes i32");
        return typed(I32, s);
    case OP_stop_gradient:
        if (!is_real(in[0]->dtype)) return bad("stop_gradient takes a real");
        return typed(in[0]->dtype, s);
    case OP_u01:
        if (in[0]->dtype != I32 || !is_real(n->dtype)) return bad("u01 makes a real of an i32");
        return typed(n->dtype, s);
    default: return bad("a map without a class that graph/fault.c does not know");
    }
}

static bool takes(const char *class, Op op, DType t)
{
    if (same(class, "REAL")) return is_real(t);
    if (is_stored(t)) return false;
    if (same(class, "NUM")) return t != BOOL;
    if (same(class, "INT")) return t == I32;
    if (same(class, "LOGIC")) return t == BOOL;
    return op == OP_eq || op == OP_ne || (op == OP_ult ? t == I32 : t != BOOL); /* CMP */
}

static Found map_type(const Node *n)
{
    const char *class = op_info[n->op].class;
    if (n->nints) return bad("a map has no ints");
    if (!*class) return mixed_map_type(n);
    for (int i = 1; i < n->nin; i++)
        if (!same_shape(n->in[i]->shape, n->in[0]->shape) || n->in[i]->dtype != n->in[0]->dtype)
            return bad("its inputs must be of one type and shape");
    if (!takes(class, n->op, n->in[0]->dtype)) return bad("it does not take that type");
    return typed(same(class, "CMP") ? BOOL : n->in[0]->dtype, n->in[0]->shape);
}

static Found reduce_type(const Node *n)
{
    Shape from = n->in[0]->shape, s = {0};
    if (n->in[0]->dtype == BOOL) return bad("a reduction does not take bools");
    if (n->nints < 1 || !valid_axes(n, 0, n->nints, from.rank, true)) return bad("its ints must be axes, ascending");
    for (int i = 0, k = 0; i < from.rank; i++)
        if (k < n->nints && n->ints[k] == i) k++;
        else s.dim[s.rank++] = from.dim[i];
    return typed(n->in[0]->dtype, s);
}

/* ------------------------------------------------------------------ moves */

static Found concat_type(const Node *n)
{
    if (n->nin < 1) return bad("concat needs inputs");
    Shape s = n->in[0]->shape;
    if (n->nints != 1 || !valid_axes(n, 0, 1, s.rank, false)) return bad("concat needs an axis");
    for (int p = 1; p < n->nin; p++) {
        Shape part = n->in[p]->shape;
        bool fits = part.rank == s.rank && n->in[p]->dtype == n->in[0]->dtype;
        for (int i = 0; fits && i < s.rank; i++) fits = i == n->ints[0] || part.dim[i] == s.dim[i];
        if (!fits) return bad("its inputs may differ only along the axis");
        s.dim[n->ints[0]] += part.dim[n->ints[0]];
        if (!valid_shape(s)) return bad("it is too large");
    }
    return typed(n->in[0]->dtype, s);
}

/* the node itself says the shape of reshape and expand */
static Found shaped_type(const Node *n)
{
    Shape from = n->in[0]->shape, s = n->shape;
    if (n->nints) return bad("it has no ints");
    if (n->op == OP_reshape && elements(from) != elements(s)) return bad("a reshape keeps the number of elements");
    if (n->op == OP_expand && from.rank != s.rank) return bad("expand keeps the number of axes");
    for (int i = 0; n->op == OP_expand && i < s.rank; i++)
        if (from.dim[i] != s.dim[i] && from.dim[i] != 1) return bad("expand repeats axes of extent 1");
    return typed(n->in[0]->dtype, s);
}

static Found slice_type(const Node *n)
{
    Shape from = n->in[0]->shape;
    if (n->nints != 2 * from.rank || n->shape.rank != from.rank)
        return bad("slice needs a start and a step for each axis");
    for (int i = 0; i < from.rank; i++) {
        int64_t start = n->ints[i], by = n->ints[from.rank + i];
        if (start < 0 || start >= from.dim[i] || by < 1) return bad("a start or step is out of range");
        if (n->shape.dim[i] == 1) continue;
        if (n->shape.dim[i] > from.dim[i] || by > from.dim[i] || start + (n->shape.dim[i] - 1) * by >= from.dim[i])
            return bad("it reaches beyond its input");
    }
    return typed(n->in[0]->dtype, n->shape);
}

static Found pad_type(const Node *n)
{
    Shape s = n->in[0]->shape;
    int rank = s.rank;
    if (n->nints != 2 * rank) return bad("pad needs two numbers for each axis");
    for (int i = 0; i < rank; i++) {
        int64_t before = n->ints[i], after = n->ints[rank + i];
        if (before < 0 || after < 0 || before > MOST_ELEMENTS || after > MOST_ELEMENTS)
            return bad("its ints are out of range");
        s.dim[i] += before + after;
    }
    return valid_shape(s) ? typed(n->in[0]->dtype, s) : bad("it is too large");
}

static Found move_type(const Node *n)
{
    if (n->op == OP_concat) return concat_type(n);
    Shape s = n->in[0]->shape;
    switch (n->op) {
    case OP_reshape:
    case OP_expand: return shaped_type(n);
    case OP_slice: return slice_type(n);
    case OP_pad: return pad_type(n);
    case OP_permute:
        if (n->nints != s.rank || !valid_axes(n, 0, s.rank, s.rank, false)) return bad("permute needs each axis once");
        for (int i = 0; i < s.rank; i++) s.dim[i] = n->in[0]->shape.dim[n->ints[i]];
        return typed(n->in[0]->dtype, s);
    case OP_flip:
        if (n->nints < 1 || !valid_axes(n, 0, n->nints, s.rank, true)) return bad("flip needs axes, ascending");
        return typed(n->in[0]->dtype, s);
    default: return bad("a move that graph/fault.c does not know");
    }
}

/* ------------------------------------------------------------------ dot */

/* What is wrong with the end of a dot whose axes are right; NULL: nothing. */
static const char *end_fault(const Node *n, Shape s)
{
    Product_end end = dot_end(n);
    int64_t said = n->nints > dot_ints(n) ? n->ints[dot_ints(n)] : END_GELU;
    if (said != END_GELU && said != END_GELU_BACK) return "what it ends in must be 2, gelu, or 3, its derivative";
    if (end == END_GELU_BACK && n->nin == 2) return "gelu's derivative needs a third input: what gelu is of";
    if (end == END_NONE) return NULL;
    if (n->ints[0]) return "with batch axes it ends in nothing";
    if (n->dtype == F64) return "of f64 it ends in nothing";
    if (n->nin == 3 && n->in[2]->dtype != n->dtype) return "its third input must be of its type";
    if (end == END_GELU_BACK && !same_shape(n->in[2]->shape, s)) return "what gelu is of must be of its shape";
    if (end != END_GELU_BACK && n->nin == 3 && elements(n->in[2]->shape) != dot_columns(n))
        return "the row that it adds must have an element for each of the free axes of b";
    return NULL;
}

static Found dot_type(const Node *n)
{
    if (n->nin != 2 && n->nin != 3) return bad("dot takes two inputs, and a third where it ends in something");
    const Node *a = n->in[0], *b = n->in[1];
    if ((!is_real(a->dtype) && !is_stored(a->dtype)) || a->dtype != b->dtype)
        return bad("dot takes two reals of one type");
    if (n->dtype != a->dtype && !(is_stored(a->dtype) && n->dtype == F32))
        return bad("dot makes what it takes, or f32 of what is stored");
    if (n->nints < 2 || n->ints[0] < 0 || n->ints[0] > MAXRANK || n->ints[1] < 0 || n->ints[1] > MAXRANK ||
        (n->nints != dot_ints(n) && n->nints != dot_ints(n) + 1))
        return bad("its ints must be nb, nc, as many axes and perhaps what it ends in");
    int nb = (int)n->ints[0], nc = (int)n->ints[1];
    Dot_axes x = dot_axes(n);
    int fa[MAXRANK], fb[MAXRANK];
    if (!valid_axes(n, 2, nb, a->shape.rank, false) || !valid_axes(n, 2 + nb, nb, b->shape.rank, false) ||
        !valid_axes(n, 2 + 2 * nb, nc, a->shape.rank, false) ||
        !valid_axes(n, 2 + 2 * nb + nc, nc, b->shape.rank, false))
        return bad("its ints must be axes of its inputs");
    int na = free_axes(a->shape.rank, nb, x.ab, nc, x.ac, fa), nfb = free_axes(b->shape.rank, nb, x.bb, nc, x.bc, fb);
    if (na != a->shape.rank - nb - nc || nfb != b->shape.rank - nb - nc)
        return bad("an axis is batch and contracted at once");
    if (nb + na + nfb > MAXRANK) return bad("its result has too many axes");
    for (int k = 0; k < nb; k++)
        if (a->shape.dim[x.ab[k]] != b->shape.dim[x.bb[k]]) return bad("batch axes must have equal extents");
    for (int k = 0; k < nc; k++)
        if (a->shape.dim[x.ac[k]] != b->shape.dim[x.bc[k]]) return bad("contracted axes must have equal extents");
    Shape s = {0};
    for (int k = 0; k < nb; k++) s.dim[s.rank++] = a->shape.dim[x.ab[k]];
    for (int k = 0; k < na; k++) s.dim[s.rank++] = a->shape.dim[fa[k]];
    for (int k = 0; k < nfb; k++) s.dim[s.rank++] = b->shape.dim[fb[k]];
    if (!valid_shape(s)) return bad("it is too large");
    const char *fault = same_shape(s, n->shape) ? end_fault(n, s) : NULL;
    return fault ? bad(fault) : typed(n->dtype, s);
}

/* ------------------------------------------------------------------ loops */

static Found argument_type(const Node *n)
{
    const Loop *l = n->loop;
    if (!l || n->nints != 2) return bad("it needs a loop, a kind and a number");
    int64_t k = n->ints[1];
    switch (n->ints[0]) {
    case ARG_INDEX: return l->index == n ? typed(I32, (Shape){0}) : bad("it is not its loop's index");
    case ARG_CARRY:
        if (k < 0 || k >= l->carries.n || l->carries.at[k].arg != n) return bad("its loop has no such carry");
        return typed(l->carries.at[k].init->dtype, l->carries.at[k].init->shape);
    case ARG_X: {
        if (k < 0 || k >= l->xs.n || l->xs.at[k].arg != n) return bad("its loop has no such x");
        Shape s = l->xs.at[k].outer->shape;
        if (s.rank < 1 || s.dim[0] != l->trip) return bad("the stack's first axis is not the loop's trip count");
        return typed(l->xs.at[k].outer->dtype, shape_behind(s));
    }
    default: return bad("it is neither index nor carry nor x");
    }
}

static Found pick_type(const Node *n)
{
    const Node *from = n->in[0];
    if (n->nints != 2) return bad("pick needs a kind and a number");
    int64_t kind = n->ints[0], k = n->ints[1];
    if (op_info[from->op].kind == WHOLE) {
        Type results[MOST_RESULTS];
        if (k != 0 || kind < 0 || kind >= whole_info[from->op].results(from, results))
            return bad("there is no such result");
        return typed(results[kind].dtype, results[kind].shape);
    }
    if (kind != 0 && kind != 1) return bad("its kind must be 0 or 1");
    if (op_info[from->op].results > 1) {
        Type results[MOST_RESULTS] = {{0}};
        const char *fault = op_parts[from->op].fault(from, results);
        if (fault) return bad(fault);
        return k == 0 ? typed(results[kind].dtype, results[kind].shape)
                      : bad(format("%s has results {0, 0} and {1, 0}", op_info[from->op].name));
    }
    if (from->op != OP_loop) return bad("it picks from a node that has one result");
    const Loop *l = from->loop;
    if (k < 0 || k >= (kind == PICK_CARRY ? l->carries.n : l->ys.n)) return bad("the loop has no such result");
    if (kind == PICK_CARRY) return typed(l->carries.at[k].arg->dtype, l->carries.at[k].arg->shape);
    Shape y = l->ys.at[k]->shape, s = {.rank = y.rank + 1, .dim = {l->trip}};
    if (y.rank == MAXRANK) return bad("a stack of it has too many axes");
    memcpy(s.dim + 1, y.dim, sizeof *y.dim * (size_t)y.rank);
    return valid_shape(s) ? typed(l->ys.at[k]->dtype, s) : bad("it is too large");
}

static Found loop_type(const Node *n)
{
    switch (n->op) {
    case OP_loop: return n->loop ? typed(n->dtype, (Shape){0}) : bad("it has no loop");
    case OP_loop_arg: return argument_type(n);
    default: return pick_type(n);
    }
}

/* ------------------------------------------------------------------ */

static Found whole_type(const Node *n)
{
    Type results[MOST_RESULTS];
    const char *fault = whole_info[n->op].fault(n);
    if (fault) return bad(fault);
    int count = whole_info[n->op].results(n, results);
    for (int k = 0; k < count; k++)
        if (!valid_shape(results[k].shape)) return bad("a result is too large");
    return typed(results[0].dtype, (Shape){0});
}

static Found own_type(const Node *n)
{
    Type results[MOST_RESULTS] = {{0}};
    const char *fault = op_parts[n->op].fault(n, results);
    return fault ? bad(fault) : typed(results[0].dtype, has_several(n) ? (Shape){0} : results[0].shape);
}

static Found found_type(const Node *n)
{
    if (op_parts[n->op].fault) return own_type(n);
    switch (op_info[n->op].kind) {
    case MAP: return map_type(n);
    case REDUCE: return reduce_type(n);
    case LEAF: return leaf_type(n);
    case MOVE: return move_type(n);
    case DOT: return dot_type(n);
    case INDEX: break;
    case LOOP: return loop_type(n);
    case WHOLE: return whole_type(n);
    }
    return bad("unknown kind of op");
}

const char *node_fault(const Node *n)
{
    int arity = op_info[n->op].arity;
    if (arity >= 0 && n->nin != arity) return format("%s has %d inputs, not %d", op_info[n->op].name, n->nin, arity);
    if (!valid_shape(n->shape)) return "its shape is no shape: extents from 1, at most 8 axes, at most 2^48 elements";
    for (int i = 0; i < n->nin; i++)
        if (has_several(n->in[i]) && n->op != OP_pick) return format("input %d has several results: pick one", i);
    Found f = found_type(n);
    if (f.fault) return format("%s: %s", op_info[n->op].name, f.fault);
    if (f.dtype != n->dtype || !same_shape(f.shape, n->shape))
        return format("%s is %s%s and should be %s%s", op_info[n->op].name, dtype_name(n->dtype), shape_text(n->shape),
                      dtype_name(f.dtype), shape_text(f.shape));
    return NULL;
}
