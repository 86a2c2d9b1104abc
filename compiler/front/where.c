/* where.c: finds the user's line for a message; its parts: nearest names, values, known keys. */
#include "front/front.h"

#include <string.h>

/* ------------------------------------------------------------------ places */

/* Our library's chunks are called "=nn"; the user's files "@models/gpt.lua". */
static bool is_users(const lua_Debug *ar) { return ar->source[0] == '@' && ar->currentline > 0; }

Where lua_place(lua_State *L)
{
    const Trace *trace = trace_of(L);
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (is_users(&ar)) return (Where){source_name(trace, ar.source + 1), ar.currentline, trace->path};
    }
    if (trace->directed) return trace->directed->where; /* its optimizer is the library's */
    return (Where){trace->desc ? trace->desc->file : NULL, 0, trace->path};
}

static const char *skip_comment(const char *p)
{
    if (starts_with(p, "--[[")) {
        const char *end = strstr(p, "]]");
        return end ? end + 2 : p + strlen(p);
    }
    return p + strcspn(p, "\n");
}

static bool is_word(char c) { return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

/* Called for each word of a text outside comments; true: stop. */
typedef bool Visit(void *user, const char *word, const char *end, int line);

static void each_word(const char *text, Visit *visit, void *user)
{
    int line = 1;
    for (const char *p = text; p && *p;) {
        const char *end = p + 1;
        if (p[0] == '-' && p[1] == '-') end = skip_comment(p);
        else if (is_word(*p))
            for (; is_word(*end);) end++;
        if (is_word(*p) && visit(user, p, end, line)) return;
        for (; p < end; p++) line += *p == '\n';
    }
}

typedef struct Search {
    const char *section, *key;
    int line;
} Search;

static bool is_key(const char *key, const char *word, const char *end)
{
    if ((size_t)(end - word) != strlen(key) || strncmp(word, key, strlen(key)) != 0) return false;
    end += strspn(end, " \t");
    return end[0] == '=' && end[1] != '=';
}

static bool found_key(void *user, const char *word, const char *end, int line)
{
    Search *s = user;
    if (s->section && is_key(s->section, word, end)) s->section = NULL;
    else if (!s->section && is_key(s->key, word, end)) s->line = line;
    return s->line > 0;
}

/* Lua tables know no lines, so the text is searched. */
Where place_of_key(const Trace *trace, const char *section, const char *key)
{
    Search s = {section, key, 0};
    each_word(source_text(trace, trace->desc->file), found_key, &s);
    return (Where){trace->desc->file, s.line, NULL};
}

/* A Lua string does not know its line, so the description's text is searched. */
Where place_of_quoted(const Trace *trace, const char *key, const char *word)
{
    const char *text = source_text(trace, trace->desc->file), *from = text, *at = NULL;
    Where w = place_of_key(trace, NULL, key);
    for (int line = 1; from && *from && line < w.line; from++) line += *from == '\n';
    if (from) at = strstr(from, format("\"%s\"", word));
    if (from && !at) at = strstr(from, format("'%s'", word));
    for (; at && from < at; from++) w.line += *from == '\n';
    return w;
}

typedef struct Locals {
    bool next;
    VEC(const char *) names;
} Locals;

static bool note_local(void *user, const char *word, const char *end, int line)
{
    (void)line;
    Locals *l = user;
    const char *name = copy_bytes_as_string(word, (size_t)(end - word));
    bool introduces = same(name, "local") || same(name, "function");
    if (l->next && !introduces) push(&l->names, name);
    l->next = introduces;
    return false;
}

void local_names(const char *text, const char ***words, int *n)
{
    Locals l = {0};
    each_word(text, note_local, &l);
    *words = l.names.at;
    *n = l.names.n;
}

/* ------------------------------------------------------------------ errors */

/* The message without its "file:line: ", which err() will print. */
const char *without_position(const char *s)
{
    for (const char *p = s; (p = strchr(p, ':')); p++) {
        char *end;
        if (strtol(p + 1, &end, 10) > 0 && end[0] == ':' && end[1] == ' ') return end + 2;
    }
    return s;
}

const char *library_function(lua_State *L)
{
    const char *name = NULL;
    lua_Debug ar;
    lua_getfield(L, LUA_REGISTRYINDEX, "wrappers");
    int wrappers = lua_gettop(L);
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Slf", &ar);
        if (is_users(&ar)) break;
        lua_rawget(L, wrappers);
        if (lua_isstring(L, -1)) name = copy_string(lua_tostring(L, -1));
        lua_settop(L, wrappers);
    }
    lua_settop(L, wrappers - 1);
    return name;
}

void user_error(lua_State *L, const char *fmt, ...)
{
    const Trace *trace = trace_of(L);
    va_list args;
    va_start(args, fmt);
    char message[4096];
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    const char *function = library_function(L);
    bool named = function && (starts_with(message, function) || starts_with(message, "nn.") || same(function, "layer"));
    if (trace->decode) {
        size_t n = strlen(message);
        const char *batch =
            trace->batch == 1 ? "batch and time are 1" : format("batch is %lld and time 1", (long long)trace->batch);
        snprintf(message + n, sizeof message - n,
                 "\n  (while tracing %s, one token at a time: %s there; take extents from the inputs,"
                 " x:size(0), or opt out with `decode = false`)",
                 own_positions(trace) ? "slots" : "decode", batch);
    }
    err(lua_place(L), "%s%s%s", function && !named ? function : "", function && !named ? ": " : "", message);
}

const char *did_you_mean(const char *word, const char *const *known, int n)
{
    const char *close = nearest(word, known, n);
    return close ? format("; did you mean '%s'?", close) : "";
}

const char *advice(const char *word, const char *const *known, int n)
{
    const char *meant = did_you_mean(word, known, n);
    if (*meant) return meant;
    if (n == 0) return "; there is none";
    if (n > 24) return "";
    Text t = {0};
    for (int i = 0; i < n; i++) say(&t, "%s%s", i ? ", " : "; known are ", known[i]);
    return t.at;
}

const char *lua_text(lua_State *L, int index)
{
    const int top = lua_gettop(L);
    const Tensor *t = is_tensor(L, index);
    if (t) return format("a tensor %s %s", dtype_name(t->node->dtype), tensor_text(t));
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL: return "nil";
    case LUA_TBOOLEAN: return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TSTRING: return format("'%.40s'", lua_tostring(L, index));
    case LUA_TNUMBER:
        lua_pushvalue(L, index);
        const char *s = format("%s", lua_tostring(L, -1));
        lua_pop(L, 1);
        return s;
    default: break;
    }
    bool named = luaL_getmetafield(L, index, "__name") == LUA_TSTRING;
    const char *name = format("a %s", named ? lua_tostring(L, -1) : luaL_typename(L, index));
    if (lua_gettop(L) > top) lua_settop(L, top);
    return name;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

void keys_of(lua_State *L, int index, const char ***words, int *n)
{
    index = lua_absindex(L, index);
    VEC(const char *) keys = {0};
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) push(&keys, copy_string(lua_tostring(L, -2)));
    if (keys.n) qsort(keys.at, (size_t)keys.n, sizeof *keys.at, by_name);
    *words = keys.at;
    *n = keys.n;
}

/* ------------------------------------------------------------------ the library's public tables */

/* Pops a Lua function; returns its number of parameters, ANY_NUMBER with `...`. */
int parameters_of(lua_State *L)
{
    lua_Debug ar;
    lua_getinfo(L, ">u", &ar);
    return ar.isvararg ? ANY_NUMBER : ar.nparams;
}

/* Refuses arguments that a function would ignore: nn.relu(x, true).  own: 1 for methods, whose tensor is not counted.
 */
void check_surplus(lua_State *L, int most, const char *name)
{
    int n = lua_gettop(L), own = strncmp(name, "x:", 2) == 0;
    while (n > most && lua_isnil(L, n)) n--;
    if (most != ANY_NUMBER && n > most)
        user_error(L, "%s takes %d argument%s, found %d", name, most - own, most - own == 1 ? "" : "s", n - own);
}

/* nn.relu()(x), nn.dropout(0.5)(x), as PyTorch's modules are written */
static void check_is_applied(lua_State *L, const char *name)
{
    bool options_alone = lua_gettop(L) == 1 && lua_isnumber(L, 1);
    if (starts_with(name, "nn.") && (lua_gettop(L) == 0 || options_alone))
        user_error(L, "%s needs its tensor at once: %s(x%s)", name, name, options_alone ? ", …" : "");
}

/* Is the first parameter of the function on the top called x? */
static bool takes_x(lua_State *L) { return same(lua_getlocal(L, NULL, 1), "x"); }

/* `return nn.f(…)` is a tail call, which would lose the user's frame and line; a C function between keeps it. */
static int library_call(lua_State *L)
{
    int n = lua_gettop(L);
    if (lua_toboolean(L, lua_upvalueindex(4))) check_is_applied(L, lua_tostring(L, lua_upvalueindex(3)));
    check_surplus(L, (int)lua_tointeger(L, lua_upvalueindex(2)), lua_tostring(L, lua_upvalueindex(3)));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

void wrap_function(lua_State *L, const char *name, int most)
{
    bool x = takes_x(L);
    lua_pushinteger(L, most);
    lua_pushstring(L, name);
    lua_pushboolean(L, x);
    lua_pushcclosure(L, library_call, 4);
    lua_getfield(L, LUA_REGISTRYINDEX, "wrappers");
    lua_pushvalue(L, -2);
    lua_pushstring(L, name);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void wrap_library(lua_State *L, const char *name)
{
    const char **words;
    int n;
    keys_of(L, -1, &words, &n);
    for (int i = 0; i < n; i++) {
        if (lua_getfield(L, -1, words[i]) == LUA_TFUNCTION && !lua_iscfunction(L, -1)) {
            lua_pushvalue(L, -1);
            wrap_function(L, format("%s.%s", name, words[i]), parameters_of(L));
            lua_setfield(L, -2, words[i]);
        } else lua_pop(L, 1);
    }
}

static int unknown_field(lua_State *L)
{
    const char *name = lua_tostring(L, lua_upvalueindex(1)), *key = luaL_tolstring(L, 2, NULL);
    const char **words;
    int n;
    keys_of(L, 1, &words, &n);
    const char *theirs = same(name, "nn")      ? known_as(key, words, n)
                         : same(name, "optim") ? known_as(key, NULL, 0)
                                               : NULL;
    if (theirs) user_error(L, "there is no %s.%s%s", name, key, theirs);
    if (n <= 24) user_error(L, "there is no %s.%s%s", name, key, advice(key, words, n));
    const char *close = nearest(key, words, n);
    user_error(L, "there is no %s.%s%s", name, key, close ? format("; did you mean %s.%s?", name, close) : "");
}

static int read_only(lua_State *L)
{
    user_error(L, "%s cannot be changed (%s.%s is assigned)", lua_tostring(L, lua_upvalueindex(1)),
               lua_tostring(L, lua_upvalueindex(1)), luaL_tolstring(L, 2, NULL));
}

void strict_table(lua_State *L, const char *name)
{
    lua_newtable(L);
    lua_pushstring(L, name);
    lua_pushcclosure(L, unknown_field, 1);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_pushcclosure(L, read_only, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}
