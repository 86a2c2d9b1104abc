/* lower.c: reads through views, finds the levels of a graph, and makes their kernels. */
#include "lower.h"

#include <string.h>

/* Of the entry being lowered alone: ids count on from one to the next, so a table of them all would grow with each. */
static struct {
    Info **of; /* by id; NULL: nothing is known yet */
    int n;
    VEC(Info *) all, spare; /* of this entry; of those before it */
    int round;              /* how often readings have been looked at for what bends */
} infos;

Info *info(const Node *n)
{
    if (n->id >= infos.n) {
        Info **of = NEW_ARRAY(Info *, n->id * 2 + 2);
        if (infos.n) memcpy(of, infos.of, sizeof *of * (size_t)infos.n);
        infos.of = of;
        infos.n = n->id * 2 + 2;
    }
    Info **of = &infos.of[n->id];
    if (!*of) {
        *of = infos.spare.n ? infos.spare.at[--infos.spare.n] : NEW(Info);
        (*of)->node = n;
        push(&infos.all, *of);
    }
    return *of;
}

static void forget_infos(void)
{
    for (int i = 0; i < infos.all.n; i++) {
        Info *old = infos.all.at[i];
        infos.of[old->node->id] = NULL;
        *old = (Info){0};
        push(&infos.spare, old);
    }
    infos.all.n = 0;
    infos.round = 1;
}

/* ------------------------------------------------------------------ kinds */

bool is_view(const Node *n) { return op_info[n->op].kind == MOVE && n->op != OP_concat; }

enum { MOST_FREE = 200 }; /* operations of a map that is computed wherever it is read */

static bool number(const Node *n)
{
    return elements(n->shape) == 1 && (op_info[n->op].kind == LEAF || n->op == OP_loop_arg);
}

/* A parameter in 16 bits, seen through views that need no copy. */
static bool is_widened_weight(const Node *n)
{
    if (!is_weight(n)) return false;
    for (n = n->in[0]; n->op != OP_parameter; n = n->op == OP_loop_arg ? n->loop->xs.at[n->ints[1]].outer : n->in[0])
        if (info(n)->forced) return false;
    return true;
}

/* What is kept in 16 bits is widened by whoever reads it; through a view by one for all. */
bool widens(const Node *n)
{
    return n->op == OP_cast && is_stored(n->in[0]->dtype) && !left_out(PASS_fuse) && !info(n)->grouped &&
           !info(n)->solid;
}

/* The operations of a map that reads no memory, each counted wherever it is read; 0: it reads some.  Copies are found
 * one after another and only make such maps fewer, so "none" stays, and other answers hold for a round. */
static int free_size(const Node *n);

static int own_free_size(const Node *n)
{
    int size = 1;
    if (op_info[n->op].kind != MAP || left_out(PASS_fuse) || info(n)->solid) return 0;
    if (is_widened_weight(n)) return size;
    for (int i = 0; i < n->nin; i++) {
        const Node *in = n->in[i], *under = in;
        while (is_view(under) && !info(under)->forced && under->op != OP_pad) under = under->in[0];
        if (is_filled(in, NULL) || by_value(in) || number(under)) continue;
        int more = free_size(in);
        if (!more || (size += more) > MOST_FREE) return 0;
    }
    return size;
}

static int free_size(const Node *n)
{
    Info *known = info(n);
    if (!known->reads_some && known->free_round != infos.round) {
        known->free_size = own_free_size(n);
        known->free_round = infos.round;
        known->reads_some = !known->free_size;
    }
    return known->free_size;
}

static bool reads_nothing(const Node *n) { return free_size(n); }

bool is_free(const Node *n) { return widens(n) || reads_nothing(n); }

bool in_rows(const Node *n)
{
    OpKind kind = op_info[n->op].kind;
    if (info(n)->absorbed || (is_free(n) && !info(n)->grouped)) return false;
    return kind == MAP || kind == REDUCE || info(n)->forced;
}

/* ------------------------------------------------------------------ readings */

bool by_value(const Node *n)
{
    return !info(n)->forced && (n->op == OP_iota || (n->op == OP_loop_arg && n->ints[0] == ARG_INDEX));
}

View value_view(const Node *n)
{
    View v = view_dense(n->shape);
    for (int i = 0; i < n->shape.rank; i++) v.stride[i] = n->op == OP_iota && i == n->ints[0];
    if (n->op != OP_iota) {
        v.over[v.nover].loop = n->loop;
        v.over[v.nover++].stride = 1;
    }
    return v;
}

static View base_view(Node *n)
{
    if (n->op == OP_loop_arg && n->ints[0] == ARG_X && !info(n)->forced) {
        Node *outer = n->loop->xs.at[n->ints[1]].outer;
        View v = reading(outer).view;
        if (v.low[0] > 0 || v.high[0] < outer->shape.dim[0]) {
            info(outer)->forced = true;
            v = reading(outer).view;
        }
        return view_without_first(&v, n->loop, 0);
    }
    View v = view_dense(n->shape);
    if (by_value(n)) return value_view(n);
    if (n->op == OP_parameter) {
        const Param *p = find_param(lowering.desc, n->name);
        if (p) memcpy(v.stride, p->stride, sizeof v.stride);
    }
    const Node *perm = info(n)->layout;
    if (perm) {
        View laid = view_dense(perm->shape);
        for (int i = 0; i < n->shape.rank; i++) v.stride[perm->ints[i]] = laid.stride[i];
    }
    return v;
}

/* A reshape cannot look through `below`: a dot that is only read through it takes that layout, else it is copied. */
static void straighten(Node *below)
{
    Node *dot = below->op == OP_permute ? below->in[0] : NULL;
    int last = below->shape.rank - 1;
    if (dot && dot->op == OP_dot && dot_end(dot) == END_NONE && info(dot)->uses == 1 && below->ints[last] == last &&
        !info(dot)->layout) {
        info(dot)->layout = below;
    } else {
        info(below)->forced = true;
    }
}

static Reading reading_below(Node *n, bool through_first)
{
    for (;;) {
        Nodes moves = {0};
        Node *m = n;
        bool first = through_first, straight = true;
        while (is_view(m) && (first || !info(m)->forced)) {
            push(&moves, m);
            m = m->in[0];
            first = false;
        }
        View v = base_view(m);
        while (moves.n && straight) {
            Node *move = moves.at[--moves.n];
            if (!view_move(&v, move)) {
                straighten(move->in[0]);
                straight = false;
            }
        }
        if (straight) return (Reading){m, v};
    }
}

Reading reading(Node *n) { return reading_below(n, false); }

bool has_address(Node *n)
{
    Node *source = reading(n).source;
    while (source->op == OP_loop_arg && source->ints[0] == ARG_X && !info(source)->forced)
        source = reading(source->loop->xs.at[source->ints[1]].outer).source;
    return !is_filled(n, NULL) && !by_value(source);
}

/* ------------------------------------------------------------------ levels, uses */

static Level *make_level(Loop *loop, const Nodes *roots)
{
    Level *level = NEW(Level);
    level->loop = loop;
    level->roots = *roots;
    nodes_at(loop, roots->at, roots->n, &level->nodes);
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        info(n)->order = i;
        if (n->op == OP_pick) push(&info(n->in[0])->picks, n);
        if (n->op != OP_loop) continue;
        Nodes inner = {0};
        loop_roots(n->loop, &inner);
        push(&level->inside, info(n)->body = make_level(n->loop, &inner));
    }
    return level;
}

typedef void (*Visit)(Level *, Node *);

static void each_level(Level *level, Visit visit)
{
    for (int i = 0; i < level->nodes.n; i++) visit(level, level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) each_level(level->inside.at[i], visit);
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

/* ------------------------------------------------------------------ what must be straight before fusing */

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
    if (info(n)->forced) reading_below(n, true); /* what is copied must be affine beneath the copy as well */
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

static int count_straightened(void)
{
    int n = 0;
    for (int i = 0; i < infos.all.n; i++) {
        const Info *at = infos.all.at[i];
        n += at->forced + at->solid + (at->layout != NULL);
    }
    return n;
}

static int straightened; /* how many when kernels began to be cut */

/* In order, inputs first: so none is asked through a chain. */
static void find_free(Level *level)
{
    for (int i = 0; i < level->nodes.n; i++) free_size(level->nodes.at[i]);
    for (int i = 0; i < level->inside.n; i++) find_free(level->inside.at[i]);
}

/* A copy may make another reading bend: until none does. */
static void straighten_all(Level *top, const Nodes *roots)
{
    for (int before = -1, now = 0; now != before; now = count_straightened()) {
        before = count_straightened();
        infos.round++;
        find_free(top);
        for (int i = 0; i < roots->n; i++) reading(roots->at[i]);
        each_level(top, straighten_node);
    }
    straightened = count_straightened();
    infos.round++;
    find_free(top);
}

/* next = add(carry, x): added to in place where nobody else looks at the carry. */
static void absorb(Level *level, Node *n)
{
    (void)level;
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++) {
        Node *next = l->carries.at[k].next, *arg = l->carries.at[k].arg;
        bool adds = next->op == OP_add && (next->in[0] == arg) != (next->in[1] == arg);
        if (adds && !loop_stacks(l, arg) && next->in_loop == l && info(arg)->uses == 1 && info(next)->uses == 1)
            info(next)->absorbed = true;
    }
}

Node *beneath(Node *n)
{
    while ((n->op == OP_reshape || n->op == OP_permute) && !info(n)->forced) n = n->in[0];
    return n;
}

Node *added_to(const struct Carry *c) { return c->next->in[c->next->in[0] == c->arg]; }

bool adds_up_from_zero(const Node *n)
{
    double x;
    if (n->op != OP_pick || n->in[0]->op != OP_loop || n->ints[0] != PICK_CARRY) return false;
    const struct Carry *c = &n->in[0]->loop->carries.at[n->ints[1]];
    return info(c->next)->absorbed && is_filled(c->init, &x) && x == 0;
}

bool can_be_added(const Node *dot) { return dot_end(dot) == END_NONE || dot_end(dot) == END_BIAS; }

/* A sum of what kernels can add to what is there (products, scatters, what loops add up) for its one reader. */
static bool adds_up(Node *n, Loop *level)
{
    Node *below = beneath(n);
    if (below->in_loop != level || info(below)->uses != 1) return false;
    if (below->op == OP_add)
        return below->in[0] != below->in[1] && adds_up(below->in[0], level) && adds_up(below->in[1], level);
    return (below->op == OP_dot && can_be_added(below)) || below->op == OP_scatter_add || adds_up_from_zero(below);
}

/* n will be wanted at some place, and is made there without kernels for its additions. */
static void absorb_sum(Node *n, Loop *level)
{
    Node *below = beneath(n);
    if (below->op != OP_add || !adds_up(n, level)) return;
    info(below)->absorbed = true;
    for (int k = 0; k < 2; k++) absorb_sum(below->in[k], level);
}

static void absorb_sums(Level *level, Node *n)
{
    (void)level;
    for (int k = 0; n->op == OP_loop && !left_out(PASS_fuse) && k < n->loop->carries.n; k++) {
        const struct Carry *c = &n->loop->carries.at[k];
        if (info(c->next)->absorbed) absorb_sum(added_to(c), n->loop);
    }
}

static void read_as_is(Node *n)
{
    if (is_free(reading(n).source)) info(reading(n).source)->grouped = true;
}

/* A free map is a kernel of its own only for readers that cannot compute it: products, loops, outputs, views. */
static void find_grouped(Level *level, Node *n)
{
    (void)level;
    OpKind kind = op_info[n->op].kind;
    for (int k = 0; k < n->nin; k++)
        if ((kind != MAP && kind != REDUCE) || is_view(n->in[k]) || info(n)->absorbed) read_as_is(n->in[k]);
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->carries.n; k++) read_as_is(l->carries.at[k].init), read_as_is(l->carries.at[k].next);
    for (int k = 0; k < l->xs.n; k++) read_as_is(l->xs.at[k].outer);
    for (int k = 0; k < l->ys.n; k++) read_as_is(l->ys.at[k]);
}

static void fuse_all(Level *level)
{
    fuse_level(level);
    for (int i = 0; i < level->inside.n; i++) fuse_all(level->inside.at[i]);
}

/* What a kernel other than its own reads must be in memory. */
static void mark_memory(Level *level, Node *n)
{
    (void)level;
    if (is_view(n) && !info(n)->forced) return;
    for (int k = 0; k < n->nin; k++) {
        Node *source = info(n)->forced ? reading_below(n, true).source : reading(n->in[k]).source;
        bool computed = info(n)->group ? is_free(n->in[k]) : is_free(n) && !widens(n); /* by the reader itself */
        if (info(n)->forced || (info(source)->group != info(n)->group && !computed) || (!info(n)->group && !computed))
            info(source)->memory = true;
    }
    if (n->op != OP_loop) return;
    const Loop *l = n->loop;
    for (int k = 0; k < l->xs.n; k++) info(reading(l->xs.at[k].outer).source)->memory = true;
}

/* ------------------------------------------------------------------ twins */

/* A value and its recomputation for backward that meet in one kernel are one: the forward one. */
static Node *first_of(Node *n) { return info(n)->twin ? info(n)->twin : n; }

static bool alike(Node *a, Node *b);

/* Views and free maps belong to no group: they are looked through. */
static bool alike_inputs(Node *a, Node *b)
{
    return first_of(a) == first_of(b) || ((is_view(a) || is_free(a)) && alike(a, b));
}

static bool alike(Node *a, Node *b)
{
    if (a->op != b->op || a->dtype != b->dtype || !same_shape(a->shape, b->shape)) return false;
    if (a->nin != b->nin || a->nints != b->nints || a->loop != b->loop || !same(a->name, b->name)) return false;
    if (memcmp(&a->value, &b->value, sizeof a->value) != 0 || a->data != b->data) return false;
    for (int i = 0; i < a->nints; i++)
        if (a->ints[i] != b->ints[i]) return false;
    for (int i = 0; i < a->nin; i++)
        if (!alike_inputs(a->in[i], b->in[i])) return false;
    return true;
}

/* A concat of twins again: its parts lie in the forward one. */
static bool find_twin_concat(const Level *level, int at)
{
    Node *n = level->nodes.at[at];
    bool again = false;
    for (int i = 0; i < n->nin; i++) again |= first_of(n->in[i]) != n->in[i];
    for (int i = 0; again && i < at && !info(n)->twin; i++) {
        Node *m = level->nodes.at[i];
        if (m->op == OP_concat && m->phase != n->phase && alike(m, n)) info(n)->twin = first_of(m);
    }
    return info(n)->twin;
}

static bool find_twins(const Level *level)
{
    bool any = false;
    for (int i = 0; i < level->nodes.n; i++) {
        Node *n = level->nodes.at[i];
        if (n->op == OP_concat) any |= find_twin_concat(level, i);
        const Group *g = info(n)->group;
        for (int k = 0; g && k < g->nodes.n && g->nodes.at[k] != n && !info(n)->twin; k++)
            if (g->nodes.at[k]->phase != n->phase && alike(g->nodes.at[k], n)) {
                info(n)->twin = first_of(g->nodes.at[k]);
                any = true;
            }
    }
    for (int i = 0; i < level->inside.n; i++) any |= find_twins(level->inside.at[i]);
    return any;
}

static Node *twin(Rewrite *r, Node *old) { return first_of(old) != old ? rewritten(r, first_of(old)) : NULL; }

/* ------------------------------------------------------------------ the pass */

static Level *fused(Graph *g)
{
    forget_infos();
    Nodes roots = {0};
    graph_roots(g, &roots);
    Level *top = make_level(NULL, &roots);
    each_level(top, count_direct_uses);
    for (int i = 0; i < roots.n; i++) info(roots.at[i])->uses++;
    straighten_all(top, &roots);
    each_level(top, clear_uses);
    each_level(top, count_uses);
    for (int i = 0; i < roots.n; i++) use(roots.at[i]);
    each_level(top, absorb);
    each_level(top, absorb_sums);
    for (int i = 0; i < g->outs.n; i++)
        if (g->outs.at[i].kind != OUT_STATE && !left_out(PASS_fuse)) absorb_sum(g->outs.at[i].node, NULL);
    each_level(top, find_grouped);
    for (int i = 0; i < roots.n; i++) read_as_is(roots.at[i]);
    fuse_all(top);
    return top;
}

Level *trial_cut(Graph *g, const Desc *d)
{
    lowering = (Lowering){.desc = d};
    layout_parameters(d);
    return fused(g);
}

void pass_twins(Graph *g, const Desc *d)
{
    if (left_out(PASS_twins) || left_out(PASS_fuse) || !g->wants_grads) return;
    if (find_twins(trial_cut(g, d))) rewrite_graph(&(Rewrite){.before = twin}, g);
}

Program *pass_fuse(Graph *g, const Desc *d)
{
    lowering = (Lowering){.program = NEW(Program), .desc = d};
    lowering.program->graph = g;
    layout_parameters(d);
    Level *top = fused(g);
    if (!left_out(PASS_fuse)) {
        give_sums(top);
        pair_gelus(top);
    }
    note_readers(top, g);
    name_values(g);
    find_parts(lowering.program);
    each_level(top, mark_memory);
    place_level(top);
    lower_level(top, &lowering.program->kernels);
    must(count_straightened() == straightened); /* a copy found now has no kernel */
    return lowering.program;
}
