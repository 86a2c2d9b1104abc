/* arithmetic.c: Lua's exp, log, sin, cos, tan and ^ as the runtime computes them (runtime/math/double.h), so that a
 * constant of a description does not depend on the C library that the compiler runs with. */
#include "front/front.h"
#include "runtime/math/double.h"

/* x ^ y is C's pow() in Lua, and can be no other function of numbers.  A program's own function comes before that of a
 * library, for shared libraries too. */
double pow(double x, double y) { return pow_f64(x, y); }

static int exp_of_number(lua_State *L) { return lua_pushnumber(L, exp_f64(luaL_checknumber(L, 1))), 1; }
static int sin_of_number(lua_State *L) { return lua_pushnumber(L, sin_f64(luaL_checknumber(L, 1))), 1; }
static int cos_of_number(lua_State *L) { return lua_pushnumber(L, cos_f64(luaL_checknumber(L, 1))), 1; }
static int tan_of_number(lua_State *L)
{
    double x = luaL_checknumber(L, 1);
    return lua_pushnumber(L, sin_f64(x) / cos_f64(x)), 1;
}

/* math.log(x, base) */
static int log_of_number(lua_State *L)
{
    double x = luaL_checknumber(L, 1), base = luaL_optnumber(L, 2, 0);
    if (lua_isnoneornil(L, 2)) lua_pushnumber(L, log_f64(x));
    else if (base == 2) lua_pushnumber(L, log2_f64(x));
    else if (base == 10) lua_pushnumber(L, log10_f64(x));
    else lua_pushnumber(L, log_f64(x) / log_f64(base));
    return 1;
}

/* In the table math, which is open. */
void give_arithmetic(lua_State *L)
{
    static const luaL_Reg own[] = {{"exp", exp_of_number}, {"log", log_of_number}, {"sin", sin_of_number},
                                   {"cos", cos_of_number}, {"tan", tan_of_number}, {NULL, NULL}};
    lua_getglobal(L, LUA_MATHLIBNAME);
    luaL_setfuncs(L, own, 0);
    lua_pop(L, 1);
}
