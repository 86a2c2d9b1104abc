/* cut.c: a graph while it is cut into kernels: its levels, and what each pass has found out about its nodes.
 *
 * Each pass goes over the cuts of all graphs before the next one begins. Graphs share nodes, so the facts about a node
 * are kept in the cut, and functions that ask for them get the cut as an argument. */
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ what is known of nodes */

static Infos spare_infos; /* memory of cuts that are done with */
static VEC(Info_page *) spare_pages;

static void add_page(Cut *c, int number)
{
    if (number >= c->npages) {
        Info_page **more = NEW_ARRAY(Info_page *, number * 2 + 2);
        if (c->npages) memcpy(more, c->pages, sizeof *more * (size_t)c->npages);
        c->pages = more;
        c->npages = number * 2 + 2;
    }
    c->pages[number] = spare_pages.n ? spare_pages.at[--spare_pages.n] : NEW(Info_page);
}

Info *new_info(Cut *c, const Node *n)
{
    int page = n->id / PAGE;
    if (page >= c->npages || !c->pages[page]) add_page(c, page);
    Info *of = spare_infos.n ? spare_infos.at[--spare_infos.n] : NEW(Info);
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
    for (int i = 0; i < c->infos.n; i++) {
        *c->infos.at[i] = (Info){0};
        push(&spare_infos, c->infos.at[i]);
    }
    for (int i = 0; i < c->npages; i++) {
        if (!c->pages[i]) continue;
        *c->pages[i] = (Info_page){0};
        push(&spare_pages, c->pages[i]);
    }
    c->infos.n = c->npages = 0;
}

Cut *trial_cut(Graph *g, const Desc *d)
{
    Cut *c = new_cut(g, d);
    pass_straighten(c);
    pass_absorb(c);
    pass_fuse(c);
    return c;
}
