/* sample.c: the entry sample, from `sample = function(c, input)` beside forward, with forward's parameters.  Each
 * output has one row per sample of a batch. */
#include "front/front.h"

bool sampling(const Trace *trace) { return trace->graph && trace->graph->entry == ENTRY_sample; }

static void check_drawn(const Trace *trace, const char *name, const Tensor *t)
{
    Shape s = t->node->shape;
    if (s.rank < 1 || s.dim[0] != trace->batch)
        err(t->node->where, "what sample returns must have one row per sample, [batch %lld, …], but '%s' is %s",
            (long long)trace->batch, name, tensor_text(t));
    if (same(name, SAMPLED_TOKENS) && lathe_reads_rows(&trace->desc->recipe))
        err(t->node->where, "'%s' of sample means token ids, but this model's data is a table; give it another name",
            name);
    if (same(name, SAMPLED_TOKENS) && (t->node->dtype != I32 || s.rank != 2))
        err(t->node->where, "'%s' of sample must be token ids, i32 [batch, time], found %s %s", name,
            dtype_name(t->node->dtype), tensor_text(t));
    push(&trace->graph->outs, ((Output){OUT_VALUE, copy_string(name), t->node}));
}

/* Collects what `sample` returned, on the top: token ids, or named outputs. */
static void collect_drawn(lua_State *L, Where where)
{
    const char **names;
    int n;
    if (is_tensor(L, -1)) {
        check_drawn(trace_of(L), SAMPLED_TOKENS, is_tensor(L, -1));
        return;
    }
    if (!lua_istable(L, -1))
        err(where, "sample must return token ids, i32 [batch, time], or a table of named outputs, found %s",
            lua_text(L, -1));
    keys_of(L, -1, &names, &n);
    if (n == 0) err(where, "sample returns no output; return token ids, or a table like { image = x }");
    for (int i = 0; i < n; i++) {
        lua_getfield(L, -1, names[i]);
        if (!is_tensor(L, -1)) err(where, "output '%s' must be a tensor, found %s", names[i], lua_text(L, -1));
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
