/* order.c: keeps future kernels in order while nodes are fused, so that searches for a path are short.
 *
 * A unit is a group, or a node in no group. The units of a level form one list: each follows all units that it reads,
 * and numbers rise along the list. A search for a path that ends at a unit ignores all units before it. When two groups
 * become one, the later group moves to the earlier one. The units between them that the later one reads, which the
 * search for paths has just visited, move before both.
 *
 * Views between two units are looked through: a path through a view alone is no path through a node outside. */
#include "lower/order.h"

#include <stdlib.h>

enum {
    MOST_VISITS = 512, /* units of a search, so that all searches are linear; a longer one is taken for a path */
    FEW_VISITS = 32,   /* of one of a level whose searches have come by PLENTY of units */
    PLENTY = 1 << 16
};

static const double THIN = 1.4; /* numbers that a unit has for itself, by the bits of a range */

/* ------------------------------------------------------------------ what a node reads of its level */

static void needs_of_loop(Cut *cut, Loop *level, const Loop *l, Nodes *out)
{
    Nodes roots = {0}, body = {0};
    loop_roots(l, &roots);
    for (int k = 0; k < l->carries.n; k++) push(&roots, l->carries.at[k].init);
    for (int k = 0; k < l->xs.n; k++) push(&roots, l->xs.at[k].outer);
    for (int k = 0; k < roots.n; k++)
        if (roots.at[k]->in_loop == level) push(out, roots.at[k]);
    nodes_at((Loop *)l, roots.at, roots.n, &body);
    for (int k = 0; k < body.n; k++) needs_at(cut, level, body.at[k], out);
}

void needs_at(Cut *cut, Loop *level, const Node *n, Nodes *out)
{
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]->in_loop == level) push(out, n->in[k]);
    if (n->op == OP_loop) needs_of_loop(cut, level, n->loop, out);
    if (info(cut, n)->product && n->in_loop == level) push(out, info(cut, n)->product);
}

/* The values that the body of loop n reads from the level; found once per loop node. */
static const Nodes *needs_of_body(Cut *cut, Loop *level, Node *n)
{
    Nodes *kept = &info(cut, n)->needs;
    if (!kept->cap) needs_at(cut, level, n, kept);
    return kept;
}

/* ------------------------------------------------------------------ the list */

static void put_before(Unit *u, Unit *next)
{
    u->next = next;
    u->before = next->before;
    next->before = u;
    if (u->before) u->before->next = u;
}

static void take_unit_out(Unit *u)
{
    if (u->before) u->before->next = u->next;
    u->next->before = u->before;
}

static void number_evenly(Unit *u, int n, int64_t from, int64_t to)
{
    int64_t step = (to - from) / (n + 1);
    for (int i = 0; i < n; i++, u = u->next) u->number = from + step * (i + 1);
}

/* Units beside u have its number, or none is left between: those around it are spread, as many as it takes until their
 * numbers are far apart again.  The larger the range, the thinner it must be; so a unit is numbered anew log n times.
 */
static void make_room(Unit *u)
{
    Unit *first = u, *last = u;
    double most = 1;
    for (int bits = 1, n = 1; bits < 62; bits++) {
        int64_t size = (int64_t)1 << bits, low = u->number & ~(size - 1);
        for (; first->before && first->before->number >= low; n++) first = first->before;
        for (; last->next->next && last->next->number < low + size; n++) last = last->next;
        if (n < (most *= THIN)) {
            number_evenly(first, n, low, low + size);
            return;
        }
    }
    die("too many units for their numbers");
}

/* The unit that makes n for its readers in the level; views are looked through. */
static Info *unit_beneath(Cut *cut, Loop *level, Node *n)
{
    while (is_view(n) && !info(cut, n)->forced && n->in[0]->in_loop == level) n = n->in[0];
    return info(cut, n);
}

static void find_feeds(Cut *cut, Loop *level, const Node *n)
{
    Infos *feeds = &info(cut, n)->feeds;
    *feeds = (Infos){.at = NEW_ARRAY(Info *, n->nin), .cap = n->nin};
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]->in_loop == level) push(feeds, unit_beneath(cut, level, n->in[k]));
}

void order_level(Cut *cut, Level *level)
{
    Unit *units = NEW_ARRAY(Unit, level->nodes.n + 1), *end = &units[level->nodes.n];
    end->number = INT64_MAX;
    for (int i = 0; i < level->nodes.n; i++) {
        units[i].node = level->nodes.at[i];
        put_before(&units[i], end);
        info(cut, level->nodes.at[i])->unit = &units[i];
        find_feeds(cut, level->loop, level->nodes.at[i]);
    }
    number_evenly(units, level->nodes.n, 0, (int64_t)1 << 62);
    cut->visits = 0;
}

static int by_unit_number(const void *a, const void *b)
{
    int64_t x = (*(Unit *const *)a)->number, y = (*(Unit *const *)b)->number;
    return (x > y) - (x < y);
}

static void move_before(const Units *moved, Unit *to)
{
    if (!moved->n) return;
    qsort(moved->at, (size_t)moved->n, sizeof *moved->at, by_unit_number);
    for (int i = 0; i < moved->n; i++) take_unit_out(moved->at[i]);
    int64_t low = to->before ? to->before->number : 0, step = (to->number - low) / (moved->n + 1);
    for (int i = 0; i < moved->n; i++) {
        moved->at[i]->number = low + step * (i + 1);
        put_before(moved->at[i], to);
    }
    if (!step) make_room(moved->at[0]);
    for (int i = 0; i < moved->n; i++) must(moved->at[i]->number < moved->at[i]->next->number);
}

/* ------------------------------------------------------------------ paths */

typedef struct Search {
    Loop *level;
    const Unit *a, *b; /* is there a path to either */
    int64_t lowest;    /* a number: no unit before it leads there */
} Search;

/* m is read by unit u.  false: it is a or b, where that matters. */
static bool come_by(Cut *cut, const Search *s, const Unit *u, Unit *m, bool ends_are_paths)
{
    if (m == s->a || m == s->b) return !ends_are_paths;
    if (m == u || m->number <= s->lowest || m->search == cut->search) return true;
    m->search = cut->search;
    push(&cut->seen, m);
    return true;
}

static bool come_by_all(Cut *cut, const Search *s, const Unit *u, const Infos *feeds, bool ends_are_paths)
{
    for (int k = 0; k < feeds->n; k++)
        if (!come_by(cut, s, u, feeds->at[k]->unit, ends_are_paths)) return false;
    return true;
}

static bool look_at_loop(Cut *cut, const Search *s, const Unit *u, bool ends_are_paths)
{
    const Nodes *next = needs_of_body(cut, s->level, u->node);
    for (int k = 0; k < next->n; k++)
        if (!come_by(cut, s, u, unit_beneath(cut, s->level, next->at[k])->unit, ends_are_paths)) return false;
    return true;
}

/* Of a group, the last of its nodes may come with a product. */
static bool look_at(Cut *cut, const Search *s, const Unit *u, bool ends_are_paths)
{
    const Nodes *group = u->group ? &u->group->nodes : NULL;
    const Node *last = group ? group->at[group->n - 1] : u->node;
    if (last->op == OP_loop) return look_at_loop(cut, s, u, ends_are_paths);
    const Infos *feeds = group && group->n > 1 ? &u->feeds : &info(cut, last)->feeds;
    Node *product = info(cut, last)->product;
    if (!come_by_all(cut, s, u, feeds, ends_are_paths)) return false;
    return !product || come_by(cut, s, u, unit_beneath(cut, s->level, product)->unit, ends_are_paths);
}

static bool no_path(Cut *cut, const Search *s)
{
    int most = cut->visits < PLENTY ? MOST_VISITS : FEW_VISITS;
    for (int i = 0; i < cut->seen.n; i++, cut->visits++)
        if (i == most || !look_at(cut, s, cut->seen.at[i], true)) return false;
    return true;
}

static void begin_search(Cut *cut)
{
    cut->search++;
    cut->seen.n = 0;
}

bool apart(Cut *cut, Loop *level, const Group *a, const Group *b)
{
    Search s = {.level = level, .a = a->unit, .b = b->unit, .lowest = min64(a->unit->number, b->unit->number)};
    begin_search(cut);
    return look_at(cut, &s, a->unit, false) && look_at(cut, &s, b->unit, false) && no_path(cut, &s);
}

/* The units that the nodes of a group read, in their order. */
static void gather_feeds(Cut *cut, const Group *g)
{
    Infos *out = &g->unit->feeds;
    out->n = 0;
    cut->search++;
    for (int i = 0; i < g->nodes.n; i++) {
        const Infos *feeds = &info(cut, g->nodes.at[i])->feeds;
        for (int k = 0; k < feeds->n; k++) {
            Info *f = feeds->at[k];
            if (f->unit == g->unit || f->met == cut->search) continue;
            f->met = cut->search;
            push(out, f);
        }
    }
}

void join_units(Cut *cut, Group *a, const Group *b)
{
    Unit *first = a->unit->number < b->unit->number ? a->unit : b->unit, *last = first == a->unit ? b->unit : a->unit;
    move_before(&cut->seen, first);
    take_unit_out(last);
    first->group = a;
    a->unit = first;
    for (int i = 0; i < a->nodes.n; i++) info(cut, a->nodes.at[i])->unit = first;
    gather_feeds(cut, a);
}

bool come_before(Cut *cut, Loop *level, Node *n, const Group *g)
{
    Unit *u = unit_beneath(cut, level, n)->unit;
    Search s = {.level = level, .a = g->unit, .b = g->unit, .lowest = g->unit->number};
    begin_search(cut);
    if (u == g->unit) return false;
    if (u->number > s.lowest) push(&cut->seen, u);
    if (!no_path(cut, &s)) return false;
    move_before(&cut->seen, g->unit);
    return true;
}
