/* test_side_by_side.c: nothing of one trace reaches another: a description that is traced again after others gives the
 * same graphs, and a description runs while the Lua state of another is open. */
#include "../harness.h"
#include "front/front.h"

#include <string.h>

static const char *traced(const char *file, const char *set)
{
    Options *o = NEW(Options);
    *o = (Options){.model_file = file, .target = &target_cpu};
    push(&o->sets, set);
    push(&o->sets, "batch=2");
    const Desc *d = front(o);
    Text t = {0};
    for (int i = 0; i < d->graphs.n; i++) print_graph(&t, d->graphs.at[i]);
    return t.at;
}

/* Each state has its own trace: what is read by one is no file of the other. */
static void open_two(void)
{
    Options o = {.model_file = "models/gpt.lua"};
    Desc *gpt = NEW(Desc), *mlp = NEW(Desc);
    Trace *a = NEW(Trace), *b = NEW(Trace);
    a->desc = gpt;
    b->desc = mlp;
    lua_State *first = sandbox_open(a, &o), *second = sandbox_open(b, &o);
    expect(trace_of(first) == a && trace_of(second) == b, "each Lua state has its own trace");
    run_description(first, "models/gpt.lua");
    run_description(second, "models/mlp.lua");
    expect(source_text(a, "models/gpt.lua") && !source_text(a, "models/mlp.lua"), "a trace has the files that it read");
    expect(source_text(b, "models/mlp.lua") && !source_text(b, "models/gpt.lua"), "and the other its own");
    expect(a->hash != b->hash, "their hashes differ");
    sandbox_close(first);
    sandbox_close(second);
}

int main(void)
{
    const char *alone = traced("models/gpt.lua", "layers=2");
    const char *other = traced("models/char_rnn.lua", "hidden=24");
    expect(strcmp(alone, other) != 0, "two models are two");
    expect(same(traced("models/gpt.lua", "layers=2"), alone), "gpt is traced as before after char_rnn");
    expect(same(traced("models/char_rnn.lua", "hidden=24"), other), "char_rnn is traced as before after gpt");
    open_two();
    expect(same(traced("models/gpt.lua", "layers=2"), alone), "and as before after two at once");
    return finish();
}
