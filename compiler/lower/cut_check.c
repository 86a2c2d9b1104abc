/* cut_check.c: the invariants of a graph that is being cut into kernels, checked between passes.
 *
 *   1. Once readings have settled no pass finds another copy.
 *   2. A node is in the group that has it, and what is in a group has a kernel: it is neither absorbed nor a view.
 *   3. An absorbed addition has one reader, or a place of its own, and two operands.
 *   4. A product and what comes with it name each other.
 *   5. What lies in memory lies in a buffer, or shows one. */
#include "lower/lower.h"

static bool has_node(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return true;
    return false;
}

static const char *pair_fault(Cut *cut, const Node *n)
{
    const Info *of = info(cut, n);
    const Node *with[] = {of->sums_up, of->before_gelu};
    for (int i = 0; i < COUNT_OF(with); i++)
        if (with[i] && info(cut, with[i])->product != n) return "it makes what is said to be made by another";
    if (!of->product) return NULL;
    const Info *by = info(cut, of->product);
    return by->sums_up == n || by->before_gelu == n ? NULL : "it is made by what does not know of it";
}

static const char *fault_of_cut(Cut *cut, Node *n)
{
    const Info *of = info(cut, n);
    if (of->group && !has_node(&of->group->nodes, n)) return "it is in a group that does not have it";
    if (of->group && (of->absorbed || (is_view(n) && !of->forced))) return "it is in a group and has no kernel";
    if (of->absorbed && (n->op != OP_add || n->in[0] == n->in[1] || (of->uses != 1 && !of->stands)))
        return "it is absorbed, but no addition for one reader";
    if (of->placed && !of->place.buffer) return "it has a place in no buffer";
    return pair_fault(cut, n);
}

static void check_level(Cut *cut, const Level *level, const char *stage)
{
    for (int i = 0; i < level->nodes.n; i++) {
        const char *fault = fault_of_cut(cut, level->nodes.at[i]);
        if (fault) die("after %s: %s\n    %s", stage, fault, node_text(level->nodes.at[i]));
    }
    for (int i = 0; i < level->inside.n; i++) check_level(cut, level->inside.at[i], stage);
}

void check_cutting(Cut *c, const char *stage)
{
    if (count_straightened(c) != c->straightened) die("after %s: a copy was found too late", stage);
    check_level(c, c->top, stage);
}
