/* lua.c: runs descriptions in a sandbox: what they may name, how long they may run, how much they may hold.
 *
 * A description is a stranger's program.  It sees table, string, math, utf8, the harmless part of the base library and
 * ours (nn, optim, data); no files, no operating system, no bytecode, no debug library.  Instructions, memory, graph
 * nodes and processor time are limited; the limits end in a message that names the line.
 *
 * The same text must always give the same graph: tables are walked in sorted order (Lua's order differs between
 * processes), and there are no random numbers. */
#include "front/front.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

extern const struct {
    const char *name, *text;
} lua_library[];

static const size_t memory_limit = (size_t)1 << 29;
static int64_t instruction_limit = 200 * 1000 * 1000;
enum { HOOK_EVERY = 1000, SECONDS_LIMIT = 20, FEW_INSTRUCTIONS = 20 * 1000 * 1000 };

static struct Sandbox {
    lua_State *L;
    size_t bytes; /* held by Lua */
    int64_t instructions;
    bool refused;       /* the allocator said no, … */
    Where refused_at;   /* … here */
    const char *folder; /* of the description: require looks nowhere else */
    uint64_t hash;
    VEC(struct Source { const char *file, *text; }) sources;
    volatile sig_atomic_t late; /* its time is over */
} box;

/* ------------------------------------------------------------------ limits */

static void *allocate(void *user, void *old, size_t old_bytes, size_t bytes)
{
    (void)user;
    if (!old) old_bytes = 0;
    if (bytes == 0) {
        box.bytes -= old_bytes;
        free(old);
        return NULL;
    }
    if (bytes > old_bytes && box.bytes + (bytes - old_bytes) > memory_limit) {
        box.refused_at = box.L ? lua_place(box.L) : (Where){0};
        box.refused = true;
        return NULL;
    }
    void *p = realloc(old, bytes);
    if (!p) no_memory(bytes);
    box.bytes += bytes - old_bytes;
    return p;
}

static const char late_words[] = "the description has run for too long: what does this line compute?";

/* Appends to what begins at *at and must end before `end`; control characters of a name do not reach a terminal. */
static void append_text(char **at, const char *end, const char *s)
{
    for (; *s && *at < end; s++) *(*at)++ = (unsigned char)*s < 32 ? '?' : *s;
}

static void append_number(char **at, const char *end, int n)
{
    if (n > 9) append_number(at, end, n / 10);
    append_text(at, end, (char[]){(char)('0' + n % 10), 0});
}

/* A signal's handler must take no memory and use no stdio.  Lua's stack is still while it is within a C function, and
 * looking up a line there takes nothing. */
static _Noreturn void end_late_call(void)
{
    lua_Debug ar;
    char text[1024], *at = text;
    const char *end = text + sizeof text - 1;
    for (int level = 0; at == text && lua_getstack(box.L, level, &ar); level++) {
        if (!lua_getinfo(box.L, "Sl", &ar) || ar.source[0] != '@' || ar.currentline <= 0) continue;
        append_text(&at, end, ar.source + 1);
        append_text(&at, end, ":");
        append_number(&at, end, ar.currentline);
        append_text(&at, end, ": ");
    }
    append_text(&at, end, "error: ");
    append_text(&at, end, late_words);
    *at++ = '\n';
    (void)!write(2, text, (size_t)(at - text));
    _exit(1);
}

/* The hook says it, within HOOK_EVERY instructions; but a single call of a string function can run for years without
 * executing one. */
static void too_long(int signal)
{
    static const struct itimerval again = {.it_value = {.tv_sec = 1}};
    (void)signal;
    if (box.late) end_late_call();
    box.late = 1;
    setitimer(ITIMER_VIRTUAL, &again, NULL);
}

static void limit_time(int seconds)
{
    box.late = 0;
    signal(SIGVTALRM, seconds ? too_long : SIG_DFL);
    const char *shorter = seconds ? getenv("LATHE_LUA_SECONDS") : NULL; /* for tests */
    struct itimerval t = {.it_value = {.tv_sec = shorter ? atoi(shorter) : seconds}};
    setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static void hooked(lua_State *L, lua_Debug *ar)
{
    if (ar->event == LUA_HOOKLINE) {
        title_locals(L, ar);
        return;
    }
    if (box.late) {
        limit_time(0);
        err(lua_place(L), "%s", late_words);
    }
    box.instructions += HOOK_EVERY;
    if (box.instructions > instruction_limit)
        err(lua_place(L),
            "the description has run for %lld million Lua instructions without an end: is this loop endless?",
            (long long)(instruction_limit / 1000000));
}

void watch_lines(lua_State *L, bool lines)
{
    lua_sethook(L, hooked, LUA_MASKCOUNT | (lines ? LUA_MASKLINE : 0), HOOK_EVERY);
}

void leave_few_instructions(void) { instruction_limit = box.instructions + FEW_INSTRUCTIONS; }

/* ------------------------------------------------------------------ calls and their errors */

/* The message without its "file:line: ", which err() will print. */
static const char *without_position(const char *s)
{
    for (const char *p = s; (p = strchr(p, ':')); p++) {
        char *end;
        if (strtol(p + 1, &end, 10) > 0 && end[0] == ':' && end[1] == ' ') return end + 2;
    }
    return s;
}

/* Lua's two commonest messages in the words of a description: what was called, or had its fields read, and what it is.
 */
static const char *in_words(const char *message)
{
    char type[16], name[64] = "";
    if (sscanf(message, "attempt to call a %15s value (%*s '%63[^']')", type, name) == 2 && same(type, "nil"))
        return format(
            "there is no '%s' to call: the name is misspelt, or descriptions, which run in a sandbox, may not "
            "use it",
            name);
    if (sscanf(message, "attempt to index a %15s value (%*s '%63[^']')", type, name) < 1) return message;
    return *name ? format("'%s' is a %s value, which has no fields", name, type)
                 : format("a %s value has no fields", type);
}

static int on_error(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    const char *where_from = library_function(L);
    if (!message) message = format("an error that is no text was raised (a %s)", luaL_typename(L, 1));
    message = in_words(without_position(message));
    if (strstr(message, "'for'") && strstr(message, "tensor"))
        message = "a Lua loop cannot be steered by a tensor, such as a loop index: a description is traced once, "
                  "before there are values";
    if (strstr(message, "stack overflow")) message = "functions call each other too deeply (stack overflow)";
    err(lua_place(L), "%s%s%s", where_from ? where_from : "", where_from ? ": " : "", message);
}

void call_lua(lua_State *L, int nargs, int nresults)
{
    int handler = lua_gettop(L) - nargs;
    lua_pushcfunction(L, on_error);
    lua_insert(L, handler);
    int status = lua_pcall(L, nargs, nresults, handler);
    if (status == LUA_ERRMEM || box.refused)
        err(box.refused_at,
            "the description wants more than %zu MB of memory: is a table or a string growing without an end?",
            memory_limit >> 20);
    if (status != LUA_OK) err(box.refused_at, "%s", lua_tostring(L, -1));
    lua_remove(L, handler);
}

/* ------------------------------------------------------------------ files */

static void load_text(lua_State *L, const char *file, const char *text, size_t bytes)
{
    Where w = {.file = file};
    if (bytes && text[0] == LUA_SIGNATURE[0]) err(w, "this is compiled Lua; a description is text");
    const char *start = text;
    if (*start == '#') start += strcspn(start, "\n");
    const char *chunk = format("@%s", file);
    if (luaL_loadbufferx(L, start, bytes - (size_t)(start - text), chunk, "t") == LUA_OK) {
        const char *guarded = guard_comparisons(start);
        bool whole = strlen(start) == bytes - (size_t)(start - text); /* no zero byte inside */
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
    err(w, "%s", without_position(message));
}

static void load_file(lua_State *L, const char *file)
{
    size_t bytes;
    errno = 0;
    const char *text = read_file(file, &bytes);
    if (!text) err((Where){.file = file}, "cannot be read: %s", errno ? strerror(errno) : "it is no plain file");
    push(&box.sources, ((struct Source){file, text}));
    box.hash = hash_bytes(text, bytes, box.hash);
    load_text(L, file, text, bytes);
}

const char *source_text(const char *file)
{
    for (int i = 0; i < box.sources.n; i++)
        if (same(box.sources.at[i].file, file)) return box.sources.at[i].text;
    return NULL;
}

uint64_t source_hash(void) { return box.hash; }

void run_description(lua_State *L, const char *file)
{
    const char *slash = strrchr(file, '/');
    box.folder = slash ? copy_bytes_as_string(file, (size_t)(slash - file) + 1) : "";
    load_file(L, file);
    call_lua(L, 0, 1);
    if (!lua_istable(L, -1) || is_tensor(L, -1))
        err((Where){.file = file},
            "a description ends with `return { config = {…}, forward = function(c, input) … end, … }`;"
            " this one returns %s",
            lua_text(L, -1));
}

/* A message may show lines of a required file, so a link must not lead to a file outside of the folder. */
static bool lies_beside(const char *file)
{
    char *target = realpath(file, NULL), *folder = realpath(*box.folder ? box.folder : ".", NULL);
    size_t n = folder ? strlen(folder) : 0;
    bool beside = target && folder && strncmp(target, folder, n) == 0 && (target[n] == '/' || same(folder, "/"));
    free(target);
    free(folder);
    return beside;
}

/* require "name": the file name.lua beside the description, once. */
static int require_beside(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, "loaded");
    if (lua_getfield(L, -1, name) != LUA_TNIL) return 1;
    lua_pop(L, 1);
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] || !*name)
        user_error(L, "require takes the name of a file beside this one, without .lua; '%s' is no such name", name);
    const char *file = format("%s%s.lua", box.folder, name);
    if (access(file, R_OK) != 0)
        user_error(L, "require finds no file %s (only files beside the description can be used)", file);
    if (!lies_beside(file))
        user_error(L,
                   "%s is a link to a file elsewhere, and only files beside the description can be used: copy it here",
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

/* Copies, so that nothing a description does to them reaches the library's own. */
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
    lua_rawgetp(L, LUA_REGISTRYINDEX, &box);
    keys_of(L, -1, &words, &n);
    VEC(const char *) known = {0};
    for (int i = 0; i < n; i++) push(&known, words[i]);
    local_names(lua_place(L).file, &words, &n);
    for (int i = 0; i < n; i++)
        if (!same(words[i], name)) push(&known, words[i]);
    const char *close = nearest(name, known.at, known.n);
    user_error(L, "unknown name '%s'%s", name, close ? format("; did you mean '%s'?", close) : "");
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

const char *library_text(const char *name)
{
    for (int k = 0; lua_library[k].name; k++)
        if (same(lua_library[k].name, name)) return lua_library[k].text;
    die("no library %s", name);
}

/* Runs compiler/lua/NAME.lua once with `core`, the table of our C functions; leaves what it returns. */
void push_library(lua_State *L, const char *name)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "library");
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pop(L, 1);
        const char *text = library_text(name);
        box.hash = hash_bytes(text, strlen(text), box.hash);
        if (luaL_loadbufferx(L, text, strlen(text), format("=%s", name), "t") != LUA_OK) die("%s", lua_tostring(L, -1));
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

/* The public face of nn, optim or data: its functions behind C ones, unknown names errors. */
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
    luaL_setfuncs(L, time_functions, 0);
    luaL_setfuncs(L, attention_functions, 0);
    luaL_setfuncs(L, loop_functions, 0);
    luaL_setfuncs(L, head_functions, 0);
    luaL_setfuncs(L, reduce_functions, 0);
    luaL_setfuncs(L, recipe_functions, 0);
    open_tensors(L); /* core.nn, core.methods */
    lua_setfield(L, LUA_REGISTRYINDEX, "core");
}

lua_State *sandbox_open(const Options *o)
{
    memset(&box, 0, sizeof box);
    lua_State *L = box.L = lua_newstate(allocate, NULL);
    if (!L) die("no memory for Lua");
    static const luaL_Reg standard[] = {{LUA_GNAME, luaopen_base},
                                        {LUA_TABLIBNAME, luaopen_table},
                                        {LUA_STRLIBNAME, luaopen_string},
                                        {LUA_MATHLIBNAME, luaopen_math},
                                        {LUA_UTF8LIBNAME, luaopen_utf8}};
    for (int i = 0; i < COUNT_OF(standard); i++) {
        luaL_requiref(L, standard[i].name, standard[i].func, 1);
        lua_pop(L, 1);
    }
    for (int i = 0; i < o->sets.n; i++) box.hash = hash_bytes(o->sets.at[i], strlen(o->sets.at[i]), box.hash);
    if (o->config) box.hash = hash_bytes(o->config, strlen(o->config), box.hash);
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
    lua_rawsetp(L, LUA_REGISTRYINDEX, &box); /* for unknown_name */
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    watch_lines(L, true);
    limit_time(SECONDS_LIMIT);
    return L;
}

void sandbox_close(lua_State *L)
{
    limit_time(0);
    lua_close(L);
    box.L = NULL;
}
