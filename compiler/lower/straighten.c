/* straighten.c: copies values that a reader cannot reach through a view. A product that is read in another order of
 * axes is laid out for its reader instead. Leaves readings that no longer change, and the number of reads of each
 * value. */
#include "graph/parts.h"
#include "lower/lower.h"

/* ------------------------------------------------------------------ uses */

/* How often a node is read by anything, views included: what straighten() asks. */
static void count_direct_uses(Cut *cut, Level *level, Node *n)
{
    (void)level;
    for (int k = 0; k < n->nin; k++) info(cut, n->in[k])->uses++;
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++)
        info(cut, l->carries.at[k].init)->uses++, info(cut, l->carries.at[k].next)->uses++;
    for (int k = 0; k < l->xs.n; k++) info(cut, l->xs.at[k].outer)->uses++;
    for (int k = 0; k < l->ys.n; k++) info(cut, l->ys.at[k])->uses++;
}

static void use(Cut *cut, Node *n) { info(cut, source_of(cut, n))->uses++; }

static void count_uses(Cut *cut, Level *level, Node *n)
{
    (void)level;
    if (is_view(n) && !info(cut, n)->forced) return;
    for (int k = 0; k < n->nin; k++) use(cut, n->in[k]);
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++) use(cut, l->carries.at[k].init), use(cut, l->carries.at[k].next);
    for (int k = 0; k < l->xs.n; k++) use(cut, l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) use(cut, l->ys.at[k]);
}

static void clear_uses(Cut *cut, Level *level, Node *n)
{
    (void)level;
    info(cut, n)->uses = 0;
}

/* ------------------------------------------------------------------ what must be straight */

/* A reduction's rows must be addressable with one inner axis. */
static void straighten_reduction(Cut *cut, Node *n)
{
    View v = reading(cut, n->in[0]).view, over;
    bool column = n->ints[0] == 0 && n->in[0]->shape.rank > 1;
    int64_t all = elements(n->in[0]->shape), out = elements(n->shape), inner = column ? out : all / out;
    Shape s = n->in[0]->shape;
    while (s.rank > 0 && elements(s) > all / inner) s.rank--;
    s.axis[s.rank] = 0;
    s.dim[s.rank++] = inner;
    if (!view_reshape(&v, s, &over)) info(cut, n->in[0])->forced = true;
    if (is_free(cut, n->in[0]) && squeezed(n->in[0]->shape).rank > squeezed(s).rank) info(cut, n->in[0])->solid = true;
}

static void straighten_loop(Cut *cut, const Loop *l)
{
    for (int k = 0; k < l->carries.n; k++) reading(cut, l->carries.at[k].init), reading(cut, l->carries.at[k].next);
    for (int k = 0; k < l->xs.n; k++) reading(cut, l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) reading(cut, l->ys.at[k]);
}

static void straighten_node(Cut *cut, Level *level, Node *n)
{
    (void)level;
    for (int k = 0; k < n->nin; k++) reading(cut, n->in[k]);
    if (info(cut, n)->forced) reading_beneath(cut, n); /* what is copied must be affine beneath the copy as well */
    if (n->op == OP_loop) straighten_loop(cut, n->loop);
    if (op_info[n->op].kind == REDUCE) straighten_reduction(cut, n);
    if (n->op == OP_dot) gemm_fits(cut, n);
    if (op_info[n->op].kind == WHOLE) straighten_whole(cut, n);
    if (op_info[n->op].kind == JOIN || op_info[n->op].kind == INDEX)
        for (int k = 0; k < n->nin; k++) {
            Reading r = reading(cut, n->in[k]);
            if (r.view.guarded && op_info[n->op].kind == INDEX) info(cut, n->in[k])->forced = true;
            if (op_info[n->op].kind == INDEX && !has_address(cut, n->in[k])) info(cut, n->in[k])->forced = true;
            if (op_parts[n->op].kernel && op_parts[n->op].kernel->dense && !view_is_dense(&r.view))
                info(cut, n->in[k])->forced = true;
        }
}

int count_straightened(Cut *cut)
{
    int n = 0;
    for (int i = 0; i < cut->infos.n; i++) {
        const Info *at = cut->infos.at[i];
        n += at->forced + at->solid + (at->layout != NULL);
    }
    return n;
}

/* A copy may make another reading bend: until none does. */
static void straighten_all(Cut *c)
{
    for (int before = -1, now = 0; now != before; now = count_straightened(c)) {
        before = count_straightened(c);
        c->round++;
        find_free(c, c->top);
        for (int i = 0; i < c->roots.n; i++) reading(c, c->roots.at[i]);
        each_level(c, c->top, straighten_node);
    }
    c->straightened = count_straightened(c);
    c->round++;
    find_free(c, c->top);
}

void pass_straighten(Cut *c)
{
    each_level(c, c->top, count_direct_uses);
    for (int i = 0; i < c->roots.n; i++) info(c, c->roots.at[i])->uses++;
    straighten_all(c);
    each_level(c, c->top, clear_uses);
    each_level(c, c->top, count_uses);
    for (int i = 0; i < c->roots.n; i++) use(c, c->roots.at[i]);
}
