/* entry.c: the table of entries (runtime/interface/entries.def). */
#include "graph/graph.h"
#include "runtime/interface/lathe_model.h"

const Entry_info entry_info[] = {
    [NO_ENTRY] = {.name = NULL},
#define ENTRY(word, ...) [ENTRY_##word] = {.name = #word, __VA_ARGS__},
#include "runtime/interface/entries.def"
};

Entry entry_named(const char *name)
{
    for (int i = NO_ENTRY + 1; i < COUNT_OF(entry_info); i++)
        if (same(entry_info[i].name, name)) return (Entry)i;
    return NO_ENTRY;
}

Graph *graph_of(Entry entry)
{
    const Entry_info *e = &entry_info[entry];
    Graph *g = NEW(Graph);
    *g = (Graph){.name = e->name, .entry = entry, .training = e->training, .wants_grads = e->gradients};
    return g;
}

const Entry_info *entry_of(const Graph *g) { return &entry_info[g->entry]; }

const char *name_of_entry(Entry entry, const char *turn)
{
    const char *name = entry_info[entry].name;
    return turn ? format("%s_%s", name, turn) : name;
}

bool is_of_turn(const Graph *g, const char *turn)
{
    return g->turn && turn ? strcmp(g->turn, turn) == 0 : !g->turn && !turn;
}

bool is_of_gradient(const char *name) { return starts_with(name, "d_"); }

const char *name_of_grown(int grown) { return format("%s_%d", entry_info[ENTRY_train].name, grown); }

bool trains(const Graph *g, const char *param) { return !g->of || lathe_in_scopes(g->of, param); }
