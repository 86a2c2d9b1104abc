/* readers.c: who reads a node: as an input, along a loop, as a stack, in other ways. */
#include "lower/lower.h"

Readers *readers(Cut *cut, const Node *n)
{
    void **at = table_at(&cut->readers, n);
    if (!*at) *at = NEW(Readers);
    return *at;
}

static void note_loop(Cut *cut, Loop *l)
{
    for (int k = 0; k < l->carries.n; k++)
        readers(cut, l->carries.at[k].init)->else_too = readers(cut, l->carries.at[k].next)->else_too = true;
    for (int k = 0; k < l->xs.n; k++) push(&readers(cut, l->xs.at[k].outer)->xs, ((In_loop){l, k}));
    for (int k = 0; k < l->ys.n; k++) push(&readers(cut, l->ys.at[k])->ys, ((In_loop){l, k}));
}

static void note_level(Cut *cut, const Level *level)
{
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        for (int k = 0; k < n->nin; k++) push(&readers(cut, n->in[k])->nodes, n);
        if (n->op == OP_loop) note_loop(cut, n->loop);
    }
    for (int i = 0; i < level->inside.n; i++) note_level(cut, level->inside.at[i]);
}

void note_readers(Cut *c)
{
    c->readers = (Table){0};
    note_level(c, c->top);
    for (int i = 0; i < c->graph->outs.n; i++) readers(c, c->graph->outs.at[i].node)->else_too = true;
}
