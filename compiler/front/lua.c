/* lua.c: runs descriptions in a sandbox: what they may name, and which files they may read.
 *
 * A description is untrusted code.  It sees table, string, math, utf8, the harmless part of the base library and our
 * libraries (nn, optim, data); no files, operating system, bytecode or debug library.  Instructions, memory, graph
 * nodes and processor time are limited (front/limits.c); a message names the line that reached a limit.
 *
 * The same text must always give the same graph, so pairs() goes in sorted order (Lua's order differs between
 * processes), and there are no random numbers. */
#include "front/front.h"
#include "front/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ files */

static void load_text(lua_State *L, const char *file, const char *text, size_t bytes)
{
    Where w = {.file = file};
    if (bytes && text[0] == LUA_SIGNATURE[0]) err(w, "this is compiled Lua; a description must be text");
    const char *start = text;
    if (*start == '#') start += strcspn(start, "\n");
    const char *chunk = format("@%s", file);
    if (luaL_loadbufferx(L, start, bytes - (size_t)(start - text), chunk, "t") == LUA_OK) {
        const char *guarded = guard_comparisons(start);
        bool whole = strlen(start) == bytes - (size_t)(start - text); /* no zero bytes */
        if (whole && luaL_loadbufferx(L, guarded, strlen(guarded), chunk, "t") == LUA_OK) lua_remove(L, -2);
        else if (!whole) return;
        else lua_pop(L, 1);
        return;
    }
    const char *message = lua_tostring(L, -1), *plain = without_position(message);
    while (plain > message && plain[-1] != ':') plain--;
    if (plain > message)
        for (plain--; plain > message && plain[-1] != ':';) plain--;
    w.line = atoi(plain);
    err(w, "%s%s", without_position(message), python_hint(text, w.line, message));
}

static void load_file(lua_State *L, const char *file)
{
    size_t bytes;
    errno = 0;
    const char *text = read_file(file, &bytes);
    if (!text) err((Where){.file = file}, "cannot be read: %s", errno ? strerror(errno) : "it is not a regular file");
    Trace *trace = trace_of(L);
    push(&trace->sources, ((struct Source){file, text}));
    trace->hash = hash_bytes(text, bytes, trace->hash);
    load_text(L, file, text, bytes);
}

static const struct Source *find_source(const Trace *trace, const char *file)
{
    for (int i = 0; i < trace->sources.n; i++)
        if (same(trace->sources.at[i].file, file)) return &trace->sources.at[i];
    return NULL;
}

const char *source_text(const Trace *trace, const char *file)
{
    const struct Source *s = find_source(trace, file);
    return s ? s->text : NULL;
}

const char *source_name(const Trace *trace, const char *file)
{
    const struct Source *s = find_source(trace, file);
    return s ? s->file : copy_string(file);
}

void run_description(lua_State *L, const char *file)
{
    const char *slash = strrchr(file, '/');
    trace_of(L)->folder = slash ? copy_bytes_as_string(file, (size_t)(slash - file) + 1) : "";
    load_file(L, file);
    call_lua(L, 0, 1);
    if (!lua_istable(L, -1) || is_tensor(L, -1))
        err((Where){.file = file},
            "a description must end with `return { config = {…}, forward = function(c, input) … end, … }`; this one "
            "returns %s",
            lua_text(L, -1));
}

/* Messages show lines of required files, so links that lead out of the folder are refused. */
static bool lies_beside(const char *folder_name, const char *file)
{
    char *target = realpath(file, NULL), *folder = realpath(*folder_name ? folder_name : ".", NULL);
    size_t n = folder ? strlen(folder) : 0;
    bool beside = target && folder && strncmp(target, folder, n) == 0 && (target[n] == '/' || same(folder, "/"));
    free(target);
    free(folder);
    return beside;
}

/* require "name": the file name.lua beside the description, once. */
static int require_beside(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *folder = trace_of(L)->folder;
    lua_settop(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, "loaded");
    if (lua_getfield(L, -1, name) != LUA_TNIL) return 1;
    lua_pop(L, 1);
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] || !*name)
        user_error(L, "require takes the name of a file beside this one, without .lua, found '%s'", name);
    const char *file = format("%s%s.lua", folder, name);
    if (access(file, R_OK) != 0)
        user_error(L, "require finds no file %s (only files beside the description can be used)", file);
    if (!lies_beside(folder, file))
        user_error(L,
                   "%s is a link to a file elsewhere; only files beside the description can be used, so copy it here",
                   file);
    load_file(L, file);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) user_error(L, "%s returns nothing: end it with `return …`", file);
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, name);
    return 1;
}

/* ------------------------------------------------------------------ the names a description has */

static void copy_fields(lua_State *L, int from, const char *const *without)
{
    from = lua_absindex(L, from);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, from);) {
        const char *key = lua_tostring(L, -2);
        bool drop = false;
        for (const char *const *w = without; *w; w++) drop |= same(*w, key);
        if (drop) lua_pop(L, 1);
        else {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_settable(L, -4);
        }
    }
}

/* Gives a copy, so that a description cannot change the original. */
static void give_library(lua_State *L, int env, const char *name, const char *const *without)
{
    lua_getglobal(L, name);
    copy_fields(L, -1, without);
    strict_table(L, name);
    lua_setfield(L, env, name);
    lua_pop(L, 1);
}

static void protect_strings(lua_State *L)
{
    lua_getglobal(L, "string");
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    copy_fields(L, -1, (const char *const[]){NULL});
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 4);
}

static int unknown_name(lua_State *L)
{
    const char *name = luaL_tolstring(L, 2, NULL);
    const char **words;
    int n;
    if (same(name, "F") || same(name, "torch")) refuse_torch(L, name);
    if (python_name(name)) user_error(L, "unknown name '%s'%s", name, python_name(name));
    lua_getfield(L, LUA_REGISTRYINDEX, "environment");
    keys_of(L, -1, &words, &n);
    VEC(const char *) known = {0};
    for (int i = 0; i < n; i++) push(&known, words[i]);
    local_names(source_text(trace_of(L), lua_place(L).file), &words, &n);
    for (int i = 0; i < n; i++)
        if (!same(words[i], name)) push(&known, words[i]);
    user_error(L, "unknown name '%s'%s", name, did_you_mean(name, known.at, known.n));
}

static int global_assigned(lua_State *L)
{
    const char *name = luaL_tolstring(L, 2, NULL);
    user_error(L, "'%s' would become a global: write `local %s = …` (or `local function %s`)", name, name, name);
}

static void make_environment(lua_State *L)
{
    static const char *const base[] = {"_VERSION", "assert", "error",        "ipairs", "rawequal",
                                       "rawget",   "rawlen", "rawset",       "select", "tonumber",
                                       "tostring", "type",   "getmetatable", NULL};
    lua_newtable(L);
    int env = lua_gettop(L);
    for (const char *const *name = base; *name; name++) {
        lua_getglobal(L, *name);
        lua_setfield(L, env, *name);
    }
    static const luaL_Reg ours[] = {{"print", print_to_stderr}, {"setmetatable", set_metatable},
                                    {"pairs", sorted_pairs},    {"require", require_beside},
                                    {"__equal", equal_call},    {NULL, NULL}};
    luaL_setfuncs(L, ours, 0);
    give_library(L, env, "string", (const char *const[]){"dump", NULL});
    give_library(L, env, "table", (const char *const[]){NULL});
    give_library(L, env, "math", (const char *const[]){"random", "randomseed", NULL});
    give_library(L, env, "utf8", (const char *const[]){NULL});
}

static void guard_environment(lua_State *L, int env)
{
    lua_newtable(L);
    lua_pushcfunction(L, unknown_name);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, global_assigned);
    lua_setfield(L, -2, "__newindex");
    lua_pushliteral(L, "the names a description has");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, env);
}

/* ------------------------------------------------------------------ our library in Lua */

static const Library *library_named(const char *name)
{
    for (const Library *l = lua_library; l->name; l++)
        if (same(l->name, name)) return l;
    die("no library %s", name);
}

const char *library_text(const char *name) { return library_named(name)->text; }

/* Another Lua than that of the build may have another format; then the text is read. */
static void load_library(lua_State *L, const Library *l)
{
    const char *chunk = format("=%s", l->name);
    if (luaL_loadbufferx(L, l->compiled, l->bytes, chunk, "b") == LUA_OK) return;
    lua_pop(L, 1);
    if (luaL_loadbufferx(L, l->text, strlen(l->text), chunk, "t") != LUA_OK) die("%s", lua_tostring(L, -1));
}

/* Runs compiler/lua/NAME.lua, once, with `core`, the table of our C functions; pushes its result. */
void push_library(lua_State *L, const char *name)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "library");
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pop(L, 1);
        const Library *l = library_named(name);
        Trace *trace = trace_of(L);
        trace->hash = hash_bytes(l->text, strlen(l->text), trace->hash);
        load_library(L, l);
        lua_getfield(L, LUA_REGISTRYINDEX, "core");
        if (lua_pcall(L, 1, 1, 0) != LUA_OK) die("%s", lua_tostring(L, -1));
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, name);
    }
    lua_remove(L, -2);
}

static int use_library(lua_State *L)
{
    push_library(L, luaL_checkstring(L, 1));
    return 1;
}

/* Gives nn, optim or data to the description: functions wrapped in C, unknown names refused. */
static void give_ours(lua_State *L, int env, const char *name)
{
    push_library(L, name);
    copy_fields(L, -1, (const char *const[]){NULL});
    wrap_library(L, name);
    strict_table(L, name);
    lua_pushvalue(L, -1);
    lua_setfield(L, env, name);
    lua_getfield(L, LUA_REGISTRYINDEX, "loaded");
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 2);
}

static void open_core(lua_State *L)
{
    lua_newtable(L);              /* core */
    for (int i = 0; i < 2; i++) { /* for `lathe stubs` */
        lua_newtable(L);
        lua_setfield(L, -2, i ? "specs" : "docs");
    }
    lua_pushcfunction(L, use_library);
    lua_setfield(L, -2, "use");
    luaL_setfuncs(L, scope_functions, 0);
    luaL_setfuncs(L, param_functions, 0);
    luaL_setfuncs(L, lora_functions, 0);
    luaL_setfuncs(L, direction_functions, 0);
    luaL_setfuncs(L, prefer_functions, 0);
    luaL_setfuncs(L, distill_functions, 0);
    luaL_setfuncs(L, time_functions, 0);
    luaL_setfuncs(L, attention_functions, 0);
    luaL_setfuncs(L, convolution_functions, 0);
    luaL_setfuncs(L, loop_functions, 0);
    luaL_setfuncs(L, head_functions, 0);
    luaL_setfuncs(L, reduce_functions, 0);
    luaL_setfuncs(L, recipe_functions, 0);
    open_tensors(L); /* core.nn, core.methods */
    lua_setfield(L, LUA_REGISTRYINDEX, "core");
}

lua_State *sandbox_open(Trace *trace, const Options *o)
{
    lua_State *L = limited_state(trace);
    static const luaL_Reg standard[] = {{LUA_GNAME, luaopen_base},
                                        {LUA_TABLIBNAME, luaopen_table},
                                        {LUA_STRLIBNAME, luaopen_string},
                                        {LUA_MATHLIBNAME, luaopen_math},
                                        {LUA_UTF8LIBNAME, luaopen_utf8}};
    for (int i = 0; i < COUNT_OF(standard); i++) {
        luaL_requiref(L, standard[i].name, standard[i].func, 1);
        lua_pop(L, 1);
    }
    for (int i = 0; i < o->sets.n; i++) trace->hash = hash_bytes(o->sets.at[i], strlen(o->sets.at[i]), trace->hash);
    if (o->config) trace->hash = hash_bytes(o->config, strlen(o->config), trace->hash);
    give_arithmetic(L);
    protect_strings(L);
    open_sorted_keys(L);
    for (int i = 0; i < 3; i++) {
        lua_newtable(L);
        lua_setfield(L, LUA_REGISTRYINDEX, (const char *[]){"loaded", "library", "wrappers"}[i]);
    }
    make_environment(L);
    int env = lua_gettop(L);
    open_core(L);
    give_ours(L, env, "nn");
    give_ours(L, env, "optim");
    give_ours(L, env, "data");
    guard_environment(L, env);
    lua_pushvalue(L, env);
    lua_setfield(L, LUA_REGISTRYINDEX, "environment"); /* for unknown_name */
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    limit_run(L);
    return L;
}

void sandbox_close(lua_State *L)
{
    end_limits(L);
    lua_close(L);
}
