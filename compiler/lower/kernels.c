/* kernels.c: makes the kernels of a level, in an order in which every value is made before it is read. */
#include "desc/target.h"
#include "graph/parts.h"
#include "lower/lower.h"

#include <string.h>

/* ------------------------------------------------------------------ ROWS */

static bool costly(const Node *n)
{
    switch (n->op) {
    case OP_exp:
    case OP_expm1:
    case OP_log:
    case OP_tanh:
    case OP_erf:
    case OP_sin:
    case OP_cos:
    case OP_pow:
    case OP_philox:
    case OP_div:
    case OP_sqrt:
    case OP_rsqrt: return true;
    default: return false;
    }
}

typedef struct Build { /* a ROWS kernel under construction */
    Kernel *k;
    const Group *g;
    int *phase, *first; /* of each node: where it can be made; the first phase that lists it, or -1 */
    int64_t kept_bytes;
} Build;

static int member(const Group *g, const Node *n)
{
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i] == n) return i;
    return -1;
}

static bool listed(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return true;
    return false;
}

static Shape row_axes(const Kernel *k) { return axes_before(k->space, k->space.rank - 1); }

static View over_rows(const Kernel *k, const View *v)
{
    View r;
    if (!view_reshape(v, row_axes(k), &r)) die("a value per row is not affine over the rows of %s", k->name);
    int last = r.shape.rank++;
    r.shape.dim[last] = r.high[last] = k->space.dim[last];
    r.low[last] = r.stride[last] = 0;
    return r;
}

static View over_space(const Kernel *k, const View *v)
{
    View r;
    if (!view_reshape(v, k->space, &r))
        die("a value of %s is not affine over %s", shape_text(v->shape), shape_text(k->space));
    return r;
}

static void load(Cut *cut, Kernel *k, Node *in, bool per_row)
{
    if (is_filled(in, NULL)) return;
    for (int i = 0; i < k->loads.n; i++)
        if (k->loads.at[i].node == in) return;
    View v = final_view(cut, in);
    v = per_row ? over_rows(k, &v) : over_space(k, &v);
    int last = k->space.rank - 1;
    bool once = per_row || (v.stride[last] == 0 && v.low[last] == 0 && v.high[last] == v.shape.dim[last]);
    push(&k->loads, ((Operand){.node = in, .view = v, .once_a_row = once}));
}

/* Inputs of n from outside the group: loads, and free maps, which are listed before n. */
static void inputs_from_outside(Cut *cut, Build *b, const Node *n, bool per_row, Nodes *list, Phase *phase)
{
    for (int k = 0; k < n->nin; k++) {
        Node *in = n->in[k];
        if (member(b->g, source_of(cut, in)) >= 0) continue;
        if (!is_free(cut, in)) {
            load(cut, b->k, in, per_row);
        } else if (!listed(list, in) && !listed(&phase->row, in)) {
            inputs_from_outside(cut, b, in, per_row, list, phase);
            push(list, in);
        }
    }
}

static void find_phases(Cut *cut, Build *b)
{
    const Group *g = b->g;
    for (int i = 0; i < g->nodes.n; i++) {
        b->first[i] = -1;
        for (int k = 0; k < g->nodes.at[i]->nin; k++) {
            int from = member(g, source_of(cut, g->nodes.at[i]->in[k]));
            if (from < 0) continue;
            int after = b->phase[from] + (g->role[from] == ROW_SUM);
            if (after > b->phase[i]) b->phase[i] = after;
        }
    }
}

/* The full values that node i of phase p is made of, first things first. */
static void list_each(Cut *cut, Build *b, int p, int i)
{
    const Group *g = b->g;
    Node *n = g->nodes.at[i];
    Phase *phase = &b->k->phases.at[p];
    if (g->role[i] != FULL || listed(&phase->each, n) || listed(&b->k->kept, n)) return;
    int64_t bytes = g->space.dim[g->space.rank - 1] * dtype_bytes(n->dtype);
    if (b->first[i] >= 0 && b->first[i] < p && costly(n) &&
        b->kept_bytes + bytes <= cut->desc->options->target->row_budget) {
        push(&b->k->kept, n);
        b->kept_bytes += bytes;
        return;
    }
    for (int k = 0; k < n->nin; k++) {
        int from = member(g, source_of(cut, n->in[k]));
        if (from >= 0) list_each(cut, b, p, from);
    }
    inputs_from_outside(cut, b, n, false, &phase->each, phase);
    push(&phase->each, n);
    if (b->first[i] < 0) b->first[i] = p;
}

static void list_inputs(Cut *cut, Build *b, int p, int i)
{
    const Node *n = b->g->nodes.at[i];
    int from = member(b->g, source_of(cut, n->in[0]));
    if (from >= 0) list_each(cut, b, p, from);
    inputs_from_outside(cut, b, n, false, &b->k->phases.at[p].each, &b->k->phases.at[p]);
}

static bool sums_rows(const Group *g)
{
    for (int i = 0; i < g->nodes.n; i++)
        if (g->role[i] == ROW_SUM) return true;
    return false;
}

/* d_ln_1_weight_partial: as the struct of gradients calls it, without the name of a stack. */
static const char *partial_name(const Buffer *sum)
{
    const Param *p = sum->param;
    const char *inner = p && p->stack && !p->wide ? format("%s.", p->stack) : NULL;
    if (!inner || !starts_with(p->name, inner)) return format("%s_partial", sum->name);
    return format("d_%s_partial", p->name + strlen(inner));
}

static void add_partials(Cut *cut, Build *b, Node *n)
{
    Kernel *k = b->k;
    int64_t rows = elements(row_axes(k)), inner = k->space.dim[k->space.rank - 1];
    int64_t blocks = min64(cut->desc->options->target->column_blocks, (rows + 7) / 8);
    if (inner >= cut->desc->options->target->columns_alone && !sums_rows(b->g)) blocks = 1;
    k->block = (rows + blocks - 1) / blocks;
    Shape s = {2, {(rows + k->block - 1) / k->block, inner}, {0, k->space.axis[k->space.rank - 1]}};
    push(&k->partials, new_buffer(cut, n->in_loop, partial_name(info(cut, n)->place.buffer), WORK, n->dtype, s, n));
}

static void add_member(Cut *cut, Build *b, int p, int i)
{
    Kernel *k = b->k;
    Node *n = b->g->nodes.at[i];
    Phase *phase = &k->phases.at[p];
    bool stored = info(cut, n)->memory;
    View v = info(cut, n)->place;
    switch (b->g->role[i]) {
    case PER_ROW:
        inputs_from_outside(cut, b, n, true, &phase->row, phase);
        push(&phase->row, n);
        break;
    case ROW_SUM:
        list_inputs(cut, b, p, i);
        push(&phase->sums, n);
        break;
    case COLUMN_SUM: {
        if (!stored) return; /* a stack that nobody picks */
        list_inputs(cut, b, p, i);
        push(&phase->columns, n);
        add_partials(cut, b, n);
        View over;
        must(view_reshape(&v, (Shape){.rank = 1, .dim = {k->space.dim[k->space.rank - 1]}}, &over));
        push(&phase->column_stores, ((Operand){.node = n, .view = over, .add = adds_to(info(cut, n)->sum)}));
        return;
    }
    case FULL:
        if (!stored) return;
        list_each(cut, b, p, i);
        push(&phase->stores, ((Operand){.node = n, .view = over_space(k, &v), .add = adds_to(info(cut, n)->sum)}));
        return;
    }
    if (stored)
        push(&phase->row_stores,
             ((Operand){.node = n, .view = over_rows(k, &v), .once_a_row = true, .add = adds_to(info(cut, n)->sum)}));
}

/* ------------------------------------------------------------------ names */

/* The least bytes that one execution moves: every element is read once, every element is written once. */
static void measure(Kernel *k)
{
    for (int i = 0; i < k->loads.n; i++) k->bytes += view_bytes(&k->loads.at[i].view);
    for (int p = 0; p < k->phases.n; p++) {
        const Phase *f = &k->phases.at[p];
        const Operands *all[] = {&f->stores, &f->row_stores, &f->column_stores};
        for (int a = 0; a < COUNT_OF(all); a++)
            for (int i = 0; i < all[a]->n; i++)
                k->bytes += view_bytes(&all[a]->at[i].view) * (all[a]->at[i].add ? 2 : 1);
    }
}

/* The names of the kernel's axes come from the values with one element per point that it makes or reduces. */
static void name_space(const Group *g, Shape *space)
{
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (g->role[i] == FULL) axes_of_reshape(n->shape, space);
        for (int k = 0; k < n->nin; k++)
            if (elements(n->in[k]->shape) == elements(*space)) axes_of_reshape(n->in[k]->shape, space);
    }
}

static Kernel *rows_kernel(Cut *cut, const Group *g)
{
    Kernel *k = NEW(Kernel);
    const Node *last = g->nodes.at[g->nodes.n - 1];
    k->kind = ROWS;
    k->where = last->where;
    k->space = g->space;
    name_space(g, &k->space);
    Build b = {k, g, NEW_ARRAY(int, g->nodes.n), NEW_ARRAY(int, g->nodes.n), 0};
    find_phases(cut, &b);
    int phases = 0;
    for (int i = 0; i < g->nodes.n; i++) phases = b.phase[i] > phases ? b.phase[i] : phases;
    for (int p = 0; p <= phases; p++) push(&k->phases, (Phase){0});
    for (int p = 0; p <= phases; p++)
        for (int i = 0; i < g->nodes.n; i++)
            if (b.phase[i] == p) add_member(cut, &b, p, i);
    k->name = rows_kernel_name(cut, k, &g->nodes);
    measure(k);
    return k;
}

/* ------------------------------------------------------------------ other kinds */

static Kernel *copy_kernel(Cut *cut, Node *n, const View *from, View to, bool add, bool of_forced)
{
    Kernel *k = NEW(Kernel);
    k->kind = ROWS;
    k->where = n->where;
    k->name = copy_kernel_name(cut, n, to.buffer, add);
    k->space = squeezed(n->shape);
    if (k->space.rank == 0) k->space.dim[k->space.rank++] = 1;
    push(&k->phases, (Phase){0});
    if (from && from->buffer) {
        push(&k->loads, ((Operand){.node = n, .view = over_space(k, from)}));
    } else if (of_forced) {
        info(cut, n)->placed = info(cut, n)->forced = false; /* look beneath the copy once */
        load(cut, k, n, false);
        info(cut, n)->placed = info(cut, n)->forced = true;
        info(cut, n)->place = to;
    } else {
        load(cut, k, n, false);
    }
    push(&k->phases.at[0].stores, ((Operand){.node = n, .view = over_space(k, &to), .add = add}));
    measure(k);
    return k;
}

/* Every element is read or written once, but for a table, of which only the rows asked for are, and an overwritten
 * tensor that stays where it is.  Several results: those that are picked. */
static Kernel *index_kernel(Cut *cut, Node *n)
{
    Kernel *k = NEW(Kernel);
    k->kind = op_parts[n->op].kernel->kind;
    k->node = n;
    k->where = n->where;
    k->name = whole_kernel_name(cut, n, n);
    for (int i = 0; i < n->nin; i++) {
        push(&k->reads, ((Operand){.node = n->in[i], .view = final_view(cut, n->in[i])}));
        const Node *moved = k->kind == GATHER && i == 0 ? n : n->in[i];
        k->bytes += (double)(elements(moved->shape) * dtype_bytes(moved->dtype));
    }
    for (int i = 0; i < info(cut, n)->picks.n && has_several(n); i++) {
        Node *p = info(cut, n)->picks.at[i];
        push(&k->writes, ((Operand){.node = p, .view = info(cut, p)->place}));
    }
    if (has_several(n)) return k;
    k->bytes += (double)(elements(n->shape) * dtype_bytes(n->dtype));
    if (k->kind == OVERWRITE && k->reads.at[0].view.buffer == info(cut, n)->place.buffer)
        k->bytes -= (double)((2 * elements(n->shape) - elements(n->in[2]->shape)) * dtype_bytes(n->dtype));
    push(&k->writes, ((Operand){n, info(cut, n)->place, .add = adds_to(info(cut, n)->sum)}));
    return k;
}

static void add(Level *level, Kernels *out, Kernel *k)
{
    k->in_loop = level->loop;
    push(out, k);
}

static void emit(Cut *cut, Level *level, Node *n, Kernels *out);

/* First what is laid aside, then what reads values, then what reads what was laid aside. */
static void emit_copies(Cut *cut, Level *level, const Copies *copies, Kernels *out)
{
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < copies->n; i++) {
            const Copy *c = copies->at[i];
            int turn = c->aside ? 0 : c->from.buffer ? 2 : 1;
            if (turn != pass || (c->zero_of && c->zero_of->begun)) continue;
            if (c->node->in_loop == level->loop) emit(cut, level, c->node, out);
            add(level, out, copy_kernel(cut, c->node, &c->from, c->to, adds_to(c->sum), false));
        }
}

static void lower_level(Cut *cut, Level *level, Kernels *out);

static void emit_loop(Cut *cut, Level *level, Node *n, Kernels *out)
{
    emit_copies(cut, level, &info(cut, n)->copies, out);
    Kernel *k = NEW(Kernel);
    k->kind = REPEAT;
    k->name = n->loop->name;
    k->where = n->where;
    k->loop = n->loop;
    Kernels body = {0};
    lower_level(cut, info(cut, n)->body, &body);
    for (int i = 0; i < body.n; i++) {
        push(&k->body, body.at[i]);
        k->flops += body.at[i]->flops * (double)n->loop->trip;
    }
    for (int i = 0; i < info(cut, n)->picks.n; i++) adds_to(info(cut, info(cut, n)->picks.at[i])->sum);
    add(level, out, k);
}

static void emit_product(Cut *cut, Level *level, Node *n, Kernels *out)
{
    Kernel *k = NEW(Kernel);
    Node *sum = info(cut, n)->sums_up;
    fill_gemm_kernel(cut, n, k);
    k->where = n->where;
    k->name = product_name(cut, n);
    add(level, out, k);
    if (!sum) return;
    for (int i = 0; i < info(cut, sum)->group->nodes.n; i++)
        info(cut, info(cut, sum)->group->nodes.at[i])->emitted = true;
    if (!sum_up(cut, k)) add(level, out, rows_kernel(cut, info(cut, sum)->group));
}

static void emit_single(Cut *cut, Level *level, Node *n, Kernels *out)
{
    switch (op_info[n->op].kind) {
    case DOT:
        if (!info(cut, n)->product) emit_product(cut, level, n, out);
        break;
    case LOOP:
        if (n->op == OP_loop) emit_loop(cut, level, n, out);
        break;
    case JOIN: emit_copies(cut, level, &info(cut, n)->copies, out); break; /* the other parts were made in place */
    default:                                                               /* of leaves and views nothing runs */
        if (op_parts[n->op].kernel) add(level, out, index_kernel(cut, n));
    }
}

/* Its last is a sum that a product makes. */
static bool comes_with_product(Cut *cut, const Group *g) { return info(cut, g->nodes.at[g->nodes.n - 1])->product; }

/* Everything n needs, then n; a group as one. */
static void emit(Cut *cut, Level *level, Node *n, Kernels *out)
{
    if (info(cut, n)->emitted) return;
    const Group *g = info(cut, n)->group;
    const Nodes *members = g ? &g->nodes : &(Nodes){.at = &n, .n = 1};
    for (int i = 0; i < members->n; i++) info(cut, members->at[i])->emitted = true;
    for (int i = 0; i < members->n; i++) {
        Nodes needs = {0};
        needs_at(cut, level->loop, members->at[i], &needs);
        for (int k = 0; k < needs.n; k++) emit(cut, level, needs.at[k], out);
    }
    if (info(cut, n)->forced) {
        if (info(cut, n)->memory) add(level, out, copy_kernel(cut, n, NULL, info(cut, n)->place, false, true));
    } else if (g) {
        if (!comes_with_product(cut, g)) add(level, out, rows_kernel(cut, g));
    } else if (op_info[n->op].kind == WHOLE) add(level, out, whole_kernel(cut, n));
    else emit_single(cut, level, n, out);
}

static void lower_level(Cut *cut, Level *level, Kernels *out)
{
    for (int i = 0; i < level->nodes.n; i++) emit(cut, level, level->nodes.at[i], out);
    emit_copies(cut, level, &level->copies, out);
}

Program *pass_lower(Cut *c)
{
    if (c->graph->wants_grads) c->forward = needed_forward(c->graph);
    lower_level(c, c->top, &c->program->kernels);
    must(count_straightened(c) == c->straightened); /* a copy found now has no kernel */
    drop_cut(c);
    return c->program;
}
