/* config.c: the configuration c: defaults with their types, named configurations, --set. */
#include "front/front.h"

#include "desc/settings.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char *const model_keys[] = {"config", "configs",  "check",  "forward", "train",   "data",
                                         "inputs", "generate", "decode", "sample",  "metrics", "hf"};

void check_model_keys(lua_State *L, int model)
{
    Trace *trace = trace_of(L);
    const char **keys;
    int n;
    keys_of(L, model, &keys, &n);
    for (int i = 0; i < n; i++) {
        bool known = false;
        for (int k = 0; k < COUNT_OF(model_keys); k++) known |= same(keys[i], model_keys[k]);
        if (!known)
            err(place_of_key(trace, NULL, keys[i]), "a description has no part '%s'%s", keys[i],
                advice(keys[i], model_keys, COUNT_OF(model_keys)));
    }
    static const struct {
        const char *key;
        int type;
        const char *what;
    } parts[] = {{"config", LUA_TTABLE, "a table of defaults"},
                 {"configs", LUA_TTABLE, "a table of named configurations"},
                 {"check", LUA_TFUNCTION, "a function of c"},
                 {"sample", LUA_TFUNCTION, "a function of c and input that returns the samples"},
                 {"metrics", LUA_TFUNCTION, "a function of c, outputs and input that returns named metrics"},
                 {"decode", LUA_TBOOLEAN, "true or false"}};
    for (int i = 0; i < COUNT_OF(parts); i++) {
        int type = lua_getfield(L, model, parts[i].key);
        if (type != LUA_TNIL && type != parts[i].type)
            err(place_of_key(trace, NULL, parts[i].key), "`%s` must be %s, found %s", parts[i].key, parts[i].what,
                lua_text(L, -1));
        lua_pop(L, 1);
    }
    if (lua_getfield(L, model, "forward") != LUA_TFUNCTION || lua_iscfunction(L, -1))
        err((Where){.file = trace->desc->file},
            "a description needs `forward = function(c, input) … end`, which returns the loss");
    lua_pop(L, 1);
}

/* ------------------------------------------------------------------ types */

static const char *type_of_value(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNUMBER: return lua_isinteger(L, index) ? "integer" : "number";
    case LUA_TBOOLEAN: return "boolean";
    case LUA_TSTRING: return "string";
    default: return NULL;
    }
}

/* Converts the value on the top to the type of the default below it, or refuses it. */
static void conform(lua_State *L, const char *key, Where where)
{
    const char *want = type_of_value(L, -2), *have = type_of_value(L, -1);
    if (same(want, have)) return;
    if (same(want, "number") && same(have, "integer")) {
        lua_Number v = lua_tonumber(L, -1);
        lua_pop(L, 1);
        lua_pushnumber(L, v);
        return;
    }
    err(where, "'%s' must be %s %s (its default is %s), found %s", key, same(want, "integer") ? "an" : "a", want,
        lua_text(L, -2), have ? lua_text(L, -1) : luaL_typename(L, -1));
}

/* A remedy for `64,ahead=48`. */
static const char *several_values(const char *text)
{
    const char *comma = strchr(text, ',');
    return comma && strchr(comma, '=') ? format("; each value has a --set of its own: --set %s", comma + 1) : "";
}

/* Pushes the text of --set as a value of the type of the value on the top. */
static void push_parsed(lua_State *L, const char *key, const char *text)
{
    const char *type = type_of_value(L, -1);
    char *end;
    errno = 0;
    if (same(type, "string")) {
        lua_pushstring(L, text);
        return;
    }
    if (same(type, "boolean") && flag_of_text(text) >= 0) {
        lua_pushboolean(L, flag_of_text(text));
        return;
    }
    if (same(type, "integer")) {
        long long i = strtoll(text, &end, 10);
        if (end > text && !*end && !errno) {
            lua_pushinteger(L, i);
            return;
        }
    }
    if (same(type, "number")) {
        double v = strtod(text, &end);
        if (end > text && !*end && isfinite(v)) {
            lua_pushnumber(L, v);
            return;
        }
    }
    err(place_of_key(trace_of(L), "config", key), "--set %s=%s: '%s' must be %s %s (its value without --set is %s)%s",
        key, text, key, same(type, "integer") ? "an" : "a", type, lua_text(L, -1), several_values(text));
}

/* ------------------------------------------------------------------ layers of values */

/* Copies the defaults into the table at `values`. */
static void take_defaults(lua_State *L, int model, int values)
{
    const Trace *trace = trace_of(L);
    lua_getfield(L, model, "config");
    if (lua_isnil(L, -1)) return lua_pop(L, 1);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (!key)
            err(place_of_key(trace, NULL, "config"),
                "config must be a table of names and defaults: `config = { width = 128, … }`");
        if (!type_of_value(L, -1))
            err(place_of_key(trace, NULL, key), "a default must be a number, true, false or a string; '%s' is a %s",
                key, luaL_typename(L, -1));
        lua_pushvalue(L, -1);
        lua_setfield(L, values, key);
    }
    lua_pop(L, 1);
}

static void push_configuration(lua_State *L, int model, const char *name)
{
    const Trace *trace = trace_of(L);
    const char **names = NULL;
    int n = 0;
    if (lua_getfield(L, model, "configs") == LUA_TTABLE) {
        keys_of(L, -1, &names, &n);
        if (lua_getfield(L, -1, name) == LUA_TTABLE) return;
    }
    if (lua_isnil(L, -1))
        err(place_of_key(trace, NULL, "configs"), "--config %s: there is no such configuration%s", name,
            advice(name, names, n));
    err(place_of_key(trace, NULL, name), "configuration '%s' must be a table of values", name);
}

static const char *advice_key(lua_State *L, int values, const char *key)
{
    const char **known;
    int n;
    keys_of(L, values, &known, &n);
    return advice(key, known, n);
}

/* Checks every named configuration and takes the values of the chosen one. */
static void take_configurations(lua_State *L, int model, int values, const char *chosen)
{
    const char **names, **keys;
    int n, m;
    if (chosen) push_configuration(L, model, chosen);
    lua_settop(L, values);
    if (lua_getfield(L, model, "configs") != LUA_TTABLE) return lua_settop(L, values);
    keys_of(L, -1, &names, &n);
    trace_of(L)->desc->configs = (Texts){names, n, n};
    for (int i = 0; i < n; i++) {
        push_configuration(L, model, names[i]);
        int table = lua_gettop(L);
        keys_of(L, table, &keys, &m);
        for (int k = 0; k < m; k++) {
            Where w = place_of_key(trace_of(L), names[i], keys[k]);
            if (lua_getfield(L, values, keys[k]) == LUA_TNIL)
                err(w, "configuration '%s' sets '%s', which is not in config%s", names[i], keys[k],
                    advice_key(L, values, keys[k]));
            lua_getfield(L, table, keys[k]);
            conform(L, keys[k], w);
            if (same(names[i], chosen)) lua_setfield(L, values, keys[k]);
            lua_settop(L, table);
        }
        lua_settop(L, values + 1);
    }
    lua_settop(L, values);
}

static void take_sets(lua_State *L, int values, const Options *o)
{
    Trace *trace = trace_of(L);
    for (int i = 0; i < o->sets.n; i++) {
        const char *text = strchr(o->sets.at[i], '=');
        if (!text) usage_error("--set %s: expected NAME=VALUE", o->sets.at[i]);
        const char *key = copy_bytes_as_string(o->sets.at[i], (size_t)(text - o->sets.at[i]));
        if (lua_getfield(L, values, key) != LUA_TNIL) {
            push_parsed(L, key, text + 1);
            lua_setfield(L, values, key);
        } else if (recipe_knows(key)) push(&trace->late_sets, o->sets.at[i]);
        else if (o->runs && run_knows(key)) push(&trace->desc->for_run, o->sets.at[i]);
        else {
            const char **known;
            int n, m;
            keys_of(L, values, &known, &n);
            const char *const *recipe = recipe_names(&m), *meant = did_you_mean(key, known, n);
            if (!*meant) meant = did_you_mean(key, recipe, m);
            err(place_of_key(trace, NULL, "config"), "--set %s: there is no '%s' in the configuration%s", o->sets.at[i],
                key, *meant ? meant : advice(key, known, n));
        }
        lua_pop(L, 1);
    }
}

void apply_late_sets(Trace *trace)
{
    for (int i = 0; i < trace->late_sets.n; i++) {
        const char *set = trace->late_sets.at[i], *text = strchr(set, '=');
        recipe_set(trace, copy_bytes_as_string(set, (size_t)(text - set)), text + 1);
    }
}

/* ------------------------------------------------------------------ c */

/* key NULL: all of them. */
static void note_modelled(const Trace *trace, const char *key)
{
    Desc *d = trace->desc;
    for (int i = 0; !trace->settling && i < d->knobs.n; i++)
        d->knobs.at[i].modelled |= !key || same(d->knobs.at[i].name, key);
}

static int unknown_knob(lua_State *L)
{
    const char *key = luaL_tolstring(L, 2, NULL);
    note_read(trace_of(L), key);
    note_modelled(trace_of(L), key);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    user_error(L, "the configuration has no '%s'%s", key, advice_key(L, lua_upvalueindex(1), key));
}

static int fixed_knob(lua_State *L)
{
    user_error(L,
               "the configuration cannot be changed here; set '%s' in config, in a named configuration or with --set",
               luaL_tolstring(L, 2, NULL));
}

static int knob_pairs(lua_State *L)
{
    note_modelled(trace_of(L), NULL);
    lua_getglobal(L, "pairs");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_call(L, 1, 3);
    return 3;
}

/* c is an empty table whose __index reads the values at `values`, so a description cannot change them. */
static void push_c(lua_State *L, int values)
{
    static const luaL_Reg meta[] = {
        {"__index", unknown_knob}, {"__newindex", fixed_knob}, {"__pairs", knob_pairs}, {NULL, NULL}};
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, values);
    luaL_setfuncs(L, meta, 1);
    lua_pushliteral(L, "protected");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

void size_of_entry(lua_State *L, int c, const char *name, int64_t value)
{
    int top = lua_gettop(L);
    must(lua_getmetatable(L, c) && lua_getfield(L, -1, "__index") == LUA_TFUNCTION && lua_getupvalue(L, -1, 1));
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
    lua_settop(L, top);
}

void change_knob(lua_State *L, int c, const char *name, int64_t value)
{
    Trace *trace = trace_of(L);
    size_of_entry(L, c, name, value);
    for (int i = 0; i < trace->desc->knobs.n; i++)
        if (same(trace->desc->knobs.at[i].name, name))
            trace->desc->knobs.at[i].value = format("%lld", (long long)value);
}

static void note_knobs(lua_State *L, int values)
{
    const char **keys;
    int n;
    keys_of(L, values, &keys, &n);
    for (int i = 0; i < n; i++) {
        lua_getfield(L, values, keys[i]);
        Knob k = {.name = keys[i], .type = type_of_value(L, -1)};
        k.value = copy_string(luaL_tolstring(L, -1, NULL));
        push(&trace_of(L)->desc->knobs, k);
        lua_pop(L, 2);
    }
}

void read_config(lua_State *L, int model, const Options *o)
{
    lua_newtable(L);
    int values = lua_gettop(L);
    trace_of(L)->desc->config = o->config ? o->config : "default";
    take_defaults(L, model, values);
    take_configurations(L, model, values, o->config);
    take_sets(L, values, o);
    note_knobs(L, values);
    push_c(L, values);
    lua_replace(L, values);
    if (lua_getfield(L, model, "check") == LUA_TFUNCTION) {
        lua_pushvalue(L, values);
        trace_of(L)->settling = true;
        call_lua(L, 1, 0);
        trace_of(L)->settling = false;
    }
    lua_settop(L, values);
}

bool knob_is_integer(const Trace *trace, const char *name, int64_t *value)
{
    for (int i = 0; i < trace->desc->knobs.n; i++) {
        const Knob *k = &trace->desc->knobs.at[i];
        char *end;
        long long v = strtoll(k->value, &end, 10);
        if (!same(k->name, name) || end == k->value || *end) continue;
        *value = v;
        return true;
    }
    return false;
}

bool knob_integer(const Trace *trace, const char *name, int64_t *value)
{
    note_modelled(trace, name);
    return knob_is_integer(trace, name, value);
}
