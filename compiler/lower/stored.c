/* stored.c: pass stored: which values of a group are stored in memory: what a kernel other than its own reads, or a
 * loop goes through.  Outputs, carries and what a library makes have places whatever is found here (lower/place.c). */
#include "lower/lower.h"

static void mark_memory(Cut *cut, Level *level, Node *n)
{
    (void)level;
    if (is_view(n) && !info(cut, n)->forced) return;
    for (int k = 0; k < n->nin; k++) {
        Node *source = info(cut, n)->forced ? reading_beneath(cut, n).source : source_of(cut, n->in[k]);
        bool computed = info(cut, n)->group ? is_free(cut, n->in[k])
                                            : is_free(cut, n) && !widens(cut, n); /* by the reader itself */
        if (info(cut, n)->forced || (info(cut, source)->group != info(cut, n)->group && !computed) ||
            (!info(cut, n)->group && !computed))
            info(cut, source)->memory = true;
    }
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->xs.n; k++) info(cut, source_of(cut, l->xs.at[k].outer))->memory = true;
}

static void mark_each(Cut *cut, Level *level, Node *n)
{
    (void)level;
    info(cut, n)->memory |= info(cut, n)->group != NULL;
}

void pass_stored(Cut *c)
{
    each_level(c, c->top, mark_memory);
    if (without(c->desc, PASS_stored)) each_level(c, c->top, mark_each);
}
