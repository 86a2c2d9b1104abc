/* stubs.c: LuaCATS annotations for editors: hands the op table and the bindings to compiler/lua/stubs.lua. */
#include "front/front.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static void set_text(lua_State *L, const char *key, const char *text)
{
    if (text) {
        lua_pushstring(L, text);
        lua_setfield(L, -2, key);
    }
}

/* Appends { name, kind, arity, method, doc } to the list on the top; other ops have bindings of their own. */
static void add_op(lua_State *L, const OpInfo *op)
{
    bool map = op->kind == MAP && op->class[0];
    if (!map && op->kind != REDUCE) return;
    Op twin = element_twin((Op)(op - op_info));
    const char *method = twin < OPS ? op_info[twin].name : op->name;
    lua_newtable(L);
    set_text(L, "name", op->name);
    set_text(L, "kind", map ? "map" : "reduce");
    set_text(L, "method", method);
    set_text(L, "doc", op->doc);
    lua_pushinteger(L, op->arity);
    lua_setfield(L, -2, "arity");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void add_bindings(lua_State *L, const Binding *list, const char *first)
{
    for (; list->name; list++) {
        lua_newtable(L);
        set_text(L, "name", list->name);
        set_text(L, "signature", list->signature);
        set_text(L, "doc", list->doc);
        set_text(L, "first", first);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

static int source_call(lua_State *L)
{
    lua_pushstring(L, library_text(luaL_checkstring(L, 1)));
    return 1;
}

static void give_tables(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "core");
    lua_newtable(L);
    for (int i = 0; i < OPS; i++) add_op(L, &op_info[i]);
    lua_setfield(L, -2, "ops");
    lua_newtable(L); /* bindings */
    for (int method = 0; method < 2; method++) {
        lua_newtable(L);
        for (const struct Bindings *b = all_bindings; b->list; b++)
            if (method ? b->method : b->function)
                add_bindings(L, b->list, !method && b->method ? "x: lathe.Tensor" : NULL);
        lua_setfield(L, -2, method ? "methods" : "nn");
    }
    lua_setfield(L, -2, "bindings");
    lua_pushcfunction(L, source_call);
    lua_setfield(L, -2, "source");
    lua_pop(L, 1);
}

void front_stubs(const char *dir)
{
    Options none = {0};
    lua_State *L = sandbox_open(NEW(Trace), &none);
    give_tables(L);
    push_library(L, "stubs");
    size_t n;
    const char *text = lua_tolstring(L, -1, &n), *file = format("%s/lathe.lua", dir);
    mkdir(dir, 0777);
    if (!write_file(file, text, n)) err((Where){.file = file}, "cannot be written: %s", strerror(errno));
    sandbox_close(L);
}
