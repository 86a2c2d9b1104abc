/* maps.c: operations on elements: those that are an operator, and those that are made of several. */
#include "onnx/onnx.h"

#include <string.h>

/* No word: made of several operators below, or, for a new row of ops.def, not known here. */
static const char *const same_operator[OPS] = {
    [OP_neg] = "Neg",           [OP_abs] = "Abs",           [OP_sign] = "Sign",         [OP_exp] = "Exp",
    [OP_log] = "Log",           [OP_sqrt] = "Sqrt",         [OP_sin] = "Sin",           [OP_cos] = "Cos",
    [OP_tanh] = "Tanh",         [OP_erf] = "Erf",           [OP_softplus] = "Softplus", [OP_floor] = "Floor",
    [OP_add] = "Add",           [OP_sub] = "Sub",           [OP_mul] = "Mul",           [OP_div] = "Div",
    [OP_max] = "Max",           [OP_min] = "Min",           [OP_pow] = "Pow",           [OP_mod] = "Mod",
    [OP_bitand] = "BitwiseAnd", [OP_bitxor] = "BitwiseXor", [OP_lt] = "Less",           [OP_le] = "LessOrEqual",
    [OP_eq] = "Equal",          [OP_lnot] = "Not",          [OP_land] = "And",          [OP_lor] = "Or"};

/* exp(a) - 1, exact near 0: (u - 1) · a / log(u) with u = exp(a), as W. Kahan has it. */
static const char *expm1_in_file(Onnx *o, const char *a)
{
    const char *one = number_in_file(o, F32, 1), *u = operator_1(o, "Exp", a), *less = operator_2(o, "Sub", u, one);
    const char *exact = operator_2(o, "Mul", less, operator_2(o, "Div", a, operator_1(o, "Log", u)));
    exact = operator_3(o, "Where", operator_2(o, "Equal", u, one), a, exact);
    return operator_3(o, "Where", operator_2(o, "Less", operator_1(o, "Abs", a), one), exact, less);
}

/* As its row in ops.def says it. */
static const char *log1p_in_file(Onnx *o, const char *a)
{
    const char *one = number_in_file(o, F32, 1), *u = operator_2(o, "Add", a, one),
               *less = operator_2(o, "Sub", u, one);
    const char *factor = operator_3(o, "Where", operator_2(o, "Equal", less, a), one, operator_2(o, "Div", a, less));
    const char *exact = operator_2(o, "Mul", operator_1(o, "Log", u), factor);
    return operator_3(o, "Where", operator_2(o, "Equal", u, one), a, exact);
}

/* Div rounds towards 0, and does not round here. */
static const char *idiv_in_file(Onnx *o, const char *a, const char *b)
{
    return operator_2(o, "Div", operator_2(o, "Sub", a, operator_2(o, "Mod", a, b)), b);
}

static const char *unsigned_in_file(Onnx *o, const char *a)
{
    return cast_in_file(o, cast_in_file(o, a, ONNX_U32), ONNX_I64);
}

static const char *u01_in_file(Onnx *o, const char *a)
{
    const char *top = operator_2(o, "Div", unsigned_in_file(o, a), long_in_file(o, 256));
    return operator_2(o, "Mul", cast_in_file(o, top, onnx_type(F32)), number_in_file(o, F32, 0x1p-24));
}

/* onnxruntime has no Where of bools. */
static const char *where_in_file(Onnx *o, const char *const *in)
{
    if (o->node->dtype != BOOL) return operator_n(o, "Where", 3, in, NULL);
    const char *no = operator_2(o, "And", operator_1(o, "Not", in[0]), in[2]);
    return operator_2(o, "Or", operator_2(o, "And", in[0], in[1]), no);
}

static const char *cast_of_node(Onnx *o, const char *a)
{
    const Node *n = o->node;
    return n->dtype == n->in[0]->dtype ? a : cast_in_file(o, a, onnx_type(n->dtype));
}

static const char *map_in_file(Onnx *o, const char *const *in)
{
    const Node *n = o->node;
    if (same_operator[n->op]) return operator_n(o, same_operator[n->op], n->nin, in, NULL);
    switch (n->op) {
    case OP_expm1: return expm1_in_file(o, in[0]);
    case OP_log1p: return log1p_in_file(o, in[0]);
    case OP_rsqrt: return operator_1(o, "Reciprocal", operator_1(o, "Sqrt", in[0]));
    case OP_idiv: return idiv_in_file(o, in[0], in[1]);
    case OP_ne: return operator_1(o, "Not", operator_2(o, "Equal", in[0], in[1]));
    case OP_ult: return operator_2(o, "Less", unsigned_in_file(o, in[0]), unsigned_in_file(o, in[1]));
    case OP_where: return where_in_file(o, in);
    case OP_cast: return cast_of_node(o, in[0]);
    case OP_philox: return philox_in_file(o, in);
    case OP_u01: return u01_in_file(o, in[0]);
    default:
        err(n->where, "%s has no operator in ONNX that Lathe knows; this model cannot be exported",
            op_info[n->op].name);
    }
}

/* Inputs that repeat are taken as they are before, and so is the result, if all of them do. */
void onnx_map(Onnx *o)
{
    const Node *n = o->node;
    const char *in[MAXRANK];
    Shape there = {0};
    if (n->op == OP_class_id || n->op == OP_stop_gradient) { /* who runs the file checks its classes */
        set_val(o, n, val_of(o, n->in[0]));
        return;
    }
    for (int k = 0; k < n->nin; k++) {
        Val *v = val_of(o, n->in[k]);
        if (!v->name) whole_value(o, v);
        in[k] = v->name;
        if (v->there.rank > there.rank) there = v->there;
        for (int i = 0; i < v->there.rank; i++) there.dim[i] = max64(there.dim[i], v->there.dim[i]);
    }
    Val *v = new_val(n->dtype, n->shape, map_in_file(o, in));
    v->there = there;
    set_val(o, n, v);
}
