/* sample.c: the entry that a description draws samples with: `sample = function(c, input)` beside forward, over
 * forward's parameters.  It makes a row of each output for each sample of a batch. */
#include "front/front.h"

bool sampling(const Trace *trace) { return trace->graph && trace->graph->entry == ENTRY_sample; }

static void check_drawn(const Trace *trace, const char *name, const Tensor *t)
{
    Shape s = t->node->shape;
    if (s.rank < 1 || s.dim[0] != trace->batch)
        err(t->node->where, "what sample returns has a row for each sample, [batch %lld, …], and '%s' is %s",
            (long long)trace->batch, name, tensor_text(t));
    if (same(name, SAMPLED_TOKENS) && trace->desc->recipe.csv_target)
        err(t->node->where, "'%s' of sample are ids of a text, and this model's data are tables: give it another name",
            name);
    if (same(name, SAMPLED_TOKENS) && (t->node->dtype != I32 || s.rank != 2))
        err(t->node->where, "'%s' of sample are ids of a text, i32 [batch, time], and this is %s %s", name,
            dtype_name(t->node->dtype), tensor_text(t));
    push(&trace->graph->outs, ((Output){OUT_VALUE, copy_string(name), t->node}));
}

/* Takes the results of `sample` from the top of the stack: ids of texts, or named outputs. */
static void collect_drawn(lua_State *L, Where where)
{
    const char **names;
    int n;
    if (is_tensor(L, -1)) {
        check_drawn(trace_of(L), SAMPLED_TOKENS, is_tensor(L, -1));
        return;
    }
    if (!lua_istable(L, -1))
        err(where, "sample returns ids of texts, i32 [batch, time], or a table of named outputs; it returns %s",
            lua_text(L, -1));
    keys_of(L, -1, &names, &n);
    if (n == 0) err(where, "sample returns no output: a table like { image = x }, or ids of texts");
    for (int i = 0; i < n; i++) {
        lua_getfield(L, -1, names[i]);
        if (!is_tensor(L, -1)) err(where, "output '%s' must be a tensor, and it is %s", names[i], lua_text(L, -1));
        check_drawn(trace_of(L), names[i], is_tensor(L, -1));
        lua_pop(L, 1);
    }
}

void trace_sample(lua_State *L, int model, int c)
{
    Trace *trace = trace_of(L);
    if (lua_getfield(L, model, "sample") == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    Where where = function_place(L, model, "sample");
    Graph *g = begin_entry(trace, ENTRY_sample);
    lua_pushvalue(L, c);
    push_input(L);
    call_lua(L, 2, 1);
    collect_drawn(L, where);
    lua_pop(L, 1);
    trace->graph = NULL;
    note_leaves(NULL);
    push(&trace->desc->graphs, g);
}
