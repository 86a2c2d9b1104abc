/* title.c: names of values.
 *
 * The front gives nodes the names in the description (front/titles.c).  The highest rank wins, then the first; but the
 * result of a layer is named after the layer, whatever its own locals are called.  Titles are not part of a node's key;
 * remade() copies them, and rewritten() passes them on to replacements.  A gradient has the title of the value that it
 * belongs to, and a flag. */
#include "graph/graph.h"

#include <string.h>

/* The name of a parameter, also of its slice in a loop. */
static const char *own_name(const Node *n)
{
    while (n->op == OP_loop_arg && n->ints[0] == ARG_X) n = n->loop->xs.at[n->ints[1]].outer;
    return n->name;
}

/* Constants get no titles, since all uses of a number share one node. */
static bool takes_titles(const Node *n) { return !n->known && !own_name(n); }

static bool is_inside(const char *inner, const char *outer)
{
    size_t n = strlen(outer);
    return strncmp(inner, outer, n) == 0 && (inner[n] == '.' || inner[n] == 0 || n == 0);
}

void give_title(Node *n, const char *title, Title_rank rank, const char *layer)
{
    bool slice = n->op == OP_loop_arg && n->ints[0] == ARG_X; /* named after the whole, unless a local names it */
    if (!takes_titles(n) || !*title || (slice && rank == TITLE_ARGUMENT)) return;
    bool around = rank == TITLE_LAYER && n->title_rank && n->title_rank < TITLE_OUTPUT && is_inside(n->layer, layer);
    if (n->title_rank >= rank && !around) return;
    n->title = title;
    if (rank > n->title_rank) n->title_rank = rank;
    n->layer = layer;
}

static void take(Node *to, const Node *from)
{
    to->gradient = from->gradient;
    to->of = from->of;
    to->again |= from->again && to->phase;
    to->title = from->title;
    to->title_rank = from->title_rank;
    to->layer = from->layer;
}

void hand_on_title(Node *to, const Node *from)
{
    if (to == from || !takes_titles(to)) return;
    bool blank = !to->title_rank && !to->gradient && (to->phase || to->op == OP_loop_arg || !from->gradient);
    if (blank || (to->gradient == from->gradient && from->title_rank > to->title_rank)) take(to, from);
}

void title_alike(Node *to, const Node *from)
{
    if (takes_titles(to) && !to->title) take(to, from);
}

bool is_another_form(const Node *n) { return (op_info[n->op].facts & REARRANGES) || n->op == OP_cast; }

void title_instead(Node *to, const Node *from)
{
    if (takes_titles(to)) take(to, from);
}

void title_gradient(Node *g, const Node *of)
{
    const char *name = own_name(of);
    bool nameless =
        g->gradient && !g->title && (name || of->title); /* an addition's title would be that of its first term */
    if (!takes_titles(g) || (g->gradient && !nameless) || op_info[g->op].kind == LEAF) return;
    g->gradient = true;
    g->of = name || of->title ? NULL : of;
    g->title = name ? own_part_of(name) : of->title;
    g->title_rank = name ? TITLE_LETTER : of->title_rank;
    g->layer = name ? path_before(name) : of->layer;
}

void title_of_gradient(Node *g, const char *parameter)
{
    if (!takes_titles(g) || g->title) return;
    g->gradient = true;
    g->title = own_part_of(parameter);
    g->title_rank = TITLE_LETTER;
    g->layer = path_before(parameter);
}

/* The parts of an export name: weight and h.attn.c_attn of h.attn.c_attn.weight. */
const char *own_part_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

const char *path_before(const char *name)
{
    const char *own = own_part_of(name);
    return own == name ? "" : copy_bytes_as_string(name, (size_t)(own - name - 1));
}

const char *last_part_of(const char *path)
{
    const char *at = path + strlen(path);
    while (at > path && at[-1] != '.') at--;
    while (at > path && *at >= '0' && *at <= '9')
        for (at--; at > path && at[-1] != '.';) at--;
    return at;
}
