/* front_tensor.c: tensors as Lua values: operators, and a binding for every element-wise op and reduction of ops.def.
 *
 * The table is walked, not copied: a new row of ops.def is at once nn.NAME(…) and x:NAME(…).  Shapes and types are
 * checked here, before a node is made, so that the message can name the user's line. */
#include "front.h"

#include <math.h>
#include <string.h>

static const char tensor_type[] = "lathe.tensor";
enum { NODE_LIMIT = 1000000 };

/* ------------------------------------------------------------------ values */

Tensor *is_tensor(lua_State *L, int arg) { return luaL_testudata(L, arg, tensor_type); }

void push_tensor(lua_State *L, Node *n, Factor batch, Factor time, const Mixed *mixed)
{
    if (n->id > NODE_LIMIT)
        user_error(L, "the description makes more than %d operations: is a Lua loop unrolled that should be nn.stack or nn.scan?",
                   NODE_LIMIT);
    Tensor *t = lua_newuserdatauv(L, sizeof *t, 0);
    *t = (Tensor){.node = n, .batch = batch, .time = time, .mixed = mixed, .trace = trace.number};
    luaL_setmetatable(L, tensor_type);
}

void push_like(lua_State *L, Node *n, const Tensor *like) { push_tensor(L, n, like->batch, like->time, like->mixed); }

static const char *axis_name(const Tensor *t, int axis, int64_t extent)
{
    if (t->batch.axis == axis && t->batch.outer * t->batch.inner == 1) return "batch";
    if (t->time.axis == axis && t->time.outer * t->time.inner == 1) return "time";
    return knob_with_extent(extent);
}

char *shape_words(const Tensor *t, Shape s)
{
    if (s.rank == 0) return "[] (a scalar)";
    Text out = {0};
    for (int i = 0; i < s.rank; i++) {
        const char *name = axis_name(t, i, s.dim[i]);
        say(&out, "%s%s%s%lld", i ? ", " : "[", name ? name : "", name ? " " : "", (long long)s.dim[i]);
    }
    say(&out, "]");
    return out.at;
}

char *tensor_text(const Tensor *t) { return shape_words(t, t->node->shape); }

static void check_live(lua_State *L, const Tensor *t, const char *what)
{
    if (t->trace != trace.number)
        user_error(L, "%s: this tensor was made while another entry was traced; make tensors inside forward", what);
    if (t->node->in_loop && !loop_is_open(t->node->in_loop))
        user_error(L, "%s: this value belongs to one iteration of a finished loop (over %s): let the loop's function return it",
                   what, t->node->in_loop->name);
}

Tensor *tensor_at(lua_State *L, int arg, const char *what)
{
    Tensor *t = is_tensor(L, arg);
    if (!t) user_error(L, "%s needs a tensor here, and this is %s", what, lua_text(L, arg));
    check_live(L, t, what);
    return t;
}

int64_t integer_at(lua_State *L, int arg, const char *what)
{
    int ok;
    lua_Integer i = lua_tointegerx(L, arg, &ok);
    if (is_tensor(L, arg))
        user_error(L, "%s must be a number known before running, and this is a tensor (a loop index is one)", what);
    if (!ok || lua_type(L, arg) != LUA_TNUMBER) user_error(L, "%s must be an integer, and this is %s", what, lua_text(L, arg));
    return i;
}

int axis_value(lua_State *L, lua_Integer axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        if (rank == 0) user_error(L, "a scalar has no axis %lld", (long long)axis);
        user_error(L, "there is no axis %lld: a tensor of rank %d has axes 0 … %d, or -1 … -%d from the end", (long long)axis,
                   rank, rank - 1, rank);
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

int axis_at(lua_State *L, int arg, int rank) { return axis_value(L, integer_at(L, arg, "an axis"), rank); }

void check_size(lua_State *L, Shape s)
{
    double n = 1;
    for (int i = 0; i < s.rank; i++) n *= (double)s.dim[i];
    if (n > 1e12) user_error(L, "a tensor of shape %s has too many elements", shape_text(s));
}

Shape shape_at(lua_State *L, int arg)
{
    Shape s = {0};
    if (!lua_istable(L, arg)) user_error(L, "a shape is a table of extents like {2, 3}, and this is %s", lua_text(L, arg));
    s.rank = (int)lua_rawlen(L, arg);
    if (s.rank > MAXRANK) user_error(L, "a tensor has at most %d axes, and this shape has %d", MAXRANK, s.rank);
    for (int i = 0; i < s.rank; i++) {
        lua_geti(L, arg, i + 1);
        s.dim[i] = integer_at(L, -1, "an extent");
        if (s.dim[i] < 1) user_error(L, "an extent is at least 1, and axis %d has %lld", i, (long long)s.dim[i]);
        lua_pop(L, 1);
    }
    check_size(L, s);
    return s;
}

/* ------------------------------------------------------------------ broadcasting, with the time axis followed */

const Mixed *mixing(lua_State *L, const Mixed *already, const char *fmt, ...)
{
    if (already || trace.time_aware || trace.decode || trace.time <= 1) return already;
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

static bool fits(Shape a, Shape b)
{
    for (int i = 1; i <= a.rank && i <= b.rank; i++) {
        int64_t x = a.dim[a.rank - i], y = b.dim[b.rank - i];
        if (x != y && x != 1 && y != 1) return false;
    }
    return true;
}

/* A change of b (named `name`) that would make it fit, as far as one is obvious. */
static const char *cure(Shape a, Shape b, char name)
{
    Shape t = b;
    if (t.rank >= 2) {
        t.dim[t.rank - 1] = b.dim[t.rank - 2];
        t.dim[t.rank - 2] = b.dim[t.rank - 1];
        if (fits(a, t)) return format("\n  %c:transpose(-1, -2) would fit", name);
    }
    for (int axis = b.rank; axis >= 1 && b.rank < a.rank; axis--) {
        t = b;
        t.rank++;
        for (int i = t.rank - 1; i > axis; i--) t.dim[i] = t.dim[i - 1];
        t.dim[axis] = 1;
        if (fits(a, t)) return format("\n  %c:unsqueeze(%d), of shape %s, would fit", name, axis, shape_text(t));
    }
    return NULL;
}

static _Noreturn void misfit(lua_State *L, const Tensor *t, int n, int x, int y, int axis, const char *doing)
{
    Shape a = t[x].node->shape, b = t[y].node->shape;
    const char *how = cure(a, b, (char)('a' + y));
    if (!how) how = cure(b, a, (char)('a' + x));
    user_error(L, "%s: the shapes do not fit%s\n  axis -%d has %lld in %c and %lld in %c; extents must be equal, or one of them 1%s",
               doing, inputs_text(t, n), axis, (long long)a.dim[a.rank - axis], 'a' + x, (long long)b.dim[b.rank - axis],
               'a' + y, how ? how : "");
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

static Factor aligned(Factor f, int rank, int wider)
{
    if (f.axis >= 0) f.axis += wider - rank;
    return f;
}

static bool same_factor(Factor a, Factor b) { return a.axis == b.axis && a.outer == b.outer && a.inner == b.inner; }

/* Where the time axis of the result of an element-wise op lies; inputs are still unaligned, of result shape s. */
static void combine(lua_State *L, const Tensor *t, int n, Shape s, Tensor *r, const char *doing)
{
    *r = (Tensor){.batch = NOWHERE, .time = NOWHERE, .trace = trace.number};
    for (int k = 0; k < n; k++) {
        Factor b = aligned(t[k].batch, t[k].node->shape.rank, s.rank), f = aligned(t[k].time, t[k].node->shape.rank, s.rank);
        if (r->batch.axis < 0) r->batch = b;
        if (!r->mixed) r->mixed = t[k].mixed;
        if (r->time.axis < 0) r->time = f;
        else if (f.axis >= 0 && !same_factor(r->time, f))
            r->mixed = mixing(L, r->mixed, "%s combines values of different times", doing);
    }
    for (int k = 0; k < n && r->time.axis >= 0; k++) {
        int axis = r->time.axis - (s.rank - t[k].node->shape.rank);
        if (t[k].time.axis < 0 && axis >= 0 && t[k].node->shape.dim[axis] > 1 && !is_filled(t[k].node, NULL))
            r->mixed = mixing(L, r->mixed, "%s: along time, the other operand holds something else for each position", doing);
    }
}

void broadcast_all(lua_State *L, Tensor *t, int n, Tensor *result, const char *doing)
{
    Shape s = common_shape(L, t, n, doing);
    combine(L, t, n, s, result, doing);
    for (int k = 0; k < n; k++) t[k].node = broadcast(t[k].node, s);
}

/* ------------------------------------------------------------------ element-wise ops */

static Node *constant_at(lua_State *L, int arg, DType t, const char *doing)
{
    if (t == BOOL) {
        if (!lua_isboolean(L, arg)) user_error(L, "%s: true or false is expected beside a bool, and this is %s", doing, lua_text(L, arg));
        return scalar(lua_toboolean(L, arg), BOOL);
    }
    if (lua_type(L, arg) != LUA_TNUMBER) user_error(L, "%s: a tensor or a number is expected, and this is %s", doing, lua_text(L, arg));
    double v = lua_tonumber(L, arg);
    if (t == I32 && (v != floor(v) || fabs(v) > 2147483648.0))
        user_error(L, "%s: %s is no integer of 32 bits, and the tensor beside it is i32; x:cast(\"f32\") makes it real", doing,
                   lua_text(L, arg));
    return scalar(v, t);
}

/* Tensors and numbers at arguments first … first + n - 1, of one type. */
static void operands(lua_State *L, int first, int n, Tensor *t, const char *doing)
{
    const Tensor *model = NULL;
    for (int k = 0; k < n && !model; k++)
        if (is_tensor(L, first + k)) model = tensor_at(L, first + k, doing);
    if (!model) user_error(L, "%s needs a tensor, and this is %s", doing, lua_text(L, first));
    for (int k = 0; k < n; k++) {
        if (is_tensor(L, first + k)) t[k] = *tensor_at(L, first + k, doing);
        else t[k] = (Tensor){constant_at(L, first + k, model->node->dtype, doing), NOWHERE, NOWHERE, NULL, trace.number};
        if (t[k].node->dtype != model->node->dtype)
            user_error(L, "%s: the types differ, %s and %s; x:cast(\"%s\") converts%s", doing, dtype_name(model->node->dtype),
                       dtype_name(t[k].node->dtype), is_real(model->node->dtype) ? dtype_name(model->node->dtype) : "f32",
                       inputs_text(t, k + 1));
    }
}

static void check_class(lua_State *L, Op op, DType t, const char *doing)
{
    const char *class = op_info[op].class;
    const char *wants = same(class, "REAL") && !is_real(t)      ? "a real tensor; x:cast(\"f32\") makes one"
                        : same(class, "NUM") && t == BOOL       ? "numbers; nn.where(condition, a, b) or x:cast(\"f32\") makes them"
                        : same(class, "INT") && t != I32        ? "an i32 tensor"
                        : same(class, "LOGIC") && t != BOOL     ? "bools, such as nn.lt(a, b) makes"
                        : same(class, "CMP") && t == BOOL && op != OP_eq && op != OP_ne ? "numbers"
                                                                : NULL;
    if (wants) user_error(L, "%s wants %s; this is %s", doing, wants, dtype_name(t));
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
    here = lua_place(L);
    push_like(L, map_op(op, n, in), &result);
    return 1;
}

static int call_map(lua_State *L)
{
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(1));
    int n = op_info[op].arity;
    Tensor t[3];
    if (lua_gettop(L) > n) user_error(L, "%s takes %d argument%s, and here are %d", spelling(op), n, n > 1 ? "s" : "", lua_gettop(L));
    lua_settop(L, n);
    operands(L, 1, n, t, spelling(op));
    return push_map(L, op, t, n);
}

/* Metamethods get the operand twice for unary ones; numbers on either side. */
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
    lua_settop(L, 2);
    operands(L, 1, 2, t, "a ^ b");
    double e = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : 0;
    check_class(L, OP_pow, t[0].node->dtype, "a ^ b");
    here = lua_place(L);
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

/* a // b and a % b: integers as the ops say; for reals floor(a / b) and a - b floor(a / b). */
static int divide_down(lua_State *L)
{
    Op op = (Op)lua_tointeger(L, lua_upvalueindex(1));
    const char *doing = op == OP_idiv ? "a // b" : "a % b";
    Tensor t[2], r;
    operands(L, 1, 2, t, doing);
    if (t[0].node->dtype == I32) return push_map(L, op, t, 2);
    check_class(L, OP_div, t[0].node->dtype, doing);
    broadcast_all(L, t, 2, &r, doing);
    here = lua_place(L);
    Node *down = map1(OP_floor, map2(OP_div, t[0].node, t[1].node));
    push_like(L, op == OP_idiv ? down : map2(OP_sub, t[0].node, map2(OP_mul, t[1].node, down)), &r);
    return 1;
}

static int where_call(lua_State *L)
{
    Tensor t[3], r, *condition = tensor_at(L, 1, "nn.where");
    if (condition->node->dtype != BOOL)
        user_error(L, "nn.where(condition, a, b): the condition is a bool tensor such as nn.lt(a, b) makes; this is %s", lua_text(L, 1));
    lua_settop(L, 3);
    if (is_tensor(L, 2) || is_tensor(L, 3)) operands(L, 2, 2, t + 1, "nn.where");
    else
        for (int k = 1; k < 3; k++) t[k] = (Tensor){constant_at(L, k + 1, F32, "nn.where"), NOWHERE, NOWHERE, NULL, trace.number};
    t[0] = *condition;
    broadcast_all(L, t, 3, &r, "nn.where");
    here = lua_place(L);
    push_like(L, where_op(t[0].node, t[1].node, t[2].node), &r);
    return 1;
}

static int cast_call(lua_State *L)
{
    static const char *const names[] = {"f32", "i32", "bool", "real", "int"};
    static const DType types[] = {F32, I32, BOOL, F32, I32};
    const Tensor *t = tensor_at(L, 1, "cast");
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    for (int i = 0; i < COUNT_OF(names); i++) {
        if (!same(name, names[i])) continue;
        here = lua_place(L);
        push_like(L, cast_op(t->node, types[i]), t);
        return 1;
    }
    user_error(L, "x:cast(type): the type is \"f32\", \"i32\" or \"bool\", and this is %s", lua_text(L, 2));
}

static int philox_call(lua_State *L)
{
    Tensor t[5], r;
    operands(L, 1, 5, t, "nn.philox");
    check_class(L, OP_bitand, t[0].node->dtype, "nn.philox");
    broadcast_all(L, t, 5, &r, "nn.philox");
    here = lua_place(L);
    push_like(L, philox(t[0].node, t[1].node, t[2].node, t[3].node, t[4].node), &r);
    return 1;
}

static int u01_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "nn.u01");
    if (t->node->dtype != I32) user_error(L, "nn.u01 wants i32 bits; this is %s", lua_text(L, 1));
    here = lua_place(L);
    push_like(L, u01(t->node, F32), t);
    return 1;
}

/* ------------------------------------------------------------------ reductions */

/* Axes as x:sum(-1), x:sum(0, 1), x:sum{-1, keep = true}; none: all. */
static int axes_at(lua_State *L, int first, int rank, int *axes, bool *keep)
{
    int n = 0, top = lua_gettop(L);
    bool seen[MAXRANK] = {false};
    *keep = false;
    if (top >= first && lua_istable(L, first) && !is_tensor(L, first)) {
        lua_getfield(L, first, "keep");
        *keep = lua_toboolean(L, -1);
        int count = (int)lua_rawlen(L, first);
        for (int i = 1; i <= count; i++) lua_geti(L, first, i);
        first = top + 2;
        top = lua_gettop(L);
    }
    for (int arg = first; arg <= top; arg++) {
        int axis = axis_at(L, arg, rank);
        if (seen[axis]) user_error(L, "axis %d is given twice", axis);
        seen[axis] = true;
        axes[n++] = axis;
    }
    if (n == 0)
        for (; n < rank; n++) axes[n] = n;
    return n;
}

/* What becomes of an axis when those marked go away (or stay as 1 with keep). */
static Factor reduced(Factor f, const bool *gone, bool keep)
{
    if (f.axis < 0) return f;
    if (gone[f.axis]) return NOWHERE;
    int axis = f.axis;
    for (int i = 0; i < axis && !keep; i++) f.axis -= gone[i];
    return f;
}

static int push_reduced(lua_State *L, Op op, bool mean)
{
    const char *doing = mean ? "x:mean" : op == OP_sum ? "x:sum" : "x:max";
    Tensor t = *tensor_at(L, 1, doing);
    Shape s = t.node->shape, kept = s;
    int axes[MAXRANK];
    bool keep, gone[MAXRANK] = {false};
    int n = axes_at(L, 2, s.rank, axes, &keep);
    check_class(L, mean ? OP_div : OP_add, t.node->dtype, doing);
    double count = 1;
    for (int i = 0; i < n; i++) {
        gone[axes[i]] = true;
        kept.dim[axes[i]] = 1;
        count *= (double)s.dim[axes[i]];
    }
    here = lua_place(L);
    Node *y = reduce(op, t.node, n, axes);
    if (mean) y = map2(OP_div, y, filled(count, y->dtype, y->shape));
    if (keep) y = reshape(y, kept);
    if (t.time.axis >= 0 && gone[t.time.axis]) t.mixed = mixing(L, t.mixed, "%s runs over the time axis", doing);
    push_tensor(L, y, reduced(t.batch, gone, keep), reduced(t.time, gone, keep), t.mixed);
    return 1;
}

static int reduce_call(lua_State *L) { return push_reduced(L, (Op)lua_tointeger(L, lua_upvalueindex(1)), false); }
static int mean_call(lua_State *L) { return push_reduced(L, OP_sum, true); }

/* ------------------------------------------------------------------ what a tensor is not */

void refuse_comparison(lua_State *L, const char *symbol, const char *function)
{
    bool index = false;
    for (int i = 1; i <= 2; i++) {
        const Tensor *t = is_tensor(L, i);
        index |= t && t->node->op == OP_loop_arg && t->node->ints[0] == ARG_INDEX;
    }
    user_error(L, "`a %s b` asks Lua to choose, but %s: a description is traced once, before there are values\n"
                  "  nn.%s(a, b) compares element by element, nn.where(condition, x, y) chooses;%s", symbol,
               index ? "the loop index is a tensor" : "these are tensors", function,
               trace.open.n ? " for layers that differ, use a Lua `for` or a block of several layers" : " extents are x:size(axis)");
}

static int cannot_compare(lua_State *L)
{
    refuse_comparison(L, lua_tostring(L, lua_upvalueindex(1)), lua_tostring(L, lua_upvalueindex(2)));
}

static int cannot(lua_State *L)
{
    user_error(L, "a tensor cannot be %s", lua_tostring(L, lua_upvalueindex(1)));
}

static int push_shape(lua_State *L, Shape s)
{
    lua_createtable(L, s.rank, 0);
    for (int i = 0; i < s.rank; i++) {
        lua_pushinteger(L, s.dim[i]);
        lua_seti(L, -2, i + 1);
    }
    return 1;
}

/* x.shape, x.rank, x.dtype, else a method. */
static int index_tensor(lua_State *L)
{
    const Tensor *t = is_tensor(L, 1);
    if (lua_type(L, 2) != LUA_TSTRING)
        user_error(L, "x[%s]: parts of a tensor are x:slice(axis, first, last) or x:select(axis, i)", lua_text(L, 2));
    const char *key = lua_tostring(L, 2);
    if (same(key, "shape")) return push_shape(L, t->node->shape);
    if (same(key, "rank")) return lua_pushinteger(L, t->node->shape.rank), 1;
    if (same(key, "dtype")) return lua_pushstring(L, dtype_name(t->node->dtype)), 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const char **words;
    int n;
    keys_of(L, lua_upvalueindex(1), &words, &n);
    const char *close = nearest(key, words, n);
    user_error(L, "a tensor has no '%s'%s", key, close ? format("; did you mean x:%s(…)?", close) : "");
}

static int size_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:size");
    lua_pushinteger(L, t->node->shape.dim[axis_at(L, 2, t->node->shape.rank)]);
    return 1;
}

static int text_call(lua_State *L)
{
    lua_pushstring(L, lua_text(L, 1));
    return 1;
}

static int is_tensor_call(lua_State *L)
{
    lua_pushboolean(L, is_tensor(L, 1) != NULL);
    return 1;
}

/* ------------------------------------------------------------------ tables of all this */

static void set_op(lua_State *L, int table, const char *name, lua_CFunction f, Op op)
{
    lua_pushinteger(L, op);
    lua_pushcclosure(L, f, 1);
    lua_setfield(L, table, name);
}

/* A reduction rX beside an element-wise X: x:X(axis) reduces, nn.X(a, b) is element by element. */
static Op element_twin(Op op)
{
    for (int m = 0; m < OPS && op_info[op].kind == REDUCE && op_info[op].name[0] == 'r'; m++)
        if (op_info[m].kind == MAP && same(op_info[m].name, op_info[op].name + 1)) return (Op)m;
    return OPS;
}

static void bind_ops(lua_State *L, int nn, int methods)
{
    for (int op = 0; op < OPS; op++) {
        bool map = op_info[op].kind == MAP && op_info[op].class[0];
        if (map || op_info[op].kind == REDUCE)
            for (int i = 0; i < 2; i++)
                set_op(L, i ? nn : methods, op_info[op].name, map ? call_map : reduce_call, (Op)op);
    }
    for (int op = 0; op < OPS; op++)
        if (element_twin((Op)op) < OPS) set_op(L, methods, op_info[op].name + 1, reduce_call, (Op)op);
    set_op(L, nn, "pow", power, OP_pow);
    set_op(L, methods, "pow", power, OP_pow);
}

static void bind_operators(lua_State *L, int meta)
{
    static const struct { const char *name; lua_CFunction f; Op op; } operators[] = {
        {"__add", operate, OP_add}, {"__sub", operate, OP_sub}, {"__mul", operate, OP_mul}, {"__div", operate, OP_div},
        {"__unm", operate, OP_neg}, {"__pow", power, OP_pow}, {"__idiv", divide_down, OP_idiv}, {"__mod", divide_down, OP_mod},
        {"__band", operate, OP_bitand}, {"__bxor", operate, OP_bitxor}};
    for (int i = 0; i < COUNT_OF(operators); i++) set_op(L, meta, operators[i].name, operators[i].f, operators[i].op);
    static const char *const compare[][3] = {{"__lt", "<", "lt"}, {"__le", "<=", "le"}, {"__eq", "==", "eq"}};
    for (int i = 0; i < COUNT_OF(compare); i++) {
        lua_pushstring(L, compare[i][1]);
        lua_pushstring(L, compare[i][2]);
        lua_pushcclosure(L, cannot_compare, 2);
        lua_setfield(L, meta, compare[i][0]);
    }
    static const char *const not[][2] = {{"__call", "called; is this a layer that was applied already?"}, {"__concat", "joined to text"},
                                         {"__len", "measured by #; x:size(axis) is an extent, x.rank the number of axes"},
                                         {"__newindex", "assigned to: operations make new tensors"}};
    for (int i = 0; i < COUNT_OF(not); i++) {
        lua_pushstring(L, not[i][1]);
        lua_pushcclosure(L, cannot, 1);
        lua_setfield(L, meta, not[i][0]);
    }
}

const Binding both_bindings[] = {
    {"where", where_call, "a: lathe.Tensor|number, b: lathe.Tensor|number): lathe.Tensor", "a where the bool tensor holds, else b"},
    {"cast", cast_call, "type: \"f32\"|\"i32\"|\"bool\"): lathe.Tensor", "another type; real to integer truncates, to bool: not 0"},
    {"mean", mean_call, "axis?: integer|table, ...: integer): lathe.Tensor", "mean over axes (all if none is named); {axis, keep = true} keeps them as 1"},
    {NULL, NULL, NULL, NULL}};

const Binding function_bindings[] = {
    {"philox", philox_call,
     "seed: lathe.Tensor, step: lathe.Tensor, site: lathe.Tensor|integer, row: lathe.Tensor, index: lathe.Tensor): lathe.Tensor",
     "i32 random bits as a pure function of five integers"},
    {"u01", u01_call, "bits: lathe.Tensor): lathe.Tensor", "the top 24 bits as a real in [0, 1)"},
    {"is_tensor", is_tensor_call, "value: any): boolean", "whether a value is a tensor"},
    {NULL, NULL, NULL, NULL}};

const Binding method_bindings[] = {
    {"size", size_call, "axis: integer): integer", "extent of an axis"},
    {NULL, NULL, NULL, NULL}};

void bind(lua_State *L, int table, const Binding *list)
{
    for (; list->name; list++) {
        lua_pushcfunction(L, list->f);
        lua_setfield(L, table, list->name);
    }
}

/* core is on the top: gets nn and methods. */
void open_tensors(lua_State *L)
{
    int core = lua_gettop(L), nn = core + 1, methods = core + 2, meta = core + 3;
    lua_newtable(L);
    lua_newtable(L);
    luaL_newmetatable(L, tensor_type);
    bind_ops(L, nn, methods);
    for (int i = 0; i < 2; i++) {
        bind(L, i ? nn : methods, both_bindings);
        bind(L, i ? nn : methods, move_methods);
        bind(L, i ? nn : methods, i ? function_bindings : method_bindings);
        if (i) bind(L, nn, shape_functions);
    }
    bind_operators(L, meta);
    lua_pushvalue(L, methods);
    lua_pushcclosure(L, index_tensor, 1);
    lua_setfield(L, meta, "__index");
    lua_pushcfunction(L, text_call);
    lua_setfield(L, meta, "__tostring");
    for (int i = 0; i < 2; i++) {
        lua_pushliteral(L, "tensor");
        lua_setfield(L, meta, i ? "__metatable" : "__name");
    }
    lua_settop(L, methods);
    lua_setfield(L, core, "methods");
    lua_setfield(L, core, "nn");
}
