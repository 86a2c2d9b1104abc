/* turns.c: train's turns: parts of a step, each with a loss, the scopes whose parameters it trains, and an optimizer.
 */
#include "front/front.h"
#include "passes/passes.h"

#include <string.h>

Where place_of_turn(const Trace *trace, const Train_turn *u) { return place_of_quoted(trace, "turns", u->name); }

static Where place_of_turns(const Trace *trace) { return place_of_key(trace, NULL, "turns"); }

/* ------------------------------------------------------------------ from Lua */

/* The text of the key in the table on the top; NULL: it has none. */
static const char *word_at(lua_State *L, const char *key)
{
    int type = lua_getfield(L, -1, key);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        err(place_of_turns(trace_of(L)), "%s of a turn must be a text, found %s", key, lua_text(L, -1));
    const char *word = type == LUA_TNIL ? NULL : copy_string(lua_tostring(L, -1));
    lua_pop(L, 1);
    return word;
}

static void check_scope(Where w, const char *scope)
{
    if (!*scope || strpbrk(scope, ", ") || scope[strlen(scope) - 1] == '.')
        err(w,
            "`of` must be the name of a scope whose parameters the turn trains, such as \"generator\", or a list of "
            "such names, found '%s'",
            scope);
}

/* of = "generator", or { "encoder", "decoder" }: "encoder, decoder"; not given: the scope called as the turn is. */
static const char *scopes_at(lua_State *L, const char *turn, Where w)
{
    Text all = {0};
    int type = lua_getfield(L, -1, "of"), n = type == LUA_TTABLE ? (int)lua_rawlen(L, -1) : 0;
    if (type != LUA_TNIL && type != LUA_TSTRING && !n)
        err(w, "`of` must be the name of a scope whose parameters the turn trains, or a list of names, found %s",
            lua_text(L, -1));
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        const char *scope = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        check_scope(w, scope);
        say(&all, "%s%s", i > 1 ? ", " : "", scope);
        lua_pop(L, 1);
    }
    const char *one = type == LUA_TSTRING ? copy_string(lua_tostring(L, -1)) : turn;
    if (!n) check_scope(w, one);
    lua_pop(L, 1);
    return n ? all.at : one;
}

static int64_t every_at(lua_State *L, Where w)
{
    int type = lua_getfield(L, -1, "every");
    int64_t every = type == LUA_TNIL ? 1 : lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
    if (every < 1 || every > INT32_MAX)
        err(w, "`every` of a turn must be a whole number of steps, 1 or more, found %s", lua_text(L, -1));
    lua_pop(L, 1);
    return every;
}

static void check_turn_keys(lua_State *L)
{
    static const char *const known[] = {"loss",     "name", "of",         "every",       "optimizer",
                                        "schedule", "clip", "clip_value", "clip_weights"};
    const char **keys;
    int n;
    keys_of(L, -1, &keys, &n);
    for (int k = 0; k < n; k++) {
        bool found = false;
        for (int i = 0; i < COUNT_OF(known); i++) found |= same(known[i], keys[k]);
        if (found) continue;
        const char *theirs = option_known_as(keys[k], known, COUNT_OF(known));
        err(place_of_key(trace_of(L), "turns", keys[k]), "a turn has no '%s'%s", keys[k],
            theirs ? theirs : advice(keys[k], known, COUNT_OF(known)));
    }
}

/* { loss = "generator", of = "generator", every = 1, optimizer = optim.adam { … }, … }; what it does not say is
 * train's. */
static void read_turn(lua_State *L)
{
    Trace *trace = trace_of(L);
    Desc *d = trace->desc;
    const Lathe_recipe whole = d->recipe;
    const Direction *const direction = d->direction;
    if (!lua_istable(L, -1))
        err(place_of_turns(trace),
            "a turn must be a table such as { loss = \"generator\", optimizer = optim.adam {} }, "
            "found %s",
            lua_text(L, -1));
    check_turn_keys(L);
    Train_turn u = {.loss = word_at(L, "loss"), .name = word_at(L, "name")};
    if (!u.loss) err(place_of_turns(trace), "a turn needs the name of its loss: loss = \"generator\"");
    if (!u.name) u.name = u.loss;
    Where w = place_of_turn(trace, &u);
    check_plain_name("a turn", u.name, w);
    for (int k = 0; k < d->turns.n; k++)
        if (same(d->turns.at[k].name, u.name))
            err(w, "two turns are called '%s'; give one of them another name = \"…\"", u.name);
    u.of = scopes_at(L, u.name, w);
    u.every = every_at(L, w);
    read_turn_settings(L);
    u.recipe = d->recipe;
    u.direction = d->direction;
    d->recipe = whole;
    d->direction = direction;
    push(&d->turns, u);
}

/* The run's recipe gets the optimizer that keeps the most moments, since all turns share its arrays. */
static void settle_moments(Desc *d)
{
    const Train_turn *most = &d->turns.at[0];
    for (int k = 1; k < d->turns.n; k++)
        if (lathe_moments(&d->turns.at[k].recipe) > lathe_moments(&most->recipe)) most = &d->turns.at[k];
    d->recipe = most->recipe;
}

static void check_every_step(const Trace *trace)
{
    const Desc *d = trace->desc;
    bool any = false;
    for (int k = 0; k < d->turns.n; k++) any |= d->turns.at[k].every == 1;
    if (!any) err(place_of_turns(trace), "some steps would have no turn: leave `every` out of one of them");
}

/* { discriminator = { … } } would pass silently beside others. */
static void check_turns_have_no_keys(lua_State *L)
{
    const char **keys;
    int n = 0;
    if (lua_istable(L, -1)) keys_of(L, -1, &keys, &n);
    if (n)
        err(place_of_key(trace_of(L), "turns", keys[0]),
            "`turns` is a list in the order in which turns are taken, so '%s' is no key of it: write { loss = \"%s\", "
            "… }",
            keys[0], keys[0]);
}

void read_turn_list(lua_State *L)
{
    Trace *trace = trace_of(L);
    int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
    check_turns_have_no_keys(L);
    if (n == 0 || n > LATHE_TURNS)
        err(place_of_turns(trace),
            "`turns` must be a list of 1 to %d tables such as { loss = \"generator\", optimizer = "
            "optim.adam {} }, found %s",
            LATHE_TURNS, n ? format("%d", n) : lua_text(L, -1));
    if (precision_of(trace->desc->options).scaled)
        err(place_of_turns(trace), "turns do not train in fp16, whose loss scale is one for all; use --precision bf16");
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        read_turn(L);
        lua_pop(L, 1);
    }
    trace->desc->direction = NULL;
    check_every_step(trace);
    settle_moments(trace->desc);
}

/* ------------------------------------------------------------------ entries */

bool go_to_turn(Trace *trace, int k)
{
    const Desc *d = trace->desc;
    trace->turn = k < d->turns.n ? &d->turns.at[k] : NULL;
    return trace->turn || (k == 0 && d->turns.n == 0);
}

void mark_turn(const Trace *trace, Graph *g)
{
    if (!trace->turn) return;
    g->turn = trace->turn->name;
    g->of = trace->turn->of;
    g->name = name_of_entry(g->entry, g->turn);
}

int first_site(const Trace *trace)
{
    enum { APART = 1 << 20 }; /* more random ops than a description may have */
    return trace->turn ? (int)(trace->turn - trace->desc->turns.at) * APART : 0;
}

/* ------------------------------------------------------------------ with all entries there */

/* "generator", of "generator.up.weight" */
static const char *top_scope(const char *param) { return copy_bytes_as_string(param, strcspn(param, ".")); }

static void check_scope_has_parameters(const Trace *trace, const Train_turn *u, const char *of)
{
    const Desc *d = trace->desc;
    VEC(const char *) scopes = {0};
    for (int i = 0; i < d->params.n; i++) {
        const char *name = d->params.at[i]->name, *scope = top_scope(name);
        if (lathe_in_scopes(of, name)) return;
        if (!scopes.n || !same(scopes.at[scopes.n - 1], scope)) push(&scopes, scope);
    }
    err(place_of_turn(trace, u), "turn '%s' trains '%s', but there is no scope or parameter of that name%s", u->name,
        of, advice(of, scopes.at, scopes.n));
}

static void check_has_parameters(const Trace *trace, const Train_turn *u)
{
    for (const char *of = u->of; *of; of += strspn(of, ", ")) {
        size_t n = strcspn(of, ",");
        check_scope_has_parameters(trace, u, copy_bytes_as_string(of, n));
        of += n;
    }
}

static const Graph *graph_of_turn(const Desc *d, const Train_turn *u)
{
    for (int i = 0; i < d->graphs.n; i++)
        if (d->graphs.at[i]->entry == ENTRY_train && same(d->graphs.at[i]->turn, u->name)) return d->graphs.at[i];
    die("turn %s has no graph", u->name);
}

/* A turn whose loss depends on none of its parameters would train nothing; of those that it does not depend on, the
 * first is told. */
static void check_reaches(const Trace *trace, const Train_turn *u)
{
    const Desc *d = trace->desc;
    const Param *missed = NULL;
    int reached = 0, n = 0;
    Strings names = {0};
    reached_parameters(graph_of_turn(d, u), &names);
    for (int i = 0; i < d->params.n; i++) {
        const Param *p = d->params.at[i];
        if (!lathe_in_scopes(u->of, p->name) || p->frozen || frozen_copies(d, p)) continue;
        if (strings_get(&names, p->name)) reached++;
        else if (!n++) missed = p;
    }
    if (!n) return;
    const char *more = n > 1 ? format(" and %d other%s", n - 1, n > 2 ? "s" : "") : "";
    if (!reached)
        err(place_of_turn(trace, u),
            "turn '%s' would train nothing: no gradient leads from its loss '%s' to its parameters, %s%s (line %d); is "
            "there an nn.stop_gradient between them, or is it another turn's loss?",
            u->name, u->loss, missed->name, more, missed->where.line);
    warn(missed->where, "no gradient leads from the loss '%s' of turn '%s' to parameter '%s'%s, so %s as drawn",
         u->loss, u->name, missed->name, more, n > 1 ? "they stay" : "it stays");
}

static void check_has_turn(const Trace *trace, const Param *p)
{
    const Desc *d = trace->desc;
    int first = turn_of(d, p->name);
    if (first < 0 && !p->frozen && !frozen_copies(d, p))
        err(p->where,
            "parameter '%s' is in no turn, so nothing would train it; name %s in `of` of a turn, or freeze it: "
            "groups = { { match = \"%s\", frozen = true } }",
            p->name, strchr(p->name, '.') ? "its scope" : "it", p->export_name);
    for (int k = first + 1; first >= 0 && k < d->turns.n; k++)
        if (lathe_in_scopes(d->turns.at[k].of, p->name))
            err(place_of_turn(trace, &d->turns.at[k]), "parameter '%s' is in the turns '%s' and '%s'; one may train it",
                p->name, d->turns.at[first].name, d->turns.at[k].name);
}

/* Running statistics change in the turn that trains their layer (front/trace.c). */
static void check_statistic_has_turn(const Trace *trace, const Param *p)
{
    if (turn_of(trace->desc, p->name) < 0)
        err(p->where,
            "the running statistics '%s' are in no turn, so nothing would change them; name the layer's scope in `of` "
            "of a turn, beside others in a list; frozen parameters in it stay frozen",
            p->name);
}

void check_turns(const Trace *trace)
{
    Desc *d = trace->desc;
    Where w = place_of_turns(trace);
    if (!d->turns.n) return;
    for (int k = 0; k < d->turns.n; k++) check_has_parameters(trace, &d->turns.at[k]);
    for (int k = 0; k < d->turns.n; k++) check_reaches(trace, &d->turns.at[k]);
    for (int i = 0; i < d->params.n; i++) check_has_turn(trace, d->params.at[i]);
    for (int i = 0; i < d->statistics.n; i++) check_statistic_has_turn(trace, d->statistics.at[i]);
    if (!d->one_rank) d->one_rank = format("%s:%d: turns train in one process", w.file, w.line);
}
