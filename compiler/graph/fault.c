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
        if (in_blocks(n->dtype) && (!n->shape.rank || n->shape.dim[n->shape.rank - 1] % LATHE_BLOCK))
            return bad("rows in blocks are multiples of 32");
        if (n->nints && !(is_frozen_node(n) && n->nints == 1 && n->ints[0] == 1)) return bad("it has no ints");
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
            return bad("only reals are stored in 16 bits or fewer");
        if (in_blocks(n->dtype)) return bad("nothing is cast to a type in blocks");
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
    case MOVE:
    case JOIN:
    case DOT:
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
