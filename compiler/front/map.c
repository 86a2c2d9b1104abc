/* map.c: element-wise ops: a binding for every row of graph/ops.def, the operators, broadcasting.
 *
 * Each row of graph/ops.def becomes nn.NAME(…) and x:NAME(…).  Shapes and types are checked here, before a node is
 * made, so that messages name the user's line. */
#include "front/front.h"
#include "passes/passes.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ broadcasting, with the time axis followed */

const Mixed *mixing(lua_State *L, const Mixed *already, const char *fmt, ...)
{
    const Trace *trace = trace_of(L);
    if (already || trace->time_aware || trace->decode || trace->time <= 1) return already;
    va_list args;
    va_start(args, fmt);
    char why[512];
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    Mixed *m = NEW(Mixed);
    *m = (Mixed){lua_place(L), copy_string(why)};
    return m;
}

/* "    a  [batch 12, time 64]" for each input */
static char *inputs_text(const Tensor *t, int n)
{
    Text out = {0};
    for (int i = 0; i < n; i++) say(&out, "\n    %c  %s", 'a' + i, tensor_text(&t[i]));
    return out.at;
}

static bool fits_operands(Shape a, Shape b)
{
    for (int i = 1; i <= a.rank && i <= b.rank; i++) {
        int64_t x = a.dim[a.rank - i], y = b.dim[b.rank - i];
        if (x != y && x != 1 && y != 1) return false;
    }
    return true;
}

/* A transpose or unsqueeze of b, called `name`, that would make it fit; NULL: none. */
static const char *cure(Shape a, Shape b, char name)
{
    Shape t = b;
    if (t.rank >= 2) {
        t.dim[t.rank - 1] = b.dim[t.rank - 2];
        t.dim[t.rank - 2] = b.dim[t.rank - 1];
        if (fits_operands(a, t)) return format("\n  %c:transpose(-1, -2) would fit", name);
    }
    for (int axis = b.rank; axis >= 1 && b.rank < a.rank; axis--) {
        t = b;
        t.rank++;
        for (int i = t.rank - 1; i > axis; i--) t.dim[i] = t.dim[i - 1];
        t.dim[axis] = 1;
        if (fits_operands(a, t))
            return format("\n  %c:unsqueeze(%d), of shape %s, would fit", name, axis, shape_text(t));
    }
    return NULL;
}

static _Noreturn void misfit(lua_State *L, const Tensor *t, int n, int x, int y, int axis, const char *doing)
{
    Shape a = t[x].node->shape, b = t[y].node->shape;
    const char *how = cure(a, b, (char)('a' + y));
    if (!how) how = cure(b, a, (char)('a' + x));
    user_error(L,
               "%s: the shapes do not fit%s\n  axis -%d has %lld in %c and %lld in %c; extents must be equal, or one "
               "of them 1%s",
               doing, inputs_text(t, n), axis, (long long)a.dim[a.rank - axis], 'a' + x,
               (long long)b.dim[b.rank - axis], 'a' + y, how ? how : "");
}

static Shape common_shape(lua_State *L, const Tensor *t, int n, const char *doing)
{
    Shape s = {0};
    for (int k = 0; k < n; k++)
        if (t[k].node->shape.rank > s.rank) s.rank = t[k].node->shape.rank;
    for (int i = 1; i <= s.rank; i++) {
        int first = -1;
        for (int k = 0; k < n; k++) {
            Shape o = t[k].node->shape;
            if (i > o.rank || o.dim[o.rank - i] == 1) continue;
            if (first >= 0 && o.dim[o.rank - i] != s.dim[s.rank - i]) misfit(L, t, n, first, k, i, doing);
            if (first < 0) first = k;
            s.dim[s.rank - i] = o.dim[o.rank - i];
        }
        if (first < 0) s.dim[s.rank - i] = 1;
    }
    check_size(L, s);
    return s;
}

static Factor aligned_operands(Factor f, int rank, int wider)
{
    if (f.axis >= 0) f.axis += wider - rank;
    return f;
}

static bool same_factor(Factor a, Factor b) { return a.axis == b.axis && a.outer == b.outer && a.inner == b.inner; }

/* The batch and time axes of the result, of shape s; the inputs are not broadcast yet. */
static void combine(lua_State *L, const Tensor *t, int n, Shape s, Tensor *r, const char *doing)
{
    *r = (Tensor){.batch = NOWHERE, .time = NOWHERE, .trace = trace_of(L)->number};
    for (int k = 0; k < n; k++) {
        Factor b = aligned_operands(t[k].batch, t[k].node->shape.rank, s.rank),
               f = aligned_operands(t[k].time, t[k].node->shape.rank, s.rank);
        if (r->batch.axis < 0) r->batch = b;
        if (!r->mixed) r->mixed = t[k].mixed;
        if (r->time.axis < 0) r->time = f;
        else if (f.axis >= 0 && !same_factor(r->time, f))
            r->mixed = mixing(L, r->mixed, "%s combines values of different times", doing);
    }
    for (int k = 0; k < n && r->time.axis >= 0; k++) {
        int axis = r->time.axis - (s.rank - t[k].node->shape.rank);
        if (t[k].time.axis < 0 && axis >= 0 && t[k].node->shape.dim[axis] > 1 && !is_filled(t[k].node, NULL))
            r->mixed = mixing(L, r->mixed, "%s: the other operand has its own value for each position in time", doing);
    }
}

Shape broadcast_shape(lua_State *L, const Tensor *t, int n, Tensor *result, const char *doing)
{
    Shape s = common_shape(L, t, n, doing);
    combine(L, t, n, s, result, doing);
    return s;
}

static void broadcast_all(lua_State *L, Tensor *t, int n, Tensor *result, const char *doing)
{
    Shape s = broadcast_shape(L, t, n, result, doing);
    for (int k = 0; k < n; k++) t[k].node = broadcast(t[k].node, s);
}

/* ------------------------------------------------------------------ numbers of the description */

bool single(const Trace *trace) { return !same(precision_of(trace->desc->options).name, "fp64"); }

double real_number(lua_State *L, int arg, const char *doing)
{
    double v = lua_tonumber(L, arg);
    if (!single(trace_of(L))) return v;
    if (isfinite(v) && fabs(v) > FLT_MAX)
        user_error(L, "%s: %s exceeds the largest number of fp32, 3.4e38; for infinity write math.huge", doing,
                   lua_text(L, arg));
    if (lua_isinteger(L, arg) && (double)(float)v != v)
        warn(lua_place(L),
             "%s: %s becomes %.0f: fp32 represents all integers only up to %d; keep ids in i32 tensors, or build with "
             "--precision fp64",
             doing, lua_text(L, arg), (double)(float)v, EXACT_INTEGERS);
    return v;
}

/* ------------------------------------------------------------------ element-wise ops */

static Node *constant_at(lua_State *L, int arg, DType t, const char *doing)
{
    if (t == BOOL) {
        if (!lua_isboolean(L, arg))
            user_error(L, "%s: expected true or false beside a bool tensor, found %s", doing, lua_text(L, arg));
        return scalar(lua_toboolean(L, arg), BOOL);
    }
    if (lua_type(L, arg) != LUA_TNUMBER)
        user_error(L, "%s: expected a tensor or a number, found %s", doing, lua_text(L, arg));
    double v = t == I32 ? lua_tonumber(L, arg) : real_number(L, arg, doing);
    if (t == I32 && (v != floor(v) || fabs(v) > 2147483648.0 || v == 2147483648.0))
        user_error(L, "%s: %s is not a 32-bit integer, but the tensor beside it is i32; x:cast(\"f32\") makes it real",
                   doing, lua_text(L, arg));
    make_at(lua_place(L));
    return scalar(v, t);
}

/* Reads tensors or numbers of one type at arguments first … first + n - 1. */
static void operands(lua_State *L, int first, int n, Tensor *t, const char *doing)
{
    const Tensor *model = NULL;
    for (int k = 0; k < n && !model; k++)
        if (is_tensor(L, first + k)) model = tensor_at(L, first + k, doing);
    if (!model && n == 1 && lua_isnoneornil(L, first))
        user_error(L, "%s needs its tensor at once: %s(x)", doing, doing);
    if (!model) user_error(L, "%s needs a tensor, found %s", doing, lua_text(L, first));
    for (int k = 0; k < n; k++) {
        if (is_tensor(L, first + k)) t[k] = *tensor_at(L, first + k, doing);
        else
            t[k] = (Tensor){constant_at(L, first + k, model->node->dtype, doing), NOWHERE, NOWHERE, NULL,
                            trace_of(L)->number};
        if (t[k].node->dtype != model->node->dtype)
            user_error(L, "%s: the types differ, %s and %s; x:cast(\"%s\") converts%s", doing,
                       dtype_name(model->node->dtype), dtype_name(t[k].node->dtype),
                       is_real(model->node->dtype) ? dtype_name(model->node->dtype) : "f32", inputs_text(t, k + 1));
    }
}

void check_class(lua_State *L, Op op, DType t, const char *doing)
{
    const char *class = op_info[op].class;
    const char *wants = same(class, "REAL") && !is_real(t) ? "a real tensor; x:cast(\"f32\") makes one"
                        : same(class, "NUM") && t == BOOL
                            ? "numbers; nn.where(condition, a, b) or x:cast(\"f32\") makes them"
                        : same(class, "INT") && t != I32    ? "an i32 tensor"
                        : same(class, "LOGIC") && t != BOOL ? "a bool tensor, such as nn.lt(a, b) gives"
                        : same(class, "CMP") && t == BOOL && op != OP_eq && op != OP_ne ? "numbers"
                                                                                        : NULL;
    if (wants) user_error(L, "%s cannot take %s: it needs %s", doing, dtype_name(t), wants);
}

static const char *spelling(Op op)
{
    switch (op) {
    case OP_add: return "a + b";
    case OP_sub: return "a - b";
    case OP_mul: return "a * b";
    case OP_div: return "a / b";
    case OP_pow: return "a ^ b";
    case OP_neg: return "-a";
    default: return format("nn.%s", op_info[op].name);
    }
}

static int push_map(lua_State *L, Op op, Tensor *t, int n)
{
    const char *doing = spelling(op);
    Tensor result;
    check_class(L, op, t[0].node->dtype, doing);
    broadcast_all(L, t, n, &result, doing);
    Node *in[3];
    for (int k = 0; k < n; k++) in[k] = t[k].node;
    make_at(lua_place(L));
    push_like(L, map_op(op, n, in), &result);
    return 1;
}

/* torch.max(x, -1) reduces; here that is x:max(-1).  So an integer that is also an axis of x is refused. */
static void refuse_axis_as_value(lua_State *L, Op op, const Tensor *t)
{
    lua_Integer v = lua_tointeger(L, 2);
    int rank = t[0].node->shape.rank;
    const char *name = op_info[op].name;
    if ((op != OP_max && op != OP_min) || !lua_isinteger(L, 2) || v == 0 || v < -rank || v >= rank) return;
    user_error(L,
               "nn.%s(x, %lld) compares element by element, but %lld is also an axis of x %s\n"
               "  for the axis, write x:%s(%lld); for the value, nn.%s(x, %lld.0)",
               name, (long long)v, (long long)v, tensor_text(&t[0]), name, (long long)v, name, (long long)v);
}

static int call_map(lua_State *L)
{
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(1));
    int n = op_info[op].arity;
    Tensor t[3];
    if (lua_gettop(L) > n)
        user_error(L, "%s takes %d argument%s, found %d", spelling(op), n, n > 1 ? "s" : "", lua_gettop(L));
    lua_settop(L, n);
    operands(L, 1, n, t, spelling(op));
    if (n == 2) refuse_axis_as_value(L, op, t);
    return push_map(L, op, t, n);
}

/* Unary metamethods get the operand twice; of binary ones either side may be a number. */
static int operate(lua_State *L)
{
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(1));
    Tensor t[2];
    operands(L, 1, op_info[op].arity, t, spelling(op));
    return push_map(L, op, t, op_info[op].arity);
}

/* x ^ 2 is x * x and so on: exact, differentiable everywhere, and cheaper. */
static int power(lua_State *L)
{
    Tensor t[2];
    check_surplus(L, 2, "nn.pow");
    lua_settop(L, 2);
    operands(L, 1, 2, t, "a ^ b");
    double e = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : 0;
    check_class(L, OP_pow, t[0].node->dtype, "a ^ b");
    make_at(lua_place(L));
    Node *x = t[0].node, *y = NULL;
    if (e == 1) y = x;
    else if (e == 2) y = map2(OP_mul, x, x);
    else if (e == 3) y = map2(OP_mul, map2(OP_mul, x, x), x);
    else if (e == 0.5) y = map1(OP_sqrt, x);
    else if (e == -0.5) y = map1(OP_rsqrt, x);
    else if (e == -1) y = map2(OP_div, filled(1, x->dtype, x->shape), x);
    if (!y) return push_map(L, OP_pow, t, 2);
    push_like(L, y, &t[0]);
    return 1;
}

/* a // b and a % b: for integers idiv and mod; for reals floor(a / b) and a - b floor(a / b). */
static int divide_down(lua_State *L)
{
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(1));
    const char *doing = op == OP_idiv ? "a // b" : "a % b";
    Tensor t[2], r;
    operands(L, 1, 2, t, doing);
    if (t[0].node->dtype == I32) return push_map(L, op, t, 2);
    check_class(L, OP_div, t[0].node->dtype, doing);
    broadcast_all(L, t, 2, &r, doing);
    make_at(lua_place(L));
    Node *down = map1(OP_floor, map2(OP_div, t[0].node, t[1].node));
    push_like(L, op == OP_idiv ? down : map2(OP_sub, t[0].node, map2(OP_mul, t[1].node, down)), &r);
    return 1;
}

static int where_call(lua_State *L)
{
    Tensor t[3], r, *condition = tensor_at(L, 1, "nn.where");
    if (condition->node->dtype != BOOL)
        user_error(
            L, "nn.where(condition, a, b): the condition must be a bool tensor, such as nn.lt(a, b) gives, found %s",
            lua_text(L, 1));
    lua_settop(L, 3);
    if (is_tensor(L, 2) || is_tensor(L, 3)) operands(L, 2, 2, t + 1, "nn.where");
    else
        for (int k = 1; k < 3; k++)
            t[k] = (Tensor){constant_at(L, k + 1, F32, "nn.where"), NOWHERE, NOWHERE, NULL, trace_of(L)->number};
    t[0] = *condition;
    broadcast_all(L, t, 3, &r, "nn.where");
    make_at(lua_place(L));
    push_like(L, where_op(t[0].node, t[1].node, t[2].node), &r);
    return 1;
}

static int cast_call(lua_State *L)
{
    static const struct {
        const char *name;
        DType type;
    } types[] = {{"f32", F32}, {"i32", I32}, {"bool", BOOL}, {"real", F32}, {"int", I32}};
    const Trace *trace = trace_of(L);
    const Tensor *t = tensor_at(L, 1, "cast");
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    for (int i = 0; i < COUNT_OF(types); i++) {
        if (!same(name, types[i].name)) continue;
        int64_t largest = types[i].type == F32 && single(trace) ? largest_integer(t->node, trace->desc) : 0;
        if (largest > EXACT_INTEGERS)
            warn(lua_place(L),
                 "x:cast(\"f32\"): these integers go up to %lld, but fp32 represents all integers only up to %d; "
                 "larger ones are rounded",
                 (long long)largest, EXACT_INTEGERS);
        make_at(lua_place(L));
        push_like(L, cast_op(t->node, types[i].type), t);
        return 1;
    }
    user_error(L, "x:cast(type): the type must be \"f32\", \"i32\" or \"bool\", found %s", lua_text(L, 2));
}

/* Integers and bools have no gradient to stop. */
static int stop_gradient_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:stop_gradient");
    make_at(lua_place(L));
    push_like(L, is_real(t->node->dtype) ? stop_gradient(t->node) : t->node, t);
    return 1;
}

static int philox_call(lua_State *L)
{
    Tensor t[5], r;
    operands(L, 1, 5, t, "nn.philox");
    check_class(L, OP_bitand, t[0].node->dtype, "nn.philox");
    broadcast_all(L, t, 5, &r, "nn.philox");
    make_at(lua_place(L));
    push_like(L, philox(t[0].node, t[1].node, t[2].node, t[3].node, t[4].node), &r);
    return 1;
}

static int u01_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "nn.u01");
    if (t->node->dtype != I32) user_error(L, "nn.u01 needs i32 bits, found %s", lua_text(L, 1));
    make_at(lua_place(L));
    push_like(L, u01(t->node, F32), t);
    return 1;
}

/* ------------------------------------------------------------------ tables of all this */

void set_op(lua_State *L, int table, const char *name, lua_CFunction f, Op op)
{
    lua_pushinteger(L, op);
    lua_pushcclosure(L, f, 1);
    lua_setfield(L, table, name);
}

/* A reduction rX with an element-wise X: x:X(axis) reduces, nn.X(a, b) works element by element. */
Op element_twin(Op op)
{
    for (int m = 0; m < OPS && op_info[op].kind == REDUCE && op_info[op].name[0] == 'r'; m++)
        if (op_info[m].kind == MAP && same(op_info[m].name, op_info[op].name + 1)) return (Op)m;
    return OPS;
}

void bind_ops(lua_State *L, int nn, int methods)
{
    for (int op = 0; op < OPS; op++) {
        bool map = op_info[op].kind == MAP && op_info[op].class[0];
        for (int i = 0; i < 2 && map; i++) set_op(L, i ? nn : methods, op_info[op].name, call_map, (Op)op);
    }
    bind_reductions(L, nn, methods);
    set_op(L, nn, "pow", power, OP_pow);
    set_op(L, methods, "pow", power, OP_pow);
}

void bind_operators(lua_State *L, int meta)
{
    static const struct {
        const char *name;
        lua_CFunction f;
        Op op;
    } operators[] = {{"__add", operate, OP_add},       {"__sub", operate, OP_sub},     {"__mul", operate, OP_mul},
                     {"__div", operate, OP_div},       {"__unm", operate, OP_neg},     {"__pow", power, OP_pow},
                     {"__idiv", divide_down, OP_idiv}, {"__mod", divide_down, OP_mod}, {"__band", operate, OP_bitand},
                     {"__bxor", operate, OP_bitxor}};
    for (int i = 0; i < COUNT_OF(operators); i++) set_op(L, meta, operators[i].name, operators[i].f, operators[i].op);
}

const Binding map_bindings[] = {{"where", where_call, "a: lathe.Tensor|number, b: lathe.Tensor|number): lathe.Tensor",
                                 "a where the bool tensor holds, else b"},
                                {"cast", cast_call, "type: \"f32\"|\"i32\"|\"bool\"): lathe.Tensor",
                                 "another type; real to integer truncates, to bool: not 0"},
                                {"stop_gradient", stop_gradient_call, "): lathe.Tensor",
                                 "the same values; no gradient flows through (detach of PyTorch)"},
                                {NULL, NULL, NULL, NULL}};

const Binding random_bindings[] = {
    {"philox", philox_call,
     "seed: lathe.Tensor, step: lathe.Tensor, site: lathe.Tensor|integer, row: lathe.Tensor, index: lathe.Tensor): "
     "lathe.Tensor",
     "i32 random bits as a pure function of five integers"},
    {"u01", u01_call, "bits: lathe.Tensor): lathe.Tensor", "the top 24 bits as a real in [0, 1)"},
    {NULL, NULL, NULL, NULL}};
