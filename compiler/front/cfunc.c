/* cfunc.c: nn.cfunc: a scalar function written in C becomes a Lua function of tensors and numbers.
 *
 * The text is read once; each call traces the function on its arguments.  The nodes have the Lua line of the call. */
#include "front/cfunc.h"
#include "front/clang.h"

#include <math.h>

static const DType tensors_of[] = {[C_BOOL] = BOOL, [C_INT] = I32, [C_REAL] = F32}; /* a struct is not a tensor */

/* "snake(float x, float a)" */
static const char *signature_of(const C_function *f)
{
    static const char *const names[] = {C_KINDS(LIST_WORD)};
    Text t = {0};
    say(&t, "%s(", f->name);
    for (int i = 0; i < f->nparams; i++) say(&t, "%s%s %s", i ? ", " : "", names[f->type[i].kind], f->param[i]);
    say(&t, ")");
    return t.at;
}

static C_valuep number_argument(lua_State *L, const C_function *f, int i)
{
    C_kind k = f->type[i].kind;
    double x = lua_isboolean(L, i + 1) ? lua_toboolean(L, i + 1) : lua_tonumber(L, i + 1);
    bool fits = k == C_BOOL ? lua_isboolean(L, i + 1) : lua_type(L, i + 1) == LUA_TNUMBER;
    if (!fits || (k == C_INT && (x != floor(x) || fabs(x) > 2147483647.0)))
        user_error(L, "%s: %s must be %s, found %s", signature_of(f), f->param[i],
                   k == C_BOOL  ? "a bool tensor, true or false"
                   : k == C_INT ? "an i32 tensor or an integer"
                                : "an f32 tensor or a number",
                   lua_text(L, i + 1));
    if (!isfinite(x))
        user_error(L, "%s: %s is %s, which is not finite", signature_of(f), f->param[i], lua_text(L, i + 1));
    return c_number(k, x);
}

static C_valuep tensor_argument(lua_State *L, const C_function *f, int i, Tensor *t)
{
    static const char *const how[] = {
        [BOOL] = "nn.ne(x, 0) makes one", [I32] = "x:cast(\"i32\") makes one", [F32] = "x:cast(\"f32\") makes one"};
    DType want = tensors_of[f->type[i].kind];
    *t = *tensor_at(L, i + 1, signature_of(f));
    if (t->node->dtype != want)
        user_error(L, "%s: %s must be a tensor of %s, found %s; %s", signature_of(f), f->param[i], dtype_name(want),
                   lua_text(L, i + 1), how[want]);
    return c_tensor(f->type[i].kind, t->node);
}

static void push_result(lua_State *L, C_valuep v, Shape s, const Tensor *like)
{
    push_like(L, broadcast(c_node(v, tensors_of[v->kind]), s), like);
}

static int call_function(lua_State *L)
{
    C_function *f = lua_touserdata(L, lua_upvalueindex(1));
    C_valuep v[MOST_PARAMETERS];
    Tensor t[MOST_PARAMETERS], result;
    int tensors = 0;
    if (lua_gettop(L) != f->nparams)
        user_error(L, "%s takes %d argument%s, found %d", signature_of(f), f->nparams, f->nparams == 1 ? "" : "s",
                   lua_gettop(L));
    for (int i = 0; i < f->nparams; i++)
        v[i] = is_tensor(L, i + 1) ? tensor_argument(L, f, i, &t[tensors++]) : number_argument(L, f, i);
    if (!tensors) user_error(L, "%s needs a tensor among its arguments", signature_of(f));
    Shape s = broadcast_shape(L, t, tensors, &result, signature_of(f));
    make_at(f->text->call = lua_place(L));
    C_valuep y = c_trace(f, f->nparams, v);
    f->text->call.line = 0;
    luaL_checkstack(L, MOST_FIELDS, "results");
    if (y->kind != C_STRUCT) return push_result(L, y, s, &result), 1;
    for (int i = 0; i < y->record->n; i++) push_result(L, y->field[i], s, &result);
    return y->record->n;
}

static int cfunc_call(lua_State *L)
{
    size_t n;
    if (lua_type(L, 1) != LUA_TSTRING)
        user_error(L, "nn.cfunc takes C code as a string, nn.cfunc [[ float f(float x) { return …; } ]], found %s",
                   lua_text(L, 1));
    const char *text = lua_tolstring(L, 1, &n), *fault = clang_fault();
    if (fault) user_error(L, "%s", fault);
    C_function *f = c_read(c_text(L, text, n));
    for (int i = 0; i < f->nparams; i++)
        if (f->type[i].kind == C_STRUCT)
            c_error(f->text, f->at,
                    "parameters of the last function, which Lua calls, must be numbers, but %s is a struct",
                    f->param[i]);
    lua_pushlightuserdata(L, f);
    lua_pushcclosure(L, call_function, 1);
    return 1;
}

const Binding cfunc_bindings[] = {{"cfunc", cfunc_call,
                                   "text: string): fun(...: lathe.Tensor|number|boolean): lathe.Tensor, ...",
                                   "the last function of a C text, applied to tensors and numbers element by element; "
                                   "a struct returns several results"},
                                  {NULL, NULL, NULL, NULL}};
