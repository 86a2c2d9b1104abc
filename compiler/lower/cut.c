/* cut.c: a graph while it is cut into kernels: its levels, and what each pass has found out about its nodes.
 *
 * Passes take turns: each goes over the cuts of all graphs before the next one begins.  So what is known of a node lies
 * in the cut; whose cut it is that functions ask, `cut` says. */
#include "../lower.h"

#include <string.h>

Cut *cut;

/* ------------------------------------------------------------------ what is known of nodes */

static Info **known; /* by id, of `cut` alone: ids count on from graph to graph, so that a table for each would grow */
static int ids;
static VEC(Info *) spare; /* of cuts that are done with */

static void make_room(int id)
{
    Info **more = NEW_ARRAY(Info *, id * 2 + 2);
    if (ids) memcpy(more, known, sizeof *more * (size_t)ids);
    known = more;
    ids = id * 2 + 2;
}

Info *info(const Node *n)
{
    if (n->id >= ids) make_room(n->id);
    Info **of = &known[n->id];
    if (!*of) {
        *of = spare.n ? spare.at[--spare.n] : NEW(Info);
        (*of)->node = n;
        push(&cut->infos, *of);
    }
    return *of;
}

void enter_cut(Cut *c)
{
    for (int i = 0; cut && i < cut->infos.n; i++) known[cut->infos.at[i]->node->id] = NULL;
    for (int i = 0; i < c->infos.n; i++) known[c->infos.at[i]->node->id] = c->infos.at[i];
    cut = c;
}

/* ------------------------------------------------------------------ levels */

static Level *make_level(Loop *loop, const Nodes *roots)
{
    Level *level = NEW(Level);
    level->loop = loop;
    level->roots = *roots;
    nodes_at(loop, roots->at, roots->n, &level->nodes);
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        info(n)->order = i;
        if (n->op == OP_pick) push(&info(n->in[0])->picks, n);
        if (n->op != OP_loop) continue;
        Nodes inner = {0};
        loop_roots(n->loop, &inner);
        push(&level->inside, info(n)->body = make_level(n->loop, &inner));
    }
    return level;
}

void each_level(Level *level, Visit visit)
{
    for (int i = 0; i < level->nodes.n; i++) visit(level, level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) each_level(level->inside.at[i], visit);
}

/* ------------------------------------------------------------------ cuts */

Cut *new_cut(Graph *g, const Desc *d)
{
    Cut *c = NEW(Cut);
    *c = (Cut){.graph = g, .desc = d};
    layout_parameters(d);
    graph_roots(g, &c->roots);
    enter_cut(c);
    c->top = make_level(NULL, &c->roots);
    return c;
}

void drop_cut(Cut *c)
{
    enter_cut(c);
    for (int i = 0; i < c->infos.n; i++) {
        known[c->infos.at[i]->node->id] = NULL;
        *c->infos.at[i] = (Info){0};
        push(&spare, c->infos.at[i]);
    }
    c->infos.n = 0;
    cut = NULL;
}

Cut *trial_cut(Graph *g, const Desc *d)
{
    Cut *c = new_cut(g, d);
    pass_straighten(c);
    pass_absorb(c);
    pass_fuse(c);
    return c;
}
