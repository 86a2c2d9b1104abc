/* kept.c: the entries that a library has (--library): those that its functions call. */
#include "front/front.h"

static bool is_entry_of_library(const Options *o, const Graph *g)
{
    if (o->layer) return g->entry == ENTRY_layer || g->entry == ENTRY_predict;
    switch (g->entry) {
    case ENTRY_train:
    case ENTRY_eval:
    case ENTRY_direction: return !o->inference;
    case ENTRY_predict:
    case ENTRY_encode:
    case ENTRY_decode:
    case ENTRY_prefill: return true;
    default: return false;
    }
}

/* States of entries that are left out. */
static bool is_state_kept(const Options *o, const Tensor_spec *s)
{
    if (s->role == LATHE_SLOT_STATE) return false;
    return (!o->inference && !o->layer) || (s->role != LATHE_MOMENT && s->role != LATHE_CARRIED);
}

void keep_entries_of_library(Desc *d)
{
    const Options *o = d->options;
    int graphs = 0, states = 0;
    if (o->library + o->amalgamation + o->python > 1)
        usage_error("give one of --library, --amalgamation and --python; --library leaves the one C file, too");
    if (o->inference && !makes_library(o))
        usage_error("--inference is for --library, --amalgamation and --python; give one of them");
    if (o->freestanding && !o->amalgamation) usage_error("--freestanding is for --amalgamation; give it, too");
    if (o->layer && (!o->python || o->inference)) usage_error("--layer is for --python, without --inference");
    if (!makes_library(o)) return;
    for (int i = 0; i < d->graphs.n; i++)
        if (is_entry_of_library(o, d->graphs.at[i])) d->graphs.at[graphs++] = d->graphs.at[i];
    for (int i = 0; i < d->states.n; i++)
        if (is_state_kept(o, &d->states.at[i])) d->states.at[states++] = d->states.at[i];
    d->graphs.n = graphs;
    d->states.n = states;
}
