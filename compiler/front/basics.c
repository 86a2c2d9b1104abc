/* basics.c: replacements of print, setmetatable and pairs for descriptions. */
#include "front/front.h"

#include <stdio.h>

/* forward runs once per entry and per plan that is tried; it should print once. */
int print_to_stderr(lua_State *L)
{
    if (trace_of(L)->number > 1 || remarks_made) return 0;
    for (int i = 1, n = lua_gettop(L); i <= n; i++) {
        const Tensor *t = is_tensor(L, i);
        say_to(stderr, "%s%s", i > 1 ? "\t" : "", t ? lua_text(L, i) : luaL_tolstring(L, i, NULL));
    }
    fputc('\n', stderr);
    return 0;
}

/* __gc is refused, since finalizers would run outside the limits. */
int set_metatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (lua_istable(L, 2) && (lua_pushliteral(L, "__gc"), lua_rawget(L, 2)) != LUA_TNIL)
        user_error(L, "__gc is not available in a description");
    lua_settop(L, 2);
    luaL_argexpected(L, lua_istable(L, 2) || lua_isnil(L, 2), 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) user_error(L, "this metatable is protected");
    lua_setmetatable(L, 1);
    return 1;
}

static int next_pair(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(3)) + 1;
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(3));
    while (lua_rawgeti(L, lua_upvalueindex(2), i) != LUA_TNIL) {
        lua_pushvalue(L, -1);
        if (lua_gettable(L, lua_upvalueindex(1)) != LUA_TNIL) return 2;
        lua_pop(L, 2); /* removed meanwhile */
        lua_pushinteger(L, ++i);
        lua_replace(L, lua_upvalueindex(3));
    }
    return 1;
}

/* pairs in a fixed order: ascending numbers, then strings, then the rest in Lua's order. */
int sorted_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    if (!lua_istable(L, 1)) user_error(L, "pairs takes a table, found %s", lua_text(L, 1));
    lua_pushvalue(L, 1);
    lua_getfield(L, LUA_REGISTRYINDEX, "sorted_keys");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

static const char sorted_keys_text[] = "local next, type, sort, tostring = ...\n"
                                       "local rank = { number = 1, string = 2 }\n"
                                       "return function(t)\n"
                                       "  local keys = {}\n"
                                       "  for k in next, t do keys[#keys + 1] = k end\n"
                                       "  sort(keys, function(a, b)\n"
                                       "    local ra, rb = rank[type(a)] or 3, rank[type(b)] or 3\n"
                                       "    if ra ~= rb or ra == 3 then return ra < rb end\n"
                                       "    return a < b\n"
                                       "  end)\n"
                                       "  return keys\n"
                                       "end\n";

void open_sorted_keys(lua_State *L)
{
    if (luaL_loadstring(L, sorted_keys_text) != LUA_OK) die("%s", lua_tostring(L, -1));
    lua_getglobal(L, "next");
    lua_getglobal(L, "type");
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    lua_replace(L, -2);
    lua_getglobal(L, "tostring");
    lua_call(L, 4, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "sorted_keys");
}
