/* growth.c: train.accumulate_at: steps begin with fewer micro-batches than accumulate, and from given steps on have
 * more. Each number of them is a train entry of its own (Graph.grown), so that all sizes stay constants. */
#include "desc/target.h"
#include "front/front.h"
#include "runtime/interface/growth.h"

#include <stdlib.h>

static Where growth_place(const Trace *trace) { return place_of_key(trace, NULL, "accumulate_at"); }

typedef struct Pair {
    lua_Integer from, count;
} Pair;

static int by_first_step(const void *a, const void *b)
{
    const Pair *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* What is wrong with a list that says so, and what to write. */
static const char *growth_fault_text(const Lathe_growth *g)
{
    const int k = g->at < LATHE_GROWTHS ? g->at : LATHE_GROWTHS - 1;
    const long long from = (long long)g->from[k], count = (long long)g->count[k];
    switch (g->wrong) {
    case LATHE_GROWTH_FIRST:
        return format("its first step must be 0, found %lld; begin with the number of micro-batches that step 0 has, "
                      "{ [0] = 1, … }",
                      from);
    case LATHE_GROWTH_ORDER:
        return format("its steps must rise, found %lld after %lld; give each step once, in their order", from,
                      (long long)g->from[k - 1]);
    case LATHE_GROWTH_COUNT:
        return format("a step has one micro-batch or more, found %lld from step %lld on", count, from);
    case LATHE_GROWTH_MANY: return format("it may have %d numbers, found more; leave some out", LATHE_GROWTHS);
    default: return "expected pairs STEP:NUMBER of whole numbers, such as 0:1,200:2,1000:8";
    }
}

static _Noreturn void refuse_growth_value(lua_State *L, const char *what, int index)
{
    err(growth_place(trace_of(L)),
        "accumulate_at: expected a whole number as the %s, found %s; write { [0] = 1, [200] = 2, [1000] = 8 }", what,
        lua_text(L, index));
}

/* The table on the top, { [0] = 1, [200] = 2 }, as "0:1,200:2". */
static const char *growth_text(lua_State *L)
{
    VEC(Pair) all = {0};
    Text t = {0};
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (!lua_isinteger(L, -2)) refuse_growth_value(L, "number of a step", -2);
        if (!lua_isinteger(L, -1)) refuse_growth_value(L, "number of micro-batches", -1);
        push(&all, ((Pair){lua_tointeger(L, -2), lua_tointeger(L, -1)}));
    }
    if (!all.n)
        err(growth_place(trace_of(L)),
            "accumulate_at: expected the number of micro-batches from step 0 on, { [0] = 1, … }, found an empty table; "
            "leave it out if the number is always that of accumulate");
    qsort(all.at, (size_t)all.n, sizeof *all.at, by_first_step);
    for (int i = 0; i < all.n; i++) say(&t, "%s%lld:%lld", i ? "," : "", all.at[i].from, all.at[i].count);
    return t.at;
}

void read_growth(lua_State *L)
{
    Trace *trace = trace_of(L);
    Lathe_growth g;
    int type = lua_getfield(L, -1, "accumulate_at");
    const char *text = type == LUA_TSTRING  ? copy_string(lua_tostring(L, -1))
                       : type == LUA_TTABLE ? growth_text(L)
                                            : NULL;
    if (type != LUA_TNIL && !text)
        err(growth_place(trace),
            "accumulate_at: expected a table of steps and their numbers of micro-batches, { [0] = 1, [200] = 2, [1000] "
            "= 8 }, found %s",
            lua_text(L, -1));
    if (text && !lathe_read_growth(text, &g))
        err(growth_place(trace), "accumulate_at%s: %s", type == LUA_TSTRING ? format(" = %s", lua_text(L, -1)) : "",
            growth_fault_text(&g));
    trace->desc->recipe.accumulate_at = text;
    lua_pop(L, 1);
}

void set_growth(Trace *trace, const char *text)
{
    Lathe_growth g;
    const char **now = &trace->desc->recipe.accumulate_at;
    *now = same(text, "none") ? NULL : copy_string(text);
    if (*now && !lathe_read_growth(text, &g))
        usage_error("--set accumulate_at=%s: %s; or give none", text, growth_fault_text(&g));
}

int next_grown(const Trace *trace, int after)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    Lathe_growth g = {0};
    int64_t next = 0;
    if (r->accumulate_at) lathe_read_growth(r->accumulate_at, &g);
    for (int k = 0; k < g.n; k++)
        if (g.count[k] > after && g.count[k] < r->accumulate && (!next || g.count[k] < next)) next = g.count[k];
    return (int)next;
}

static void check_largest(const Trace *trace, const Lathe_growth *g)
{
    const Lathe_recipe *r = &trace->desc->recipe;
    int64_t most = 0;
    for (int k = 0; k < g->n; k++) most = max64(most, g->count[k]);
    if (most == r->accumulate) return;
    err(growth_place(trace),
        "accumulate_at goes up to %lld micro-batches, and accumulate, which is the largest number, is %lld; set "
        "accumulate = %lld, or change the list",
        (long long)most, (long long)r->accumulate, (long long)most);
}

void check_accumulate_at(const Trace *trace)
{
    const Desc *d = trace->desc;
    const Where w = growth_place(trace);
    Lathe_growth g;
    if (!d->recipe.accumulate_at) return;
    lathe_read_growth(d->recipe.accumulate_at, &g);
    check_largest(trace, &g);
    if (d->turns.n) err(w, "accumulate_at is for descriptions without turns; leave it out");
    if (d->options->target->device)
        err(w, "accumulate_at runs on the processor only, not yet with --target cuda; leave it out there");
    for (int i = 0; i < d->states.n; i++)
        if (d->states.at[i].role == LATHE_CARRIED)
            err(w,
                "each micro-batch carries its own state '%s' (line %d) from step to step, so their number cannot grow; "
                "leave accumulate_at out",
                d->states.at[i].name, d->states.at[i].where.line);
}
