/* ids.c: the text that reads an id: a plain read if the id is certainly in range, else with a check (id_below() of
 * lathe_rt.h). */
#include "emit/emit.h"

/* Can n be data, or be computed from data? */
static bool may_be_data(const Node *n, const Desc *d)
{
    if (n->op == OP_parameter || is_replaced(n)) return false;
    for (int i = 0; n->op == OP_input && i < d->inputs.n; i++) {
        Lathe_role role = d->inputs.at[i].role;
        if (same(d->inputs.at[i].name, n->name) &&
            (role == LATHE_SEED || role == LATHE_STEP || role == LATHE_FIRST_ROW))
            return false;
    }
    return true;
}

static void made_of(const Node *n, Nodes *out)
{
    const Loop *l = n->loop;
    for (int i = 0; i < n->nin; i++) push(out, n->in[i]);
    if (!l) return;
    loop_begins(l, out);
    loop_walks(l, out);
    for (int k = 0; k < l->carries.n; k++) push(out, l->carries.at[k].next);
    for (int k = 0; n->op == OP_loop && k < l->ys.n; k++) push(out, l->ys.at[k]);
}

/* Is n made of data alone, with no parameter, state, seed or step? Looks at a limited number of nodes. */
static bool from_data(const Node *n, const Desc *d)
{
    enum { MOST = 4096 };
    Table seen = {0};
    Nodes left = {0};
    push(&left, (Node *)n);
    for (int looked = 0; left.n;) {
        Node *next = left.at[--left.n];
        void **slot = table_at(&seen, next);
        if (*slot) continue;
        *slot = next;
        if (++looked > MOST || !may_be_data(next, d)) return false;
        made_of(next, &left);
    }
    return true;
}

/* "gather in wte" */
static const char *what_has_ids(const Node *n)
{
    Where w = n->where;
    return format("%s%s%s", op_info[n->op].name, w.path && *w.path ? " in " : "", w.path ? w.path : "");
}

static const char *place_of_ids(const Node *n)
{
    return n->where.file ? format("%s:%d", file_name(n->where.file), n->where.line) : "";
}

const char *id_check_text(Page *page, const Node *n, const Node *ids, int64_t below)
{
    if (ids_below(ids, below, page->desc)) return "{0}";
    return format("{%s, %s, %s}", from_data(ids, page->desc) ? "true" : "false", quoted(place_of_ids(n)),
                  quoted(what_has_ids(n)));
}

const char *id_text(Page *page, const Kernel *k, const char *id, int64_t below, int axis)
{
    const Node *n = k->node, *ids = n->in[1];
    const Desc *d = page->desc;
    if (ids_below(ids, below, d)) return id;
    return format("%s(%s, %s, %s, %s)", from_data(ids, d) ? "data_id" : "computed_id", id,
                  extent_text(page, below, axis), quoted(place_of_ids(n)), quoted(what_has_ids(n)));
}

/* The text of class_id (graph/ops.def), given those of its inputs: just the id if that is certainly a class. */
Expr class_id_text(Page *page, const Node *n, const Expr *in)
{
    const char *id = within(in[0], PRIMARY);
    double below = 0, ignored = 0;
    Where w = n->where;
    must(is_filled(n->in[1], &below) && is_filled(n->in[2], &ignored));
    if (classes_below(n->in[0], (int64_t)below, (int64_t)ignored, page->desc)) return in[0];
    bool listed = ignored >= 0 && ignored < below;
    const char *place = w.file ? format("%s:%d", file_name(w.file), w.line) : "";
    const char *what = format("class ids%s%s%s", w.path && *w.path ? " in " : "", w.path ? w.path : "",
                              listed ? "" : format(", of which %.0f counts for none", ignored));
    const char *checked =
        format("%s(%s, %s, %s, %s)", from_data(n->in[0], page->desc) ? "data_id" : "computed_id", id,
               extent_text(page, (int64_t)below, axis_counted(n->in[1])), quoted(place), quoted(what));
    if (listed) return (Expr){copy_string(checked), PRIMARY};
    return (Expr){format("%s == %.0f ? %s : %s", id, ignored, id, checked), TERNARY};
}
