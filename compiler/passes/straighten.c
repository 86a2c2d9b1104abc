/* straighten.c: copies what readers cannot see through views where it lies; a product that is read in another order of
 * axes is laid out for its reader instead.  Leaves readings that do not change any more, and how often each value is
 * read. */
#include "../lower.h"

/* ------------------------------------------------------------------ uses */

/* How often a node is read by anything, views included: what straighten() asks. */
static void count_direct_uses(Level *level, Node *n)
{
    (void)level;
    for (int k = 0; k < n->nin; k++) info(n->in[k])->uses++;
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++) info(l->carries.at[k].init)->uses++, info(l->carries.at[k].next)->uses++;
    for (int k = 0; k < l->xs.n; k++) info(l->xs.at[k].outer)->uses++;
    for (int k = 0; k < l->ys.n; k++) info(l->ys.at[k])->uses++;
}

static void use(Node *n) { info(reading(n).source)->uses++; }

static void count_uses(Level *level, Node *n)
{
    (void)level;
    if (is_view(n) && !info(n)->forced) return;
    for (int k = 0; k < n->nin; k++) use(n->in[k]);
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++) use(l->carries.at[k].init), use(l->carries.at[k].next);
    for (int k = 0; k < l->xs.n; k++) use(l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) use(l->ys.at[k]);
}

static void clear_uses(Level *level, Node *n)
{
    (void)level;
    info(n)->uses = 0;
}

/* ------------------------------------------------------------------ what must be straight */

/* A reduction's rows must be addressable with one inner axis. */
static void straighten_reduction(Node *n)
{
    View v = reading(n->in[0]).view, over;
    bool column = n->ints[0] == 0 && n->in[0]->shape.rank > 1;
    int64_t all = elements(n->in[0]->shape), out = elements(n->shape), inner = column ? out : all / out;
    Shape s = n->in[0]->shape;
    while (s.rank > 0 && elements(s) > all / inner) s.rank--;
    s.axis[s.rank] = 0;
    s.dim[s.rank++] = inner;
    if (!view_reshape(&v, s, &over)) info(n->in[0])->forced = true;
    if (is_free(n->in[0]) && squeezed(n->in[0]->shape).rank > squeezed(s).rank) info(n->in[0])->solid = true;
}

static void straighten_loop(const Loop *l)
{
    for (int k = 0; k < l->carries.n; k++) reading(l->carries.at[k].init), reading(l->carries.at[k].next);
    for (int k = 0; k < l->xs.n; k++) reading(l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) reading(l->ys.at[k]);
}

static void straighten_node(Level *level, Node *n)
{
    (void)level;
    for (int k = 0; k < n->nin; k++) reading(n->in[k]);
    if (info(n)->forced) reading_beneath(n); /* what is copied must be affine beneath the copy as well */
    if (n->op == OP_loop) straighten_loop(n->loop);
    if (op_info[n->op].kind == REDUCE) straighten_reduction(n);
    if (n->op == OP_dot) gemm_fits(n);
    if (op_info[n->op].kind == WHOLE) straighten_attention(n);
    if (n->op == OP_concat || op_info[n->op].kind == INDEX)
        for (int k = 0; k < n->nin; k++) {
            Reading r = reading(n->in[k]);
            if (r.view.guarded && n->op != OP_concat) info(n->in[k])->forced = true;
            if (op_info[n->op].kind == INDEX && !has_address(n->in[k])) info(n->in[k])->forced = true;
            if (n->op == OP_over_ranks && !view_is_dense(&r.view)) info(n->in[k])->forced = true;
        }
}

int count_straightened(void)
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
    for (int before = -1, now = 0; now != before; now = count_straightened()) {
        before = count_straightened();
        c->round++;
        find_free(c->top);
        for (int i = 0; i < c->roots.n; i++) reading(c->roots.at[i]);
        each_level(c->top, straighten_node);
    }
    c->straightened = count_straightened();
    c->round++;
    find_free(c->top);
}

void pass_straighten(Cut *c)
{
    each_level(c->top, count_direct_uses);
    for (int i = 0; i < c->roots.n; i++) info(c->roots.at[i])->uses++;
    straighten_all(c);
    each_level(c->top, clear_uses);
    each_level(c->top, count_uses);
    for (int i = 0; i < c->roots.n; i++) use(c->roots.at[i]);
}
