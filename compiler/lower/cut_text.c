/* cut_text.c: a graph while it is cut into kernels as text: its lines, and behind each, as a comment, what is known of
 * the node.  So the text is also that of the graph.
 *
 *     copied, solid        a view that is copied; a map that is computed once, though it reads no memory
 *     laid out as %7       a product made in the order of axes of that view
 *     absorbed             an addition without a kernel: what it adds is added to its place
 *     stands               which is its own
 *     free                 computed by each reader
 *     group 3 full         the kernel, and what the node is there: full, per row, row sum, column sum
 *     stored               of a group: somebody reads it from memory
 *     makes %9 too         made by %8: a product, and what comes with it
 *     at h(4*i0)       where it lies; `added`: as a part of the sum there; `set first`: by the first iteration
 *     copy to y(i0)  before %3, or where the concat %3 stands, or at the end: what cannot be made where it is
 * wanted */
#include "kernels/text.h"
#include "graph/text.h"
#include "lower/lower.h"

typedef struct Mark { /* one line's marks */
    Text *t;
    const int *number;
    bool any;
} Mark;

static void begin_mark(Mark *m)
{
    say(m->t, m->any ? ", " : "  # ");
    m->any = true;
}

static void mark(Mark *m, bool holds, const char *words)
{
    if (!holds) return;
    begin_mark(m);
    say(m->t, "%s", words);
}

static void mark_node(Mark *m, const char *before, const Node *n, const char *behind)
{
    if (!n) return;
    begin_mark(m);
    say(m->t, "%s%%%d%s", before, m->number[n->id], behind);
}

static void mark_view(Mark *m, const char *before, const View *v)
{
    begin_mark(m);
    say(m->t, "%s", before);
    say_view(m->t, m->number, v, &v->shape);
}

static void mark_group(Mark *m, const Group *g, const Node *n)
{
    static const char *const roles[] = {ROLE_LIST(LIST_WORD)};
    for (int i = 0; g && i < g->nodes.n; i++)
        if (g->nodes.at[i] == n) mark(m, true, format("group %d %s", g->number, roles[g->role[i]]));
}

static void mark_place(Mark *m, const Info *of)
{
    if (!of->placed) return;
    mark_view(m, "at ", &of->place);
    mark(m, of->sum, "added");
    mark(m, of->afresh, "set first");
    mark(m, of->fleeting, "fleeting");
}

typedef struct Marking { /* the argument of say_marks() */
    Cut *cut;
    Table copies; /* by node */
} Marking;

static void note_copies(Table *by_node, const Copies *copies)
{
    for (int i = 0; i < copies->n; i++) {
        void **slot = table_at(by_node, copies->at[i]->node);
        if (!*slot) *slot = NEW(Copies);
        push((Copies *)*slot, copies->at[i]);
    }
}

static void note_copies_at_nodes(Marking *m, const Level *level)
{
    for (int i = 0; i < level->nodes.n; i++) note_copies(&m->copies, &info(m->cut, level->nodes.at[i])->copies);
    for (int i = 0; i < level->inside.n; i++) note_copies_at_nodes(m, level->inside.at[i]);
}

static void note_copies_at_end(Marking *m, const Level *level)
{
    note_copies(&m->copies, &level->copies);
    for (int i = 0; i < level->inside.n; i++) note_copies_at_end(m, level->inside.at[i]);
}

static void mark_copies(Mark *m, const Copies *copies)
{
    for (int i = 0; copies && i < copies->n; i++) {
        const Copy *c = copies->at[i];
        mark_view(m, c->aside ? "copy aside to " : c->sum ? "copy added to " : "copy to ", &c->to);
        if (!c->owner) say(m->t, " at the end");
        else say(m->t, c->owner->op == OP_loop ? " before %%%d" : " where %%%d stands", m->number[c->owner->id]);
    }
}

static void say_marks(void *user, Text *t, const Node *n, const int *number)
{
    Mark m = {t, number, false};
    const Marking *by = user;
    const Info *of = info(by->cut, n);
    mark(&m, of->forced, "copied");
    mark(&m, of->solid, "solid");
    mark_node(&m, "laid out as ", of->layout, "");
    mark(&m, of->absorbed, of->stands ? "absorbed, stands" : "absorbed");
    mark(&m, !of->grouped && !of->group && is_free(by->cut, n), "free");
    mark_group(&m, of->group, n);
    mark(&m, of->group && of->memory, "stored");
    mark_node(&m, "makes ", of->sums_up ? of->sums_up : of->before_gelu, " too");
    mark_node(&m, "made by ", of->product, "");
    mark_place(&m, of);
    mark_copies(&m, table_get(&by->copies, n));
}

void print_cut(Text *t, Cut *c)
{
    Marking m = {.cut = c};
    note_copies_at_nodes(&m, c->top);
    note_copies_at_end(&m, c->top);
    print_marked_graph(t, c->graph, say_marks, &m);
}
