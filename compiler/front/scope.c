/* scope.c: the layer path: scopes, names inside them, and which stacks parameters belong to. */
#include "front/front.h"

#include <string.h>

/* A scope is a part of the layer path.  Layers without a given name are numbered within their scope.  A layer object
 * belongs to the scope and the stack in which it was made; when it is applied again, its scope is entered with `again`,
 * and the same names mean the same parameters. */

typedef struct Scope {
    const char *path, *export; /* "layer.attn", "layer.%d.attn" */
    VEC(const char *) used;    /* names taken inside */
    bool again;
    bool repeats;  /* belongs to a stack or a map */
    Loop **copies; /* what trace->copies was outside */
    int ncopies;
} Scope;

static Scope *innermost_scope(const Trace *trace) { return trace->scopes.at[trace->scopes.n - 1]; }

static const char *joined_scope(const char *a, const char *b) { return *a ? format("%s.%s", a, b) : b; }

const char *path_of(const Trace *trace, const char *own) { return joined_scope(innermost_scope(trace)->path, own); }
const char *export_of(const Trace *trace, const char *own) { return joined_scope(innermost_scope(trace)->export, own); }
bool applied_again(const Trace *trace) { return innermost_scope(trace)->again; }

/* The innermost stack or map whose iterations have parameters of their own here. */
const char *stack_here(const Trace *trace)
{
    const char *path = NULL;
    int left = trace->copies.n;
    for (int i = 0; i < trace->scopes.n && left; i++)
        if (trace->scopes.at[i]->repeats) path = trace->scopes.at[i]->path, left--;
    return path;
}

void scopes_new_entry(Trace *trace)
{
    trace->scopes.n = trace->all_scopes.n = 0;
    Scope *top = NEW(Scope);
    top->path = is_teacher(trace) ? TEACHER : ""; /* in files its parameters have their own names */
    top->export = "";
    push(&trace->scopes, top);
    trace->path = top->path;
}

static Scope *scope_of(Trace *trace, const char *path, const char *export, bool again)
{
    for (int i = 0; i < trace->all_scopes.n && !again; i++)
        if (same(trace->all_scopes.at[i]->path, path)) return trace->all_scopes.at[i];
    Scope *s = NEW(Scope);
    *s = (Scope){.path = path, .export = export, .again = again};
    if (!again) push(&trace->all_scopes, s);
    return s;
}

static void enter(Trace *trace, Scope *s, int ncopies)
{
    s->copies = copy_of(trace->copies.at, sizeof *trace->copies.at * (size_t)trace->copies.n);
    s->ncopies = trace->copies.n;
    if (ncopies < trace->copies.n) trace->copies.n = ncopies;
    push(&trace->scopes, s);
    trace->path = s->path;
}

static int leave_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    Scope *s = innermost_scope(trace);
    must(trace->scopes.n > 1);
    trace->scopes.n--;
    trace->copies.n = 0;
    for (int i = 0; i < s->ncopies; i++) push(&trace->copies, s->copies[i]);
    trace->path = innermost_scope(trace)->path;
    return 0;
}

/* A word, or a number: "attn", "0". */
static bool is_scope_part(const char *at, size_t n)
{
    static const char digits[] = "0123456789",
                      letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t number = strspn(at, digits);
    return n > 0 && (number ? number == n : strspn(at, letters) == n);
}

/* "attn", or several parts as PyTorch writes them: "layers.0". */
void check_name(lua_State *L, const char *name)
{
    enum { MOST = 200 };
    if (strlen(name) > MOST) user_error(L, "a name can have at most %d letters; this one has %zu", MOST, strlen(name));
    for (const char *at = name;; at++) {
        size_t n = strcspn(at, ".");
        if (!is_scope_part(at, n))
            user_error(L,
                       "a name must be a word of letters, digits and _ that does not begin with a digit, or a number, "
                       "or several of these joined by dots (attn, layers.0), found '%.100s'",
                       name);
        if (!*(at += n)) return;
    }
}

static bool name_is_taken(const Scope *s, const char *name)
{
    for (int i = 0; i < s->used.n; i++)
        if (same(s->used.at[i], name)) return true;
    return false;
}

/* The given name; else the kind's, with a number if it is taken. */
static const char *choose(lua_State *L, const char *kind, const char *given)
{
    Scope *s = innermost_scope(trace_of(L));
    const char *name = given ? given : kind;
    if (given) check_name(L, given);
    for (int i = 2; !given && name_is_taken(s, name); i++) name = format("%s_%d", kind, i);
    push(&s->used, copy_string(name));
    return s->used.at[s->used.n - 1];
}

/* The scope `name` in the innermost one; export_name: its part of export names. */
static Scope *scope_inside(Trace *trace, const char *name, const char *export_name)
{
    const Scope *s = innermost_scope(trace);
    return scope_of(trace, joined_scope(s->path, name), joined_scope(s->export, export_name), s->again);
}

/* core.enter(name): nn.scope */
static int enter_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    if (!trace->graph) user_error(L, "nn.scope can only be used inside forward");
    const char *name = copy_string(luaL_checkstring(L, 1));
    check_name(L, name);
    enter(trace, scope_inside(trace, name, name), trace->copies.n);
    return 0;
}

/* core.enter_copies(kind, name): the scope of a stack or map, whose loop is open */
static int enter_copies_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *name = choose(L, luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL));
    Scope *s = scope_inside(trace, name, format("%s.%%d", name));
    s->repeats = true;
    enter(trace, s, trace->copies.n);
    return 0;
}

/* path, export, copies = core.module(kind, name): where a layer object belongs */
static int module_call(lua_State *L)
{
    const Trace *trace = trace_of(L);
    const char *name = choose(L, luaL_checkstring(L, 1), luaL_optstring(L, 2, NULL));
    lua_pushstring(L, path_of(trace, name));
    lua_pushstring(L, export_of(trace, name));
    lua_pushinteger(L, trace->copies.n);
    return 3;
}

/* core.enter_module(path, export, copies, again) */
static int enter_module_call(lua_State *L)
{
    Trace *trace = trace_of(L);
    const char *path = copy_string(luaL_checkstring(L, 1)), *export = copy_string(luaL_checkstring(L, 2));
    int copies = (int)luaL_checkinteger(L, 3);
    if (copies > trace->copies.n)
        user_error(L, "layer '%s' was made inside an nn.stack but is applied outside it", path);
    enter(trace, scope_of(trace, path, export, applied_again(trace) || lua_toboolean(L, 4)), copies);
    return 0;
}

static int path_call(lua_State *L)
{
    lua_pushstring(L, trace_of(L)->path);
    return 1;
}

static int trace_number_call(lua_State *L)
{
    lua_pushinteger(L, trace_of(L)->number);
    return 1;
}

/* ------------------------------------------------------------------ for the library in Lua */

static int fail_call(lua_State *L) { user_error(L, "%s", luaL_checkstring(L, 1)); }

/* core.advice(word, {known…}) */
static int advice_call(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    VEC(const char *) words = {0};
    for (int i = 1, n = (int)lua_rawlen(L, 2); i <= n; i++) {
        lua_geti(L, 2, i);
        push(&words, copy_string(lua_tostring(L, -1)));
        lua_pop(L, 1);
    }
    const char *word = luaL_checkstring(L, 1), *theirs = option_known_as(word, words.at, words.n);
    lua_pushstring(L, theirs ? theirs : advice(word, words.at, words.n));
    return 1;
}

static int text_call(lua_State *L)
{
    lua_pushstring(L, lua_text(L, 1));
    return 1;
}

/* core.wrap(f, name, most): most: maximum number of arguments; default: f's parameters */
static int wrap_call(lua_State *L)
{
    const char *name = luaL_checkstring(L, 2);
    lua_pushvalue(L, 1);
    int most = (int)luaL_optinteger(L, 3, parameters_of(L));
    lua_pushvalue(L, 1);
    wrap_function(L, name, most);
    return 1;
}

static int parameters_call(lua_State *L)
{
    lua_settop(L, 1);
    return lua_pushinteger(L, parameters_of(L)), 1;
}

static int checkpoint_call(lua_State *L)
{
    Making was = make_recomputed(true);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    make_with(was);
    return lua_gettop(L);
}

const luaL_Reg scope_functions[] = {{"gives", gives_call},
                                    {"enter", enter_call},
                                    {"leave", leave_call},
                                    {"enter_copies", enter_copies_call},
                                    {"module", module_call},
                                    {"enter_module", enter_module_call},
                                    {"path", path_call},
                                    {"trace_number", trace_number_call},
                                    {"checkpoint", checkpoint_call},
                                    {"fail", fail_call},
                                    {"advice", advice_call},
                                    {"text", text_call},
                                    {"wrap", wrap_call},
                                    {"parameters", parameters_call},
                                    {NULL, NULL}};
