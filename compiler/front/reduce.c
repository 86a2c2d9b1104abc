/* reduce.c: sum, mean, max, min, and the arguments of all reductions.  lua/reduce.lua has those made of others. */
#include "front/front.h"

/* ------------------------------------------------------------------ axes */

static bool is_listed(lua_State *L, int list, const char *word)
{
    bool found = false;
    for (int i = 1; list && i <= (int)lua_rawlen(L, list) && !found; i++) {
        lua_rawgeti(L, list, i);
        found = same(lua_tostring(L, -1), word);
        lua_pop(L, 1);
    }
    return found;
}

/* `keep` of { -1, keep = true }, also called keepdim as in PyTorch; more: a list of other keys that are allowed. */
static bool wants_axes_kept(lua_State *L, int table, int more, const char *doing)
{
    bool keep = false, said = false;
    const char **words;
    int n;
    keys_of(L, table, &words, &n);
    for (int i = 0; i < n; i++) {
        if (is_listed(L, more, words[i])) continue;
        if (!same(words[i], "keep") && !same(words[i], "keepdim"))
            user_error(L, "%s has no option '%s'; axes are given by number, %s { -1, keep = true }", doing, words[i],
                       doing);
        if (said) user_error(L, "%s: keep and keepdim are the same; give only one", doing);
        said = true;
        if (lua_getfield(L, table, words[i]) != LUA_TBOOLEAN)
            user_error(L, "%s: %s must be true or false, found %s", doing, words[i], lua_text(L, -1));
        keep = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return keep;
}

static void refuse_axis(lua_State *L, int arg, const char *doing)
{
    const char *name = doing + 2; /* without x: */
    bool of_two = same(name, "max") || same(name, "min");
    if (is_tensor(L, arg) && of_two)
        user_error(L, "%s takes axes, found a tensor; to compare element by element, use nn.%s(a, b)", doing, name);
    if (lua_isboolean(L, arg))
        user_error(L, "%s: an axis must be an integer, found %s; to keep the axes, use %s { -1, keep = true }", doing,
                   lua_text(L, arg), doing);
    if (of_two && lua_type(L, arg) == LUA_TNUMBER && !lua_isinteger(L, arg))
        user_error(L, "%s takes axes, found %s; to compare with a number element by element, use nn.%s(x, %s)", doing,
                   lua_text(L, arg), name, lua_text(L, arg));
}

/* Reads axes as in x:sum(-1), x:sum(0, 1), x:sum { -1, keep = true }; without any: all axes, and *named is false.
 * more: stack index of a list of other keys; 0: none. */
static int axes_at(lua_State *L, int first, int rank, int *axes, bool *keep, bool *named, int more, const char *doing)
{
    int n = 0, top = lua_gettop(L);
    bool seen[MAXRANK] = {false};
    *keep = false;
    if (top >= first && lua_istable(L, first)) {
        if (top > first) user_error(L, "%s { axis, …, keep = true }: nothing may follow the table", doing);
        *keep = wants_axes_kept(L, first, more, doing);
        int count = (int)lua_rawlen(L, first);
        if (count > rank) user_error(L, "found %d axes, but the tensor has %d", count, rank);
        for (int i = 1; i <= count; i++) lua_geti(L, first, i);
        first = top + 1;
        top = lua_gettop(L);
    }
    for (int arg = first; arg <= top; arg++) {
        refuse_axis(L, arg, doing);
        int axis = axis_at(L, arg, rank);
        if (seen[axis]) user_error(L, "axis %d is given twice", axis);
        seen[axis] = true;
        axes[n++] = axis;
    }
    if (named) *named = n > 0;
    if (n == 0)
        for (; n < rank; n++) axes[n] = n;
    return n;
}

/* axes, keep, named = core.axes(doing, x, words, …): all axes if none is named */
static int axes_call(lua_State *L)
{
    const char *doing = luaL_checkstring(L, 1);
    const Tensor *t = tensor_at(L, 2, doing);
    int axes[MAXRANK];
    bool keep, named;
    int n = axes_at(L, 4, t->node->shape.rank, axes, &keep, &named, 3, doing);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, axes[i]);
        lua_seti(L, -2, i + 1);
    }
    lua_pushboolean(L, keep);
    lua_pushboolean(L, named);
    return 3;
}

const luaL_Reg reduce_functions[] = {{"axes", axes_call}, {NULL, NULL}};

/* ------------------------------------------------------------------ sum, mean, max, min */

/* Where f is after the axes in `gone` were removed (or kept with extent 1). */
static Factor reduced(Factor f, const bool *gone, bool keep)
{
    if (f.axis < 0) return f;
    if (gone[f.axis]) return NOWHERE;
    int axis = f.axis;
    for (int i = 0; i < axis && !keep; i++) f.axis -= gone[i];
    return f;
}

typedef Node *Over(Node *, int, const int *);

static Node *sum_over(Node *x, int n, const int *axes) { return reduce(OP_sum, x, n, axes); }
static Node *largest_over(Node *x, int n, const int *axes) { return reduce(OP_rmax, x, n, axes); }
static Node *smallest_over(Node *x, int n, const int *axes) { return reduce(OP_rmin, x, n, axes); }

static Node *mean_over(Node *x, int n, const int *axes)
{
    Node *y = reduce(OP_sum, x, n, axes);
    Shape gone = {0};
    for (int i = 0; i < n; i++) gone = with_axis(gone, x->shape, axes[i]);
    return map2(OP_div, y, counted(gone, y->dtype, y->shape));
}

static int push_reduced(lua_State *L, Over *over, const char *doing)
{
    Tensor t = *tensor_at(L, 1, doing);
    Shape kept = t.node->shape;
    int axes[MAXRANK];
    bool keep, gone[MAXRANK] = {false};
    int n = axes_at(L, 2, kept.rank, axes, &keep, NULL, 0, doing);
    check_class(L, over == mean_over ? OP_div : OP_add, t.node->dtype, doing);
    for (int i = 0; i < n; i++) {
        gone[axes[i]] = true;
        kept.dim[axes[i]] = 1;
    }
    make_at(lua_place(L));
    Node *y = over(t.node, n, axes);
    if (keep) y = reshape(y, kept);
    if (t.time.axis >= 0 && gone[t.time.axis]) t.mixed = mixing(L, t.mixed, "%s runs over the time axis", doing);
    push_tensor(L, y, reduced(t.batch, gone, keep), reduced(t.time, gone, keep), t.mixed);
    return 1;
}

static int sum_call(lua_State *L) { return push_reduced(L, sum_over, "x:sum"); }
static int max_call(lua_State *L) { return push_reduced(L, largest_over, "x:max"); }
static int min_call(lua_State *L) { return push_reduced(L, smallest_over, "x:min"); }
static int mean_call(lua_State *L) { return push_reduced(L, mean_over, "x:mean"); }

void bind_reductions(lua_State *L, int nn, int methods)
{
    static const struct {
        const char *name;
        lua_CFunction f;
    } reductions[] = {{"sum", sum_call}, {"rmax", max_call}, {"rmin", min_call}, {"max", max_call}, {"min", min_call}};
    for (int i = 0; i < COUNT_OF(reductions); i++) /* nn.max(a, b), nn.min(a, b) stay element-wise */
        for (int k = i < 3; k >= 0; k--) set_op(L, k ? nn : methods, reductions[i].name, reductions[i].f, OP_sum);
}

const Binding reduce_bindings[] = {{"mean", mean_call, "axis?: integer|table, ...: integer): lathe.Tensor",
                                    "mean over axes (all if none is named); {axis, keep = true} keeps them as 1"},
                                   {NULL, NULL, NULL, NULL}};
