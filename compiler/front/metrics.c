/* metrics.c: the description's own metrics, `metrics = function(c, outputs, input)` beside forward.
 *
 * They are traced behind forward in eval alone, so that training does not compute them.  front/scores.c makes each a
 * function of sums over all rows of an evaluation; one that cannot be is refused. */
#include "front/objective.h"

#include <string.h>

static Where metrics_place(lua_State *L, int model) { return function_place(L, model, "metrics"); }

bool is_own_metric(const Trace *trace, const char *name)
{
    for (int i = 0; i < trace->metrics.n; i++)
        if (same(trace->metrics.at[i], name)) return true;
    return false;
}

static void add_metric(lua_State *L, const char *name, Where w)
{
    Trace *trace = trace_of(L);
    const Tensor *t = is_tensor(L, -1);
    check_logged_name("a metric", name, w);
    if (!t) err(w, "metric '%s' must be a tensor, found %s", name, lua_text(L, -1));
    check_scalar(t, format("metric '%s'", name));
    for (int k = 0; k < trace->graph->outs.n; k++)
        if (same(trace->graph->outs.at[k].name, name))
            err(w, "forward has an output '%s' already; give the metric another name", name);
    give_title(t->node, name, TITLE_OUTPUT, "");
    name = copy_string(name);
    push(&trace->graph->outs, ((Output){OUT_VALUE, name, t->node}));
    push(&trace->metrics, name);
}

static void add_metrics(lua_State *L, Where w)
{
    const char **names;
    int n;
    if (!lua_istable(L, -1) || is_tensor(L, -1))
        err(w, "metrics must return a table of named metrics like { r2 = … }, found %s", lua_text(L, -1));
    keys_of(L, -1, &names, &n);
    if (lua_rawlen(L, -1) > 0) err(w, "metrics must name each metric, { r2 = … }, but one has no name");
    for (int i = 0; i < n; i++) {
        lua_getfield(L, -1, names[i]);
        add_metric(L, names[i], w);
        lua_pop(L, 1);
    }
}

static int unknown_output(lua_State *L)
{
    const char **names, *key = luaL_tolstring(L, 2, NULL), *all = "";
    int n;
    keys_of(L, 1, &names, &n);
    for (int i = 0; i < n; i++) all = format("%s%s%s", all, i ? ", " : "", names[i]);
    if (n) user_error(L, "forward has no output '%s'; it has %s%s", key, all, did_you_mean(key, names, n));
    user_error(L, "forward has no output '%s', since it returns the loss alone; return loss, { %s = tensor }", key,
               key);
    return 0;
}

/* Forward's outputs; to read one that is not there is an error. */
static void push_outputs(lua_State *L, int returned)
{
    bool some = lua_istable(L, returned);
    if (some && lua_getmetatable(L, returned)) {
        lua_pop(L, 1);
        lua_pushvalue(L, returned);
        return;
    }
    lua_newtable(L);
    for (lua_pushnil(L); some && lua_next(L, returned); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -5);
    }
    if (!some) lua_pop(L, 1);
    lua_newtable(L);
    lua_pushcfunction(L, unknown_output);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

void collect_metrics(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    if (trace->graph->entry != ENTRY_eval) return;
    trace->metrics.n = 0;
    if (lua_getfield(L, model, "metrics") == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    lua_pushvalue(L, c);
    push_outputs(L, lua_absindex(L, -3));
    push_input(L);
    trace->measuring = true;
    call_lua(L, 3, 1);
    trace->measuring = false;
    add_metrics(L, metrics_place(L, model));
    lua_pop(L, 1);
}

/* Outputs that a trainer measures. */
static int scores_in(const Graph *g)
{
    int n = 0;
    for (int k = 0; g && k < g->outs.n; k++)
        n += g->outs.at[k].kind == OUT_VALUE && g->outs.at[k].node->shape.rank == 0;
    return n;
}

void check_metrics(lua_State *L, int model, const Graph *eval, const Graph *wide)
{
    const Trace *trace = trace_of(L);
    int n = scores_in(eval);
    if (trace->metrics.n && !wide)
        err(metrics_place(L, model),
            "metrics are made of sums over rows, which can be told only if forward works for two batch sizes; take "
            "sizes from tensors, x:size(0), not from c");
    if (n > LATHE_MAX_SCORES)
        err(trace->metrics.n ? metrics_place(L, model) : function_place(L, model, "forward"),
            "losses, scalar outputs and metrics may be at most %d, found %d", LATHE_MAX_SCORES, n);
}

static const char *metric_remedy(const char *why)
{
    if (strstr(why, "each row is combined with a sum over all rows"))
        return "take the mean out of the sum: for ((y - y:mean()) ^ 2):mean() write (y * y):mean() - y:mean() ^ 2, and "
               "with weights (w * y * y):sum() / w:sum() - mean ^ 2, where mean is (w * y):sum() / w:sum()";
    return "make it of sums and means over rows, (x * y):sum() / y:sum(), outside loops; any function may follow them";
}

/* The line of its name: a value that forward has too is known by forward's line. */
void refuse_metric(const Trace *trace, const Output *o, const char *why)
{
    Where named = place_of_key(trace, "metrics", o->name);
    err(named.line > 0 ? named : o->node->where,
        "metric '%s' cannot be computed over all rows of an evaluation: %s\n  %s", o->name, why, metric_remedy(why));
}
