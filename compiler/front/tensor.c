/* tensor.c: tensors as Lua values: their fields and methods, how messages show them, what they refuse. */
#include "front/front.h"

#include <string.h>

static const char tensor_type[] = "lathe.tensor";
enum { NODE_LIMIT = 200000 };
#define MOST_ELEMENTS 1e12

/* ------------------------------------------------------------------ values */

Tensor *is_tensor(lua_State *L, int arg) { return luaL_testudata(L, arg, tensor_type); }

/* Every shape is checked here before a node is made, so extents, strides and bytes do not overflow, and generated loops
 * can count in 32 bits. */
void check_size(lua_State *L, Shape s)
{
    double n = 1;
    for (int i = 0; i < s.rank; i++) {
        if (s.dim[i] < 1 || s.dim[i] > INT32_MAX)
            user_error(L, "an axis must have 1 to %d elements, but axis %d of %s would have %lld", INT32_MAX, i,
                       shape_text(s), (long long)s.dim[i]);
        n *= (double)s.dim[i];
    }
    if (n > MOST_ELEMENTS)
        user_error(L, "a tensor of shape %s has too many elements: %.3g; the limit is %.3g", shape_text(s), n,
                   MOST_ELEMENTS);
}

/* A value made in a loop may be stored for all iterations, so the product must fit too. */
static void check_iterations(lua_State *L, Shape s)
{
    Trace *trace = trace_of(L);
    check_size(L, s);
    double n = trace->graph && trace->graph->micro ? (double)trace->graph->micro->trip : 1;
    for (int i = 0; i < s.rank; i++) n *= (double)s.dim[i];
    for (int i = 0; i < trace->open.n; i++) n *= (double)trace->open.at[i]->trip;
    if (n > 0x1p53)
        user_error(L, "a tensor of shape %s, once per iteration of the loops around it, has too many elements: %.3g",
                   shape_text(s), n);
}

int64_t extent_sum(lua_State *L, int64_t a, int64_t b, const char *doing)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum) || sum > INT32_MAX)
        user_error(L, "%s: an axis must have 1 to %d elements, but %lld and %lld together are more", doing, INT32_MAX,
                   (long long)a, (long long)b);
    return sum;
}

/* A known node, such as 0 … 31, is shared by all lines; the first one names its axes. */
static void name_axes_of(Trace *trace, Node *n)
{
    Shape s = n->shape;
    name_axes(trace, &s, AXES_OF_TENSOR);
    for (int k = 0; k < s.rank; k++)
        if (!n->known || !n->shape.axis[k]) n->shape.axis[k] = s.axis[k];
    if (!n->known && !(op_info[n->op].facts & REPEATS)) n->weak = 0;
    if (n->op == OP_reshape) note_reshape(n->in[0]->shape, n->shape);
}

void push_tensor(lua_State *L, Node *n, Factor batch, Factor time, const Mixed *mixed)
{
    Trace *trace = trace_of(L);
    if (n->id - trace->first > NODE_LIMIT)
        user_error(L,
                   "the description makes more than %d operations; should an unrolled Lua loop be nn.stack or nn.scan?",
                   NODE_LIMIT);
    check_iterations(L, n->shape);
    name_axes_of(trace, n);
    if (trace->decode && batch.axis >= 0) *table_at(&trace->rows, n) = copy_of(&batch, sizeof batch);
    Tensor *t = lua_newuserdatauv(L, sizeof *t, 0);
    expect_titles(L);
    *t = (Tensor){.node = n, .batch = batch, .time = time, .mixed = mixed, .trace = trace->number};
    luaL_setmetatable(L, tensor_type);
}

void push_like(lua_State *L, Node *n, const Tensor *like) { push_tensor(L, n, like->batch, like->time, like->mixed); }

static const char *axis_name(const Tensor *t, int k, int axis)
{
    if (t->batch.axis == k && t->batch.outer * t->batch.inner == 1) return "batch";
    if (t->time.axis == k && t->time.outer * t->time.inner == 1) return "time";
    return size_of_axis(axis);
}

char *shape_words(const Tensor *t, Shape s)
{
    if (s.rank == 0) return "[] (a scalar)";
    Text out = {0};
    for (int i = 0; i < s.rank; i++) {
        const char *name = axis_name(t, i, s.axis[i]);
        say(&out, "%s%s%s%lld", i ? ", " : "[", name ? name : "", name ? " " : "", (long long)s.dim[i]);
    }
    say(&out, "]");
    return out.at;
}

char *tensor_text(const Tensor *t) { return shape_words(t, t->node->shape); }

static void check_live(lua_State *L, const Tensor *t, const char *what)
{
    if (t->trace != trace_of(L)->number)
        user_error(L, "%s: this tensor was made while another entry was traced; make tensors inside forward", what);
    if (t->node->in_loop && !loop_is_open(trace_of(L), t->node->in_loop))
        user_error(
            L,
            "%s: this value belongs to one iteration of a finished loop (over %s); let the loop's function return it",
            what, t->node->in_loop->name);
}

Tensor *tensor_at(lua_State *L, int arg, const char *what)
{
    Tensor *t = is_tensor(L, arg);
    const char *colon = arg == 1 && starts_with(what, "x:") ? format("; call a method with a colon, %s(…)", what) : "";
    if (!t && lua_gettop(L) == 0 && starts_with(what, "nn."))
        user_error(L, "%s needs its tensor at once: %s(x)", what, what);
    if (!t) user_error(L, "%s needs a tensor here, found %s%s", what, lua_text(L, arg), colon);
    check_live(L, t, what);
    return t;
}

int64_t integer_at(lua_State *L, int arg, const char *what)
{
    int ok;
    lua_Integer i = lua_tointegerx(L, arg, &ok);
    if (is_tensor(L, arg))
        user_error(L, "%s must be a number known at compile time, found a tensor (a loop index is one)", what);
    if (!ok || lua_type(L, arg) != LUA_TNUMBER)
        user_error(L, "%s must be an integer, found %s", what, lua_text(L, arg));
    return i;
}

int axis_value(lua_State *L, lua_Integer axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        if (rank == 0) user_error(L, "a scalar has no axis %lld", (long long)axis);
        user_error(L, "there is no axis %lld: a tensor of rank %d has axes 0 … %d, or -1 … -%d from the end",
                   (long long)axis, rank, rank - 1, rank);
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

int axis_at(lua_State *L, int arg, int rank) { return axis_value(L, integer_at(L, arg, "an axis"), rank); }

void check_words(lua_State *L, int table, const char *const *known, int n, const char *what)
{
    const char **words;
    int count;
    keys_of(L, table, &words, &count);
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (int k = 0; k < n; k++) found |= same(words[i], known[k]);
        if (!found)
            user_error(L, "%s has no option '%s'%s", what, words[i],
                       n ? advice(words[i], known, n) : "; expected a list");
    }
}

void check_list(lua_State *L, int table, const char *what) { check_words(L, table, NULL, 0, what); }

Shape shape_at(lua_State *L, int arg)
{
    Shape s = {0};
    if (!lua_istable(L, arg))
        user_error(L, "a shape must be a table of extents like {2, 3}, found %s", lua_text(L, arg));
    check_list(L, arg, "a shape");
    s.rank = (int)lua_rawlen(L, arg);
    if (s.rank > MAXRANK) user_error(L, "a tensor can have at most %d axes; this shape has %d", MAXRANK, s.rank);
    for (int i = 0; i < s.rank; i++) {
        lua_geti(L, arg, i + 1);
        s.dim[i] = integer_at(L, -1, "an extent");
        if (s.dim[i] < 1) user_error(L, "an extent must be at least 1, but axis %d has %lld", i, (long long)s.dim[i]);
        lua_pop(L, 1);
    }
    check_size(L, s);
    return s;
}

/* ------------------------------------------------------------------ what a tensor is not */

void refuse_comparison(lua_State *L, const char *symbol, const char *function)
{
    bool index = false;
    for (int i = 1; i <= 2; i++) {
        const Tensor *t = is_tensor(L, i);
        index |= t && t->node->op == OP_loop_arg && t->node->ints[0] == ARG_INDEX;
    }
    user_error(L,
               "`a %s b` asks Lua to choose, but %s: a description is traced once, before values exist\n"
               "  nn.%s(a, b) compares element by element, nn.where(condition, x, y) chooses;%s",
               symbol, index ? "the loop index is a tensor" : "these are tensors", function,
               trace_of(L)->open.n ? " for layers that differ, use a Lua `for` or a block of several layers"
                                   : " extents are x:size(axis)");
}

static int cannot_compare(lua_State *L)
{
    refuse_comparison(L, lua_tostring(L, lua_upvalueindex(1)), lua_tostring(L, lua_upvalueindex(2)));
}

static int cannot(lua_State *L) { user_error(L, "a tensor cannot be %s", lua_tostring(L, lua_upvalueindex(1))); }

/* x.shape[0], x.shape[-1]; what is beyond the last axis is nil, as ipairs needs it. */
static int index_shape(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, 2);
    if (!lua_isinteger(L, 2)) user_error(L, "x.shape is a list of extents; it has no %s", lua_text(L, 2));
    if (i < 1)
        user_error(L, "x.shape[%lld]: a list of Lua begins with [1]; the extent of axis %lld is x:size(%lld)", i, i, i);
    return lua_pushnil(L), 1;
}

/* { 4, 28, 28 } */
static int shape_as_text(lua_State *L)
{
    Text t = {0};
    for (int i = 1, n = (int)lua_rawlen(L, 1); i <= n; i++) {
        lua_rawgeti(L, 1, i);
        say(&t, "%s%s", i > 1 ? ", " : "{ ", luaL_tolstring(L, -1, NULL));
        lua_pop(L, 2);
    }
    lua_pushstring(L, t.at ? format("%s }", t.at) : "{}");
    return 1;
}

static int push_shape(lua_State *L, Shape s)
{
    lua_createtable(L, s.rank, 0);
    for (int i = 0; i < s.rank; i++) {
        lua_pushinteger(L, s.dim[i]);
        lua_seti(L, -2, i + 1);
    }
    if (luaL_newmetatable(L, "lathe.shape")) {
        static const luaL_Reg shown[] = {{"__index", index_shape}, {"__tostring", shape_as_text}, {NULL, NULL}};
        luaL_setfuncs(L, shown, 0);
        lua_pushliteral(L, "shape");
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    return 1;
}

/* x.shape, x.rank, x.dtype, else a method. */
static int index_tensor(lua_State *L)
{
    const Tensor *t = is_tensor(L, 1);
    if (lua_type(L, 2) != LUA_TSTRING)
        user_error(L, "x[%s]: to take a part of a tensor, use x:slice(axis, first, beyond) or x:select(axis, i)",
                   lua_text(L, 2));
    const char *key = lua_tostring(L, 2);
    if (same(key, "shape")) return push_shape(L, t->node->shape);
    if (same(key, "rank")) return lua_pushinteger(L, t->node->shape.rank), 1;
    if (same(key, "dtype")) return lua_pushstring(L, dtype_name(t->node->dtype)), 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    const char **words;
    int n;
    keys_of(L, lua_upvalueindex(1), &words, &n);
    const char *theirs = known_as(key, NULL, 0), *close = nearest(key, words, n);
    if (theirs) user_error(L, "a tensor has no '%s'%s", key, theirs);
    user_error(L, "a tensor has no '%s'%s", key, close ? format("; did you mean x:%s(…)?", close) : "");
}

static int size_call(lua_State *L)
{
    const Tensor *t = tensor_at(L, 1, "x:size");
    if (lua_isnoneornil(L, 2)) user_error(L, "x:size needs an axis: x:size(0) is the first; x.shape is a list of all");
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

/* ------------------------------------------------------------------ the metatable */

static void refuse_the_rest(lua_State *L, int meta)
{
    static const char *const compare[][3] = {{"__lt", "<", "lt"}, {"__le", "<=", "le"}, {"__eq", "==", "eq"}};
    for (int i = 0; i < COUNT_OF(compare); i++) {
        lua_pushstring(L, compare[i][1]);
        lua_pushstring(L, compare[i][2]);
        lua_pushcclosure(L, cannot_compare, 2);
        lua_setfield(L, meta, compare[i][0]);
    }
    static const char *const refused[][2] = {
        {"__call", "called; was this layer already applied?"},
        {"__concat", "concatenated with a string"},
        {"__len", "measured by #; x:size(axis) is an extent, x.rank the number of axes"},
        {"__newindex", "assigned to: operations make new tensors"}};
    for (int i = 0; i < COUNT_OF(refused); i++) {
        lua_pushstring(L, refused[i][1]);
        lua_pushcclosure(L, cannot, 1);
        lua_setfield(L, meta, refused[i][0]);
    }
}

static const Binding value_functions[] = {
    {"is_tensor", is_tensor_call, "value: any): boolean", "whether a value is a tensor"}, {NULL, NULL, NULL, NULL}};

static const Binding value_methods[] = {{"size", size_call, "axis: integer): integer", "extent of an axis"},
                                        {NULL, NULL, NULL, NULL}};

const struct Bindings all_bindings[] = {{map_bindings, true, true},
                                        {reduce_bindings, true, true},
                                        {move_methods, true, true},
                                        {index_methods, true, true},
                                        {join_functions, true, false},
                                        {shape_functions, true, false},
                                        {random_bindings, true, false},
                                        {value_functions, true, false},
                                        {value_methods, false, true},
                                        {cfunc_bindings, true, false},
                                        {NULL, false, false}};

/* "axis: integer, b: { c?: table }): lathe.Tensor" names two. */
static int arguments_in(const char *signature)
{
    int depth = 0, n = *signature != ')';
    for (const char *at = signature; depth > 0 || *at != ')'; at++) {
        if (starts_with(at, "...")) return ANY_NUMBER;
        depth += (*at == '{' || *at == '(') - (*at == '}' || *at == ')');
        n += depth == 0 && *at == ',';
    }
    return n;
}

static int bound_call(lua_State *L)
{
    check_surplus(L, (int)lua_tointeger(L, lua_upvalueindex(2)), lua_tostring(L, lua_upvalueindex(3)));
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* own: the tensor is the first argument, which the signature leaves out. */
static void bind(lua_State *L, int table, const Binding *list, const char *prefix, bool own)
{
    for (; list->name; list++) {
        int n = arguments_in(list->signature);
        lua_pushcfunction(L, list->f);
        lua_pushinteger(L, n == ANY_NUMBER ? n : n + own);
        lua_pushfstring(L, "%s%s", prefix, list->name);
        lua_pushcclosure(L, bound_call, 3);
        lua_setfield(L, table, list->name);
    }
}

/* Sets core.nn and core.methods; core is on the top. */
void open_tensors(lua_State *L)
{
    int core = lua_gettop(L), nn = core + 1, methods = core + 2, meta = core + 3;
    lua_newtable(L);
    lua_newtable(L);
    luaL_newmetatable(L, tensor_type);
    bind_ops(L, nn, methods);
    for (const struct Bindings *b = all_bindings; b->list; b++) {
        if (b->function) bind(L, nn, b->list, "nn.", b->method);
        if (b->method) bind(L, methods, b->list, "x:", true);
    }
    bind_operators(L, meta);
    refuse_the_rest(L, meta);
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
