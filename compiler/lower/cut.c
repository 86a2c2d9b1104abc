/* cut.c: a graph while it is cut into kernels: its levels, and what each pass has found out about its nodes.
 *
 * Each pass goes over the cuts of all graphs before the next one begins. Graphs share nodes, so the facts about a node
 * are kept in the cut, and functions that ask for them get the cut as an argument. */
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ what is known of nodes */

/* Memory is taken in powers of two, so that the next cut can have it again. */
enum { BLOCK = 1 << 14, INFOS = BLOCK / sizeof(Info) };
_Static_assert((sizeof(Info_page) & (sizeof(Info_page) - 1)) == 0, "as give_back() takes it");

static void add_page(Cut *c, int number)
{
    if (number >= c->npages) {
        Info_page **more = NEW_ARRAY(Info_page *, number * 2 + 2);
        if (c->npages) memcpy(more, c->pages, sizeof *more * (size_t)c->npages);
        c->pages = more;
        c->npages = number * 2 + 2;
    }
    c->pages[number] = alloc_again(sizeof(Info_page));
}

Info *new_info(Cut *c, const Node *n)
{
    int page = n->id / PAGE;
    if (page >= c->npages || !c->pages[page]) add_page(c, page);
    if (c->infos.n % INFOS == 0) push(&c->blocks, alloc_again(BLOCK));
    Info *of = &c->blocks.at[c->blocks.n - 1][c->infos.n % INFOS];
    of->node = n;
    c->pages[page]->at[n->id % PAGE] = of;
    push(&c->infos, of);
    return of;
}

/* ------------------------------------------------------------------ levels */

static Level *make_level(Cut *cut, Loop *loop, const Nodes *roots)
{
    Level *level = NEW(Level);
    level->loop = loop;
    level->roots = *roots;
    nodes_at(loop, roots->at, roots->n, &level->nodes);
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        info(cut, n)->order = i;
        if (n->op == OP_pick) push(&info(cut, n->in[0])->picks, n);
        if (n->op != OP_loop) continue;
        Nodes inner = {0};
        loop_roots(n->loop, &inner);
        push(&level->inside, info(cut, n)->body = make_level(cut, n->loop, &inner));
    }
    return level;
}

void each_level(Cut *cut, Level *level, Visit visit)
{
    for (int i = 0; i < level->nodes.n; i++) visit(cut, level, level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) each_level(cut, level->inside.at[i], visit);
}

/* ------------------------------------------------------------------ cuts */

Cut *new_cut(Graph *g, const Desc *d)
{
    Cut *c = NEW(Cut);
    *c = (Cut){.graph = g, .desc = d};
    layout_parameters(d);
    graph_roots(g, &c->roots);
    c->top = make_level(c, NULL, &c->roots);
    return c;
}

void drop_cut(Cut *c)
{
    for (int i = 0; i < c->blocks.n; i++) give_back(c->blocks.at[i], BLOCK);
    for (int i = 0; i < c->npages; i++)
        if (c->pages[i]) give_back(c->pages[i], sizeof(Info_page));
    c->infos.n = c->blocks.n = c->npages = 0;
}

Cut *trial_cut(Graph *g, const Desc *d)
{
    Cut *c = new_cut(g, d);
    pass_straighten(c);
    pass_absorb(c);
    pass_fuse(c);
    return c;
}
