/* file.c: what a file of ONNX is made of: operators, constants, and values that are written where they are needed.
 *
 * A value that repeats along an axis is kept as it is before it repeats: operators on elements repeat it themselves.
 * Likewise the entries of a stack stay apart, since loops take them one by one. */
#include "onnx/onnx.h"
#include "runtime/base/protobuf.h"

#include <string.h>

enum { MOST_OPERATORS = 200000 };
enum { GRAPH_NODE = 1, NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_DOC = 6 };
enum {
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_ELEMENT = 1,
    TENSOR_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1
};
enum { ONNX_BOOL = 9, LONG = -1 };

/* ------------------------------------------------------------------ types and names */

int onnx_type(DType t)
{
    switch (t) {
    case BOOL: return ONNX_BOOL;
    case I32: return ONNX_I32;
    case F32: return ONNX_FLOAT;
    default: die("%s in a graph as it was traced", dtype_name(t));
    }
}

void describe_value(Text *t, int field, const char *name, DType type, Shape s)
{
    Text value = {0}, tensor = {0}, shape = {0}, of_type = {0};
    for (int k = 0; k < s.rank; k++) {
        Text dim = {0};
        proto_int(&dim, DIM_VALUE, s.dim[k]);
        proto_message(&shape, SHAPE_DIM, &dim);
    }
    proto_int(&tensor, TENSOR_ELEMENT, onnx_type(type));
    proto_message(&tensor, TENSOR_SHAPE, &shape);
    proto_message(&of_type, TYPE_TENSOR, &tensor);
    proto_text(&value, VALUE_NAME, name);
    proto_message(&value, VALUE_TYPE, &of_type);
    proto_message(t, field, &value);
}

const char *onnx_name(Onnx *o, const char *wish)
{
    int *taken = strings_at(&o->names, wish);
    if (!*taken) {
        *taken = 1;
        return copy_string(wish);
    }
    for (int n = *taken + 1;; n++) {
        const char *name = format("%s_%d", wish, n);
        if (strings_get(&o->names, name)) continue;
        *strings_at(&o->names, wish) = n;
        *strings_at(&o->names, name) = 1;
        return name;
    }
}

/* "layer.attn.scores.3": its layer, its title, and the iterations of the loops around it. */
static const char *wish_of_node(const Onnx *o)
{
    const Node *n = o->node;
    Text t = {0};
    if (n->layer && *n->layer) say(&t, "%s.", n->layer);
    say(&t, "%s", n->title ? n->title : op_info[n->op].name);
    for (int k = 0; k < o->trips.n; k++) say(&t, ".%lld", (long long)o->trips.at[k]);
    return t.at;
}

/* ------------------------------------------------------------------ operators */

static void add_operator(Onnx *o, const char *type, int n, const char *const *in, const Text *attributes, int results,
                         const char **out)
{
    const Where w = o->node->where;
    Text t = {0};
    if (++o->operators > MOST_OPERATORS)
        err(w,
            "the ONNX file would have more than %d operators, since loops are written iteration by iteration; build it "
            "with fewer of them, such as a shorter sequence",
            MOST_OPERATORS);
    for (int k = 0; k < n; k++) proto_text(&t, NODE_INPUT, in[k]);
    for (int k = 0; k < results; k++) {
        if (!out[k]) out[k] = onnx_name(o, wish_of_node(o));
        proto_text(&t, NODE_OUTPUT, out[k]);
    }
    proto_text(&t, NODE_NAME, out[0]);
    proto_text(&t, NODE_TYPE, type);
    if (attributes) say_bytes(&t, attributes->at, attributes->n);
    if (w.file) proto_text(&t, NODE_DOC, format("%s:%d", w.file, w.line));
    proto_message(&o->nodes, GRAPH_NODE, &t);
}

const char *operator_n(Onnx *o, const char *type, int n, const char *const *in, const Text *attributes)
{
    const char *out = NULL;
    add_operator(o, type, n, in, attributes, 1, &out);
    return out;
}

void operator_two(Onnx *o, const char *type, int n, const char *const *in, const Text *attributes, const char **out)
{
    out[0] = out[1] = NULL;
    add_operator(o, type, n, in, attributes, 2, out);
}

void operator_to(Onnx *o, const char *type, const char *in, const char *out)
{
    add_operator(o, type, 1, &in, NULL, 1, &out);
}

const char *operator_1(Onnx *o, const char *type, const char *a) { return operator_n(o, type, 1, &a, NULL); }

const char *operator_2(Onnx *o, const char *type, const char *a, const char *b)
{
    return operator_n(o, type, 2, (const char *[]){a, b}, NULL);
}

const char *operator_3(Onnx *o, const char *type, const char *a, const char *b, const char *c)
{
    return operator_n(o, type, 3, (const char *[]){a, b, c}, NULL);
}

const char *cast_in_file(Onnx *o, const char *a, int type)
{
    Text to = {0};
    attribute_int(&to, "to", type);
    return operator_n(o, "Cast", 1, &a, &to);
}

const char *reshape_in_file(Onnx *o, const char *a, Shape s)
{
    return operator_2(o, "Reshape", a, longs_in_file(o, s.rank, s.dim));
}

const char *transposed(Onnx *o, const char *a, int rank, const int *perm)
{
    int64_t axis[MAXRANK];
    bool moves = false;
    Text to = {0};
    for (int k = 0; k < rank; k++) moves |= (axis[k] = perm[k]) != k;
    if (!moves) return a;
    attribute_ints(&to, "perm", rank, axis);
    return operator_n(o, "Transpose", 1, &a, &to);
}

/* ------------------------------------------------------------------ constants */

/* type: a DType, or LONG */
static const char *add_constant(Onnx *o, const char *name, int type, int rank, const int64_t *dim, int64_t n,
                                const double *v, const int64_t *longs)
{
    Text t = {0}, bytes = {0};
    for (int k = 0; k < rank; k++) proto_int(&t, TENSOR_DIMS, dim[k]);
    for (int64_t i = 0; i < n; i++) {
        float real = v ? (float)v[i] : 0;
        int32_t whole_number = v && type == I32 ? (int32_t)v[i] : 0;
        char truth = v && v[i] != 0;
        if (type == LONG) say_bytes(&bytes, (const char *)&longs[i], sizeof *longs);
        else if (type == F32) say_bytes(&bytes, (const char *)&real, sizeof real);
        else if (type == I32) say_bytes(&bytes, (const char *)&whole_number, sizeof whole_number);
        else say_bytes(&bytes, &truth, 1);
    }
    proto_int(&t, TENSOR_TYPE, type == LONG ? ONNX_I64 : onnx_type((DType)type));
    proto_text(&t, TENSOR_NAME, name);
    proto_bytes(&t, TENSOR_BYTES, bytes.at, bytes.n);
    proto_message(&o->constants, GRAPH_INITIALIZER, &t);
    return name;
}

/* The name of the constant that this text means; NULL: it is new, and has the name of the answer's `made`. */
static const char *known_constant(Onnx *o, const char *text, const char *wish, const char **made)
{
    int *number = strings_at(&o->constant, text);
    if (*number) return o->constant_name.at[*number - 1];
    *made = onnx_name(o, wish);
    push(&o->constant_name, *made);
    *strings_at(&o->constant, text) = o->constant_name.n;
    return NULL;
}

const char *number_in_file(Onnx *o, DType t, double value)
{
    const char *made = NULL,
        *known = known_constant(o, format("%s %a", dtype_name(t), value), format("%s_%g", dtype_name(t), value), &made);
    return known ? known : add_constant(o, made, t, 0, NULL, 1, &value, NULL);
}

const char *long_in_file(Onnx *o, int64_t value)
{
    const char *made = NULL,
        *known = known_constant(o, format("long %lld", (long long)value), format("long_%lld", (long long)value), &made);
    return known ? known : add_constant(o, made, LONG, 0, NULL, 1, NULL, &value);
}

const char *longs_in_file(Onnx *o, int n, const int64_t *v)
{
    Text t = {0};
    const char *made;
    say(&t, "longs");
    for (int k = 0; k < n; k++) say(&t, "_%lld", (long long)v[k]);
    const char *known = known_constant(o, t.at, t.at, &made);
    return known ? known : add_constant(o, made, LONG, 1, &(int64_t){n}, n, NULL, v);
}

const char *array_in_file(Onnx *o, DType t, Shape s, const double *v)
{
    return add_constant(o, onnx_name(o, wish_of_node(o)), t, s.rank, s.dim, elements(s), v, NULL);
}

/* ------------------------------------------------------------------ values */

Val *new_val(DType t, Shape s, const char *name)
{
    Val *v = NEW(Val);
    *v = (Val){.dtype = t, .shape = s, .name = name, .there = s};
    return v;
}

Val *indices_along(Onnx *o, Shape s, int64_t axis)
{
    Val *v = new_val(I32, s, NULL);
    double *all = NEW_ARRAY(double, s.dim[axis]);
    for (int64_t i = 0; i < s.dim[axis]; i++) all[i] = (double)i;
    for (int k = 0; k < s.rank; k++)
        if (k != axis) v->there.dim[k] = 1;
    v->name = array_in_file(o, I32, v->there, all);
    return v;
}

Val *val_of(Onnx *o, const Node *n)
{
    Val *v = table_get(&o->values, n);
    if (!v) die("%s (node %d) is not there where it is used", op_info[n->op].name, n->id);
    return v;
}

void set_val(Onnx *o, const Node *n, Val *v) { *table_at(&o->values, n) = v; }
void set_name(Onnx *o, const Node *n, const char *name) { set_val(o, n, new_val(n->dtype, n->shape, name)); }

const char *published_name(const Param *p, const int64_t *at)
{
    Text t = {0};
    int k = 0;
    for (const char *c = p->export_name; *c; c++)
        if (c[0] == '%' && c[1] == 'd') say(&t, "%lld", (long long)at[k++]), c++;
        else say(&t, "%c", *c);
    must(k == p->loops);
    return t.at;
}

/* All axes of its copies are settled: the tensor that files of weights have under its published name. */
static const char *weight_in_file(Onnx *o, const Val *v)
{
    const char *name = published_name(v->param, v->at);
    int *known = strings_at(&o->weight, name);
    if (!*known) push(&o->weights, name), *known = o->weights.n;
    return o->weights.at[*known - 1];
}

/* One axis in front of each, along which they are joined. */
static const char *joined_stack(Onnx *o, const Vals *parts)
{
    const char **in = NEW_ARRAY(const char *, parts->n);
    Text axis = {0};
    attribute_int(&axis, "axis", 0);
    for (int k = 0; k < parts->n; k++)
        in[k] = operator_2(o, "Unsqueeze", whole_value(o, parts->at[k]), longs_in_file(o, 1, &(int64_t){0}));
    return operator_n(o, "Concat", parts->n, in, &axis);
}

const char *whole_value(Onnx *o, Val *v)
{
    if (!v->name && v->param && v->nat == v->param->loops) v->name = weight_in_file(o, v);
    if (!v->name) {
        Vals parts = v->part;
        for (int64_t i = 0; i < v->shape.dim[0] && v->param; i++) push(&parts, val_at(o, v, i));
        v->name = joined_stack(o, &parts);
    }
    if (same_shape(v->there, v->shape)) return v->name;
    v->name = operator_2(o, "Expand", v->name, longs_in_file(o, v->shape.rank, v->shape.dim));
    v->there = v->shape;
    return v->name;
}

const char *whole_input(Onnx *o, int k) { return whole_value(o, val_of(o, o->node->in[k])); }

Val *val_at(Onnx *o, Val *v, int64_t i)
{
    Val *e = NEW(Val);
    if (v->part.n) return v->part.at[i];
    *e = *v;
    e->shape = shape_behind(v->shape);
    if (v->param && v->nat < v->param->loops) {
        e->at[e->nat++] = i;
        e->name = NULL, e->there = e->shape;
    } else if (v->there.rank || !v->name) {
        Text axis = {0};
        attribute_int(&axis, "axis", 0);
        whole_value(o, v);
        *e = *new_val(v->dtype, e->shape,
                      operator_n(o, "Gather", 2, (const char *[]){v->name, long_in_file(o, i)}, &axis));
    }
    return e;
}
