/* groups.c: train's groups: learning rate, weight decay and freezing by patterns of parameter names. */
#include "front/front.h"

#include <math.h>
#include <string.h>

static Where place_of_pattern(const Trace *trace, const char *pattern)
{
    return place_of_quoted(trace, "groups", pattern);
}

static bool field(lua_State *L, const char *key)
{
    if (lua_getfield(L, -1, key) != LUA_TNIL) return true;
    lua_pop(L, 1);
    return false;
}

static double number_field(lua_State *L, Where w, const char *key)
{
    double x = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !isfinite(x) || x < 0)
        err(w, "%s of a group must be a number, 0 or more, found %s", key, lua_text(L, -1));
    lua_pop(L, 1);
    return x;
}

static bool flag_field(lua_State *L, Where w, const char *key)
{
    if (!lua_isboolean(L, -1)) err(w, "%s of a group must be true or false, found %s", key, lua_text(L, -1));
    bool yes = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

static void check_keys(lua_State *L, Where w)
{
    static const char *const known[] = {"match", "decay", "lr_scale", "frozen"};
    const char **keys;
    int n;
    keys_of(L, -1, &keys, &n);
    for (int k = 0; k < n; k++) {
        bool found = false;
        for (int i = 0; i < COUNT_OF(known); i++) found |= same(known[i], keys[k]);
        if (!found) err(w, "a group has no '%s'%s", keys[k], advice(keys[k], known, COUNT_OF(known)));
    }
}

/* { match = "*.bias", decay = 0 | true | false, lr_scale = 0.5, frozen = true } */
static void read_group(lua_State *L)
{
    Trace *trace = trace_of(L);
    Lathe_group g = {NULL, -1, -1, -1, -1};
    Where all = place_of_key(trace, NULL, "groups");
    if (!lua_istable(L, -1) || !field(L, "match") || lua_type(L, -1) != LUA_TSTRING)
        err(all, "a group must be a table such as { match = \"*.bias\", decay = 0 }, where match is a pattern of "
                 "parameter names");
    g.match = copy_string(lua_tostring(L, -1));
    lua_pop(L, 1);
    Where w = place_of_pattern(trace, g.match);
    check_keys(L, w);
    if (field(L, "lr_scale")) g.lr_scale = number_field(L, w, "lr_scale");
    if (field(L, "frozen")) g.frozen = flag_field(L, w, "frozen");
    if (field(L, "decay")) {
        if (lua_isboolean(L, -1)) g.decays = flag_field(L, w, "decay");
        else g.decay = number_field(L, w, "decay"), g.decays = g.decay > 0;
    }
    if (g.lr_scale < 0 && g.frozen < 0 && g.decays < 0)
        err(w, "group '%s' changes nothing; set decay, lr_scale or frozen", g.match);
    push(&trace->desc->groups, g);
}

void read_groups(lua_State *L)
{
    if (!lua_istable(L, -1) || lua_rawlen(L, -1) == 0)
        err(place_of_key(trace_of(L), NULL, "groups"),
            "`groups` must be a list of tables such as { match = \"*.bias\", decay = 0 }, found %s", lua_text(L, -1));
    int n = (int)lua_rawlen(L, -1);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        read_group(L);
        lua_pop(L, 1);
    }
}

/* ------------------------------------------------------------------ names */

/* The export name of a copy, with its iteration for each %d. */
static const char *copy_pattern_name(const Param *p, int64_t copy)
{
    Text t = {0};
    int axis = 0;
    for (const char *s = p->export_name; *s; s++) {
        if (s[0] != '%' || s[1] != 'd' || axis >= p->loops) {
            say(&t, "%c", *s);
            continue;
        }
        int64_t inner = 1;
        for (int k = ++axis; k < p->loops; k++) inner *= p->shape.dim[k];
        say(&t, "%lld", (long long)(copy / inner % p->shape.dim[axis - 1]));
        s++;
    }
    return t.at;
}

int64_t copies_of_param(const Param *p)
{
    int64_t copies = 1;
    for (int k = 0; k < p->loops; k++) copies *= p->shape.dim[k];
    return copies;
}

int64_t matching_copies(const char *pattern, const Param *p)
{
    int64_t n = 0;
    for (int64_t copy = 0; copy < copies_of_param(p); copy++) n += lathe_matches(pattern, copy_pattern_name(p, copy));
    return n;
}

const char *names_of_parameters(const Desc *d)
{
    enum { MOST = 40 };
    Text t = {0};
    for (int i = 0; i < d->params.n && i < MOST; i++)
        say(&t, "%s%s", i ? ", " : "", copy_pattern_name(d->params.at[i], 0));
    if (d->params.n > MOST) say(&t, ", … (`trainer info` lists all)");
    return t.at ? t.at : "none";
}

static bool freezes_copy(const Desc *d, const char *name)
{
    bool frozen = false;
    for (int g = 0; g < d->groups.n; g++)
        if (d->groups.at[g].frozen >= 0 && lathe_matches(d->groups.at[g].match, name)) frozen = d->groups.at[g].frozen;
    return frozen;
}

int64_t frozen_copies(const Desc *d, const Param *p)
{
    int64_t n = 0;
    for (int64_t copy = 0; !p->adapter && copy < copies_of_param(p) && d->groups.n; copy++)
        n += freezes_copy(d, copy_pattern_name(p, copy));
    return n;
}

bool freezes(const Desc *d, const Param *p) { return frozen_copies(d, p) == copies_of_param(p); }

static void check_some_trained(const Trace *trace)
{
    const Desc *d = trace->desc;
    bool any = d->params.n == 0 || only_answers(d->options);
    for (int i = 0; i < d->params.n; i++) any |= !d->params.at[i]->frozen;
    if (!any)
        err(place_of_key(trace, NULL, "groups"),
            "the groups freeze every parameter, so nothing would be trained; leave some out of them");
}

void check_groups(const Trace *trace)
{
    check_some_trained(trace);
    const Desc *d = trace->desc;
    for (int g = 0; g < d->groups.n; g++) {
        bool found = false;
        for (int i = 0; i < d->params.n; i++) found |= matching_copies(d->groups.at[g].match, d->params.at[i]) > 0;
        if (!found)
            err(place_of_pattern(trace, d->groups.at[g].match), "no parameter name matches '%s'; the names are %s",
                d->groups.at[g].match, names_of_parameters(d));
    }
}
