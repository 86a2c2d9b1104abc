/* form.c: what passes leave to those after them, asked of graphs that begin in the middle as text.
 *
 * A description goes through all passes, so that each finds what it needs.  A text may begin with any of them, and is
 * refused where an earlier one would have made another graph of it, with its line.  The form that kernels are cut from
 * is checked between passes as well. */
#include "desc/passes.h"
#include "desc/target.h"

/* ------------------------------------------------------------------ the form that kernels are cut from */

static const char *reduction_fault(const Node *n)
{
    bool ends = n->nints == 1 && (n->ints[0] == 0 || n->ints[0] == n->in[0]->shape.rank - 1);
    return ends ? NULL : "a reduction runs over the first or the last axis";
}

/* Is each contracted axis the neighbour of the one before it? */
static bool neighbour(const int *axes, int n)
{
    for (int k = 0; k + 1 < n; k++)
        if (axes[k + 1] != axes[k] + 1) return false;
    return true;
}

/* Where there are other axes. */
static bool batch_is_last(const Node *x, const int *batch, int n)
{
    for (int k = 0; k < n && n < x->shape.rank; k++)
        if (batch[k] == x->shape.rank - 1 && x->shape.dim[batch[k]] > 1) return true;
    return false;
}

/* Contracted axes between others make several matrices of an operand. */
static bool is_one_matrix(const Node *x, const int *axes, int n)
{
    bool before = false, behind = false;
    for (int i = 0; n && i < x->shape.rank; i++) {
        before |= i < axes[0] && x->shape.dim[i] > 1;
        behind |= i > axes[n - 1] && x->shape.dim[i] > 1;
    }
    return !before || !behind;
}

static const char *dot_form_fault(const Node *n)
{
    Dot_axes x = dot_axes(n);
    const Node *a = n->in[0], *b = n->in[1];
    if (!neighbour(x.ac, x.nc) || !neighbour(x.bc, x.nc)) return "contracted axes of a dot are neighbours, in order";
    if (batch_is_last(a, x.ab, x.nb) || batch_is_last(b, x.bb, x.nb)) return "the last axis of an operand is no batch";
    if (dot_end(n) != END_NONE && !(is_one_matrix(a, x.ac, x.nc) && is_one_matrix(b, x.bc, x.nc)))
        return "a dot that ends in something contracts the first or the last axes";
    return NULL;
}

static const char *form_fault(const Node *n)
{
    if (op_info[n->op].kind == REDUCE) return reduction_fault(n);
    return n->op == OP_dot ? dot_form_fault(n) : NULL;
}

void check_form(const Graph *g, const char *stage)
{
    Nodes all = {0};
    all_nodes(g, &all);
    for (int i = 0; i < all.n; i++) {
        const char *fault = form_fault(all.at[i]);
        if (fault) die("graph %s after %s: %s\n    %s", g->name, stage, fault, node_text(all.at[i]));
    }
}

/* ------------------------------------------------------------------ texts that begin in the middle */

/* Passes before those that make ends of dots know of none, and products of some targets have none. */
static void refuse_end(const Graph *g, const Node *n, const Desc *d, const char *first)
{
    if (n->op != OP_dot || dot_end(n) == END_NONE) return;
    if (comes_before(first, "bias"))
        err(where_in_text(g, n),
            "a dot ends in something, which passes before bias do not know: begin there, not with %s", first);
    if (!d->options->target->ends)
        err(where_in_text(g, n), "a dot ends in something, which products of %s do not", d->options->target->name);
}

/* Behind pass whole there are whole ops with kernels alone. */
static void refuse_whole(const Graph *g, const Node *n, const Desc *d, const char *first)
{
    bool wanted[MOST_RESULTS] = {false};
    Node *results[MOST_RESULTS];
    if (n->op != OP_pick || op_info[n->in[0]->op].kind != WHOLE || !comes_before("whole", first)) return;
    wanted[n->ints[0]] = true;
    if (whole_info[n->in[0]->op].expand(n->in[0], wanted, results, d))
        err(where_in_text(g, n->in[0]), "there is no kernel for this %s: begin with pass whole, not with %s",
            op_info[n->in[0]->op].name, first);
}

static void refuse_form(const Graph *g, const Node *n, const char *first)
{
    const char *fault = comes_before("normal", first) ? form_fault(n) : NULL;
    if (fault) err(where_in_text(g, n), "behind pass normal %s: begin there, not with %s", fault, first);
}

void refuse_text(const Desc *d, const char *first)
{
    for (int i = 0; i < d->graphs.n; i++) {
        const Graph *g = d->graphs.at[i];
        Nodes all = {0};
        if (g->micro && comes_before("grad", first))
            err((Where){.file = g->file},
                "pass grad closes the open loop over micro-batches: begin with it, not with %s", first);
        all_nodes(g, &all);
        for (int k = 0; k < all.n; k++) {
            refuse_end(g, all.at[k], d, first);
            refuse_whole(g, all.at[k], d, first);
            refuse_form(g, all.at[k], first);
        }
    }
}
