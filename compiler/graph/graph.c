/* graph.c: types, shapes, and the constructors of nodes. */
#include "graph/graph.h"
#include "graph/parts.h"

#include <math.h>
#include <string.h>

const OpInfo op_info[OPS] = {
#define MAP1(name, class, text, da, domain, doc)                                                                       \
    [OP_##name] = {#name, MAP, 1, #text, NULL, #class, #domain, 1, 0, "", doc},
#define MAP2(name, class, text, da, db, domain, doc)                                                                   \
    [OP_##name] = {#name, MAP, 2, #text, NULL, #class, #domain, 1, 0, "", doc},
#define CMP2(name, text, doc)              [OP_##name] = {#name, MAP, 2, #text, NULL, "CMP", "ANY", 1, 0, "", doc},
#define LOGIC1(name, text, doc)            [OP_##name] = {#name, MAP, 1, #text, NULL, "LOGIC", "ANY", 1, 0, "", doc},
#define LOGIC2(name, text, doc)            [OP_##name] = {#name, MAP, 2, #text, NULL, "LOGIC", "ANY", 1, 0, "", doc},
#define MAPX(name, arity, text, doc)       [OP_##name] = {#name, MAP, arity, #text, NULL, "", "ANY", 1, 0, "", doc},
#define RED(name, start, step, doc)        [OP_##name] = {#name, REDUCE, 1, #step, #start, "", "ANY", 1, 0, "axes", doc},
#define CORE(name, arity, kind, ints, doc) [OP_##name] = {#name, kind, arity, "", NULL, "", "", 1, 0, ints, doc},
#define OWN(name, arity, kind, results, facts, parts, lua, ints, doc)                                                  \
    [OP_##name] = {#name, kind, arity, "", NULL, "", "", results, facts, ints, doc},
#define WHOLE_OP(name, parts, ints, doc) [OP_##name] = {#name, WHOLE, -1, "", NULL, "", "", 1, 0, ints, doc},
#include "graph/ops_default.h"
#include "graph/ops.def"
};

/* ------------------------------------------------------------------ types and shapes */

const char *dtype_name(DType t)
{
    static const char *const words[] = {DTYPE_LIST(LIST_WORD)};
    return words[t];
}

int64_t dtype_bytes(DType t)
{
#define BYTES(member, word, bytes) [member] = bytes,
    static const int64_t of[DTYPES] = {PLAIN_TYPES(BYTES)};
    return in_blocks(t) ? 1 : of[t];
}

bool is_real(DType t) { return t == F32 || t == F64; }
int64_t bytes_of_elements(DType t, int64_t n)
{
    int64_t block = lathe_bytes_of_block((Lathe_dtype)t); /* the same types in the same order */
    must(!block || n % LATHE_BLOCK == 0);
    return block ? n / LATHE_BLOCK * block : n * dtype_bytes(t);
}

bool in_blocks(DType t) { return t > F16; }

bool is_stored(DType t) { return t == BF16 || t == F16 || in_blocks(t); }

Shape shape_of(int rank, const int64_t *dim)
{
    must(rank >= 0 && rank <= MAXRANK);
    Shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) s.dim[i] = dim[i];
    return s;
}

Shape shape_behind(Shape s)
{
    Shape r = {0};
    for (int k = 1; k < s.rank; k++) r = with_axis(r, s, k);
    return r;
}

bool same_shape(Shape a, Shape b)
{
    return a.rank == b.rank && memcmp(a.dim, b.dim, sizeof *a.dim * (size_t)a.rank) == 0;
}

int64_t elements(Shape s)
{
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++) n *= s.dim[i];
    return n;
}

void dense_strides(Shape s, int64_t *stride)
{
    int64_t step = 1;
    for (int i = s.rank; i-- > 0; step *= s.dim[i]) stride[i] = step;
}

char *shape_text(Shape s)
{
    Text t = {0};
    say(&t, "[");
    for (int i = 0; i < s.rank; i++) say(&t, i ? ", %lld" : "%lld", (long long)s.dim[i]);
    say(&t, "]");
    return t.at;
}

/* Leaves have no phase. */
static int phase_of(Op op) { return op_info[op].kind == LEAF || op == OP_loop_arg ? 0 : making().phase; }

Node *node_of(Op op, DType dtype, Shape shape, int nin, Node *const *in, int nints, const int64_t *ints)
{
    must(op_info[op].arity < 0 || op_info[op].arity == nin);
    return intern((Node){.op = op,
                         .dtype = dtype,
                         .shape = shape,
                         .nin = nin,
                         .in = (Node **)in,
                         .nints = nints,
                         .ints = (int64_t *)ints,
                         .phase = phase_of(op)});
}

/* ------------------------------------------------------------------ leaves */

Node *scalar(double value, DType t) { return intern((Node){.op = OP_constant, .dtype = t, .value = value}); }

static Node *filled_with(Node *n, Shape s)
{
    if (s.rank == 0) return n;
    Shape ones = {.rank = s.rank};
    for (int i = 0; i < s.rank; i++) ones.dim[i] = 1;
    return expand(reshape(n, ones), s);
}

Node *filled(double value, DType t, Shape s) { return filled_with(scalar(value, t), s); }

Node *refilled(const Node *n, Shape s)
{
    must(is_filled(n, NULL));
    while (n->op != OP_constant) n = n->in[0];
    return filled_with((Node *)n, s);
}

Node *filled_for(double value, int axis, DType t, Shape s)
{
    return filled_with(intern((Node){.op = OP_constant, .dtype = t, .value = value, .counts = axis}), s);
}

Node *counted(Shape of, DType t, Shape s)
{
    return filled_for((double)elements(of), axis_merged(of, 0, of.rank), t, s);
}

bool is_view(const Node *n) { return op_info[n->op].kind == MOVE; }

bool is_move(const Node *n) { return is_view(n) || op_info[n->op].kind == JOIN; }

bool shows_all(const Node *n) { return is_view(n) && !(op_info[n->op].facts & PADS); }

bool is_cheap(const Node *n)
{
    OpKind kind = op_info[n->op].kind;
    return kind == MAP || kind == REDUCE || is_move(n);
}

bool is_filled(const Node *n, double *value)
{
    while (shows_all(n)) n = n->in[0];
    if (n->op != OP_constant || n->data) return false;
    if (value) *value = n->value;
    return true;
}

bool is_weight(const Node *n)
{
    if (n->op != OP_cast || !is_stored(n->in[0]->dtype)) return false;
    n = n->in[0];
    while (n->op == OP_loop_arg ? n->ints[0] == ARG_X : shows_all(n))
        n = n->op == OP_loop_arg ? n->loop->xs.at[n->ints[1]].outer : n->in[0];
    return n->op == OP_parameter;
}

static bool shows_product(const Node *n)
{
    while (op_info[n->op].facts & REARRANGES) n = n->in[0];
    return n->op == OP_dot;
}

bool adds_products(const Node *n)
{
    return n->op == OP_add && n->in[0] != n->in[1] && shows_product(n->in[0]) && shows_product(n->in[1]);
}

bool is_replaced(const Node *n) { return n->op == OP_state || n->op == OP_gradient; }
bool is_named_leaf(Op op) { return op_info[op].kind == LEAF && op != OP_constant && op != OP_iota; }

static Node *leaf(Op op, const char *name, DType t, Shape s)
{
    return intern((Node){.op = op, .dtype = t, .shape = s, .name = name});
}

Node *input_node(const char *name, DType t, Shape s) { return leaf(OP_input, name, t, s); }
Node *parameter_node(const char *name, DType t, Shape s) { return leaf(OP_parameter, name, t, s); }

Node *parameter_like(const Node *old, const char *name, DType t, Shape s)
{
    return intern(
        (Node){.op = OP_parameter, .dtype = t, .shape = s, .name = name, .ints = old->ints, .nints = old->nints});
}

Node *frozen_node(const char *name, DType t, Shape s)
{
    static int64_t frozen[] = {1};
    return intern((Node){.op = OP_parameter, .dtype = t, .shape = s, .name = name, .ints = frozen, .nints = 1});
}

bool is_frozen_node(const Node *n) { return n->op == OP_parameter && n->nints; }

Node *state_node(const char *name, DType t, Shape s) { return leaf(OP_state, name, t, s); }
Node *gradient_node(const char *name, DType t, Shape s) { return leaf(OP_gradient, name, t, s); }

Node *leaf_replaced(const Graph *g, const Output *o)
{
    const Node *n = o->node;
    if (o->kind == OUT_STATE) return state_node(o->name, n->dtype, n->shape);
    if (o->kind != OUT_GRAD || g->entry != ENTRY_direction) return NULL;
    return gradient_node(o->name, n->dtype, n->shape);
}

Node *iota(Shape s, int axis)
{
    must(axis >= 0 && axis < s.rank);
    return node_of(OP_iota, I32, s, 0, NULL, 1, &(int64_t){axis});
}

/* ------------------------------------------------------------------ maps */

static DType map_type(Op op, DType in)
{
    const char *class = op_info[op].class;
    if (same(class, "REAL")) must(is_real(in));
    if (same(class, "NUM")) must(in != BOOL);
    if (same(class, "INT")) must(in == I32);
    if (same(class, "LOGIC")) must(in == BOOL);
    if (same(class, "CMP")) must(op == OP_eq || op == OP_ne || in != BOOL);
    return same(class, "CMP") ? BOOL : in;
}

Node *map_op(Op op, int nin, Node *const *in)
{
    must(op_info[op].kind == MAP && op_info[op].class[0]);
    for (int i = 1; i < nin; i++) must(in[i]->dtype == in[0]->dtype && same_shape(in[i]->shape, in[0]->shape));
    return node_of(op, map_type(op, in[0]->dtype), in[0]->shape, nin, in, 0, NULL);
}

Node *map1(Op op, Node *a) { return map_op(op, 1, &a); }
Node *map2(Op op, Node *a, Node *b) { return map_op(op, 2, (Node *[]){a, b}); }

Node *where_op(Node *condition, Node *yes, Node *no)
{
    must(condition->dtype == BOOL && yes->dtype == no->dtype);
    must(same_shape(condition->shape, yes->shape) && same_shape(yes->shape, no->shape));
    return node_of(OP_where, yes->dtype, yes->shape, 3, (Node *[]){condition, yes, no}, 0, NULL);
}

Node *cast_op(Node *a, DType t) { return a->dtype == t ? a : node_of(OP_cast, t, a->shape, 1, &a, 0, NULL); }

Node *philox(Node *seed, Node *step, Node *site, Node *row, Node *index)
{
    Node *in[] = {seed, step, site, row, index};
    for (int i = 0; i < 5; i++) must(in[i]->dtype == I32 && same_shape(in[i]->shape, index->shape));
    return node_of(OP_philox, I32, index->shape, 5, in, 0, NULL);
}

Node *u01(Node *bits, DType t)
{
    must(bits->dtype == I32 && is_real(t));
    return node_of(OP_u01, t, bits->shape, 1, &bits, 0, NULL);
}

Node *class_id(Node *ids, int64_t classes, int64_t ignored)
{
    must(ids->dtype == I32);
    Node *in[] = {ids, filled((double)classes, I32, ids->shape), filled((double)ignored, I32, ids->shape)};
    return node_of(OP_class_id, I32, ids->shape, 3, in, 0, NULL);
}

Node *stop_gradient(Node *a)
{
    must(is_real(a->dtype));
    return node_of(OP_stop_gradient, a->dtype, a->shape, 1, &a, 0, NULL);
}

/* ------------------------------------------------------------------ reductions, results */

Node *reduce(Op op, Node *a, int naxes, const int *axes)
{
    must(op_info[op].kind == REDUCE && a->dtype != BOOL);
    if (naxes == 0) return a;
    bool gone[MAXRANK] = {false};
    for (int i = 0; i < naxes; i++) {
        must(axes[i] >= 0 && axes[i] < a->shape.rank && !gone[axes[i]]);
        gone[axes[i]] = true;
    }
    Shape s = {0};
    int64_t ints[MAXRANK];
    int n = 0;
    for (int i = 0; i < a->shape.rank; i++) {
        if (gone[i]) ints[n++] = i;
        else s = with_axis(s, a->shape, i);
    }
    return node_of(op, a->dtype, s, 1, &a, n, ints);
}

static Shape with_trip(const Loop *l, Shape s)
{
    Shape r = {.rank = 1, .dim = {l->trip}, .axis = {(uint16_t)l->axis}};
    for (int i = 0; i < s.rank; i++) r = with_axis(r, s, i);
    return r;
}

Node *pick(Node *n, int kind, int which)
{
    int64_t ints[] = {kind, which};
    if (op_info[n->op].results > 1) {
        Type results[MOST_RESULTS];
        must(kind >= 0 && kind < op_info[n->op].results && !op_parts[n->op].fault(n, results));
        return node_of(OP_pick, results[kind].dtype, results[kind].shape, 1, &n, 2, ints);
    }
    if (op_info[n->op].kind == WHOLE) {
        Type results[MOST_RESULTS];
        must(kind >= 0 && kind < whole_info[n->op].results(n, results) && which == 0);
        return node_of(OP_pick, results[kind].dtype, results[kind].shape, 1, &n, 2, ints);
    }
    must(n->op == OP_loop);
    const Loop *l = n->loop;
    must(which >= 0 && which < (kind == PICK_CARRY ? l->carries.n : l->ys.n));
    const Node *v = kind == PICK_CARRY ? l->carries.at[which].arg : l->ys.at[which];
    return node_of(OP_pick, v->dtype, kind == PICK_CARRY ? v->shape : with_trip(l, v->shape), 1, &n, 2, ints);
}

bool has_several(const Node *n)
{
    return n->op == OP_loop || op_info[n->op].results > 1 || op_info[n->op].kind == WHOLE;
}
