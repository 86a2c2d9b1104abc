/* hf.c: the description's `hf`: how the model maps to Hugging Face's.  The trainer gets it as JSON (runtime/model/hf.c
 * says what each part means), so mistakes are reported here. */
#include "front/front.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 6 };

static const char *const hf_keys[] = {"config", "also",       "absent", "alike",   "elsewhere", "unset",    "ids",
                                      "names",  "transposed", "zeros",  "copies",  "ignored",   "harmless", "bases",
                                      "fresh",  "left",       "ours",   "aliases", "pooling"};

static Where at_key(lua_State *L, const char *key) { return place_of_key(trace_of(L), "hf", key); }

/* ------------------------------------------------------------------ as JSON */

static void say_json_number(Text *t, lua_State *L, const char *key)
{
    double x = lua_tonumber(L, -1);
    if (!isfinite(x)) err(at_key(L, key), "hf: '%s' is %s, which JSON cannot represent", key, lua_text(L, -1));
    if (lua_isinteger(L, -1)) {
        say(t, "%lld", (long long)lua_tointeger(L, -1));
        return;
    }
    char *s = format("%.15g", x);
    if (strtod(s, NULL) != x) s = format("%.17g", x);
    say(t, "%s%s", s, strpbrk(s, ".e") ? "" : ".0");
}

static void say_value(Text *t, lua_State *L, const char *key, int depth);

static void say_json_list(Text *t, lua_State *L, const char *key, int depth)
{
    lua_Integer n = luaL_len(L, -1);
    say(t, "[");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, -1, i);
        say(t, "%s", i > 1 ? ", " : "");
        say_value(t, L, key, depth + 1);
        lua_pop(L, 1);
    }
    say(t, "]");
}

/* One line per part of hf and per key of its config. */
static void say_object(Text *t, lua_State *L, int depth, const char **keys, int n)
{
    const char *apart = depth < 2 ? format("\n%*s", 2 * (depth + 1), "") : "";
    say(t, "{");
    for (int i = 0; i < n; i++) {
        lua_getfield(L, -1, keys[i]);
        say(t, "%s%s", i ? depth < 2 ? "," : ", " : "", apart);
        say_json_string(t, keys[i]);
        say(t, ": ");
        say_value(t, L, keys[i], depth + 1);
        lua_pop(L, 1);
    }
    say(t, "}");
}

static void say_value(Text *t, lua_State *L, const char *key, int depth)
{
    const char **keys;
    int n;
    if (depth > DEEPEST) err(at_key(L, key), "hf: '%s' is nested too deeply", key);
    luaL_checkstack(L, 4, "hf");
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN: say(t, lua_toboolean(L, -1) ? "true" : "false"); return;
    case LUA_TNUMBER: say_json_number(t, L, key); return;
    case LUA_TSTRING: say_json_string(t, lua_tostring(L, -1)); return;
    case LUA_TTABLE: break;
    default:
        err(at_key(L, key), "hf: '%s' must be a string, a number, true, false or a table, found %s", key,
            lua_text(L, -1));
    }
    keys_of(L, -1, &keys, &n);
    if (n && luaL_len(L, -1))
        err(at_key(L, key), "hf: '%s' must be either a list or a table with names, not both", key);
    if (n) say_object(t, L, depth, keys, n);
    else say_json_list(t, L, key, depth);
}

/* ------------------------------------------------------------------ is it about this model */

static const Param *exported_as(const Desc *d, const char *name)
{
    for (int i = 0; i < d->params.n; i++)
        if (same(d->params.at[i]->export_name, name)) return d->params.at[i];
    return NULL;
}

static const Param *need_param(lua_State *L, const char *key, const char *name)
{
    const Desc *d = trace_of(L)->desc;
    const Param *p = name ? exported_as(d, name) : NULL;
    if (p) return p;
    const char **names = NEW_ARRAY(const char *, d->params.n);
    for (int i = 0; i < d->params.n; i++) names[i] = d->params.at[i]->export_name;
    err(at_key(L, key), "hf.%s names '%s', but no parameter is exported under that name%s", key,
        name ? name : "something else", advice(name ? name : "", names, d->params.n));
}

/* Pushes hf[key]; false: it is absent, and nothing is pushed. */
static bool push_table(lua_State *L, const char *key)
{
    if (lua_getfield(L, -1, key) == LUA_TNIL) return lua_pop(L, 1), false;
    if (!lua_istable(L, -1)) err(at_key(L, key), "hf.%s must be a table, found %s", key, lua_text(L, -1));
    return true;
}

/* Checks that the parameters of the list on the top have at least (or exactly) `axes` axes of their own. */
static void check_params(lua_State *L, const char *key, const char *where, int axes, bool exactly)
{
    for (lua_Integer i = 1; i <= luaL_len(L, -1); i++) {
        lua_geti(L, -1, i);
        const Param *p = need_param(L, where, lua_tostring(L, -1));
        int own = p->shape.rank - p->loops;
        if (exactly ? own != axes : own < axes)
            err(at_key(L, where), "hf.%s: '%s' has %d axes, but must have %d%s", key, p->export_name, own, axes,
                exactly ? "" : " or more");
        lua_pop(L, 1);
    }
}

static void check_ids(lua_State *L)
{
    if (!push_table(L, "ids")) return;
    if (lua_getfield(L, -1, "config") != LUA_TSTRING)
        err(at_key(L, "ids"), "hf.ids must be { config = \"vocab_size\", tensors = { … } }: the key with the number of "
                              "ids, and the parameters with one row per id");
    lua_pop(L, 1);
    if (push_table(L, "tensors")) {
        check_params(L, "ids.tensors", "ids", 1, false);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static int count_stars(const char *s)
{
    int n = 0;
    for (; s && *s; s++) n += *s == '*';
    return n;
}

/* names, aliases */
static void check_names(lua_State *L, const char *key)
{
    if (!push_table(L, key)) return;
    for (lua_Integer i = 1; i <= luaL_len(L, -1); i++) {
        lua_geti(L, -1, i);
        bool two = lua_istable(L, -1) && luaL_len(L, -1) == 2;
        const char *from = two && lua_geti(L, -1, 1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        const char *to = from && lua_geti(L, -2, 2) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        if (!to || count_stars(from) > 1 || count_stars(from) != count_stars(to))
            err(at_key(L, key),
                "hf.%s must be a list of pairs { \"h.*\", \"transformer.h.*\" }: the name here and the name there, "
                "with the same number of *, at most one",
                key);
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
}

/* Checks a list or a table of strings. */
static void check_texts(lua_State *L, const char *key)
{
    if (!push_table(L, key)) return;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -1) != LUA_TSTRING)
            err(at_key(L, key), "hf.%s must hold names only, found %s", key, lua_text(L, -1));
    lua_pop(L, 1);
}

/* Is the value on the top a list of extents, one per %d of the name, then at least one more? */
static bool is_shape(lua_State *L, const char *name)
{
    lua_Integer n = lua_istable(L, -1) ? luaL_len(L, -1) : 0, loops = 0;
    for (const char *s = name; (s = strstr(s, "%d")); s += 2) loops++;
    bool ok = n > loops && n <= MAXRANK;
    for (lua_Integer i = 1; ok && i <= n; i++) {
        ok = lua_geti(L, -1, i) == LUA_TNUMBER && lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0;
        lua_pop(L, 1);
    }
    return ok;
}

/* zeros: name -> shape, with an axis per %d first; copies: name -> parameter.  The names must not be parameters. */
static void check_others(lua_State *L, const char *key)
{
    const char **names;
    int n;
    if (!push_table(L, key)) return;
    keys_of(L, -1, &names, &n);
    for (int i = 0; i < n; i++) {
        if (exported_as(trace_of(L)->desc, names[i]))
            err(at_key(L, key), "hf.%s: '%s' is a parameter of this model", key, names[i]);
        lua_getfield(L, -1, names[i]);
        if (same(key, "copies")) need_param(L, key, lua_tostring(L, -1));
        else if (!is_shape(L, names[i]))
            err(at_key(L, key),
                "hf.zeros: '%s' must be a shape such as { layers, width }: one extent per %%d, then those of the "
                "tensor",
                names[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* alike: key -> a list of values. */
static void check_alike(lua_State *L)
{
    if (!push_table(L, "alike")) return;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (!lua_istable(L, -1) || !luaL_len(L, -1))
            err(at_key(L, "alike"),
                "hf.alike must have a list of values for each key, such as hidden_act = { \"gelu\" }");
    lua_pop(L, 1);
}

static void check_pooling(lua_State *L)
{
    static const char *const words[] = {"mean", "cls", "rank"};
    bool known = lua_getfield(L, -1, "pooling") == LUA_TNIL;
    for (int i = 0; i < COUNT_OF(words); i++) known |= lua_isstring(L, -1) && same(lua_tostring(L, -1), words[i]);
    if (!known)
        err(at_key(L, "pooling"), "hf.pooling must be \"mean\", \"cls\" or \"rank\", found %s", lua_text(L, -1));
    lua_pop(L, 1);
}

static void check_keys(lua_State *L)
{
    const char **keys;
    int n;
    keys_of(L, -1, &keys, &n);
    for (int i = 0; i < n; i++) {
        bool known = false;
        for (int k = 0; k < COUNT_OF(hf_keys); k++) known |= same(keys[i], hf_keys[k]);
        if (!known) err(at_key(L, keys[i]), "hf has no '%s'%s", keys[i], advice(keys[i], hf_keys, COUNT_OF(hf_keys)));
    }
    if (!push_table(L, "config"))
        err(place_of_key(trace_of(L), NULL, "hf"), "hf needs config = { … }, the contents of config.json");
    lua_pop(L, 1);
}

/* Hugging Face's names are of parameters alone. */
static void check_statistics(lua_State *L)
{
    const Desc *d = trace_of(L)->desc;
    if (d->statistics.n)
        err(d->statistics.at[0]->where,
            "nn.batchnorm keeps statistics, which hf has no names for: take hf out of the description; checkpoints "
            "have them beside the parameters");
}

void read_hf(lua_State *L, int model)
{
    int c = lua_gettop(L);
    if (push_description_part(L, model, c, "hf")) {
        Text t = {0};
        check_keys(L);
        check_statistics(L);
        check_ids(L);
        check_names(L, "names");
        check_names(L, "aliases");
        if (push_table(L, "transposed")) {
            check_params(L, "transposed", "transposed", 2, true);
            lua_pop(L, 1);
        }
        check_others(L, "zeros");
        check_others(L, "copies");
        check_alike(L);
        check_pooling(L);
        check_texts(L, "elsewhere");
        check_texts(L, "unset");
        check_texts(L, "ignored");
        check_texts(L, "harmless");
        check_texts(L, "bases");
        check_texts(L, "left");
        check_texts(L, "ours");
        if (push_table(L, "fresh")) {
            check_params(L, "fresh", "fresh", 0, false);
            lua_pop(L, 1);
        }
        say_value(&t, L, "hf", 0);
        trace_of(L)->desc->hf = t.at;
    }
    lua_settop(L, c);
}
