/* draws.c: pass draws: random bits of a row that loops of C draw together, before the sweep that uses them.
 *
 * Philox makes four words at a time (math/philox.h). A loop in which each element asks for its own word makes every
 * block four times. */
#include "desc/passes.h"
#include "desc/target.h"
#include "kernels/nest.h"

enum { LEAST_DRAWN = 16, UNKNOWN_STEP = -1 };

static int64_t step_of_load(const Nest *nest, const View *v)
{
    int inner = nest->space.shape.rank - 1;
    if (v->guarded || (v->buffer && v->stride[inner])) return UNKNOWN_STEP;
    return v->stride[inner];
}

/* By how much a value grows from one element of a row to the next: 0 or 1; UNKNOWN_STEP: another number, or not always
 * the same.  grows: 1 more than that, of the phase's elements before it; 0: unknown. */
static int64_t step_along_row(const Nest *nest, const Values *v, int phase, const Table *grows, const Node *n)
{
    n = value_meant(v, phase, n);
    int load = load_of(v, n);
    if (is_filled(n, NULL) || is_per_row(v, phase, n)) return 0;
    if (load >= 0) return step_of_load(nest, &v->k->loads.at[load].view);
    return kept_of(v, n) >= 0 ? UNKNOWN_STEP : (intptr_t)table_get(grows, n) - 1;
}

static int64_t step_of_map(const Nest *nest, const Values *v, int phase, const Table *grows, const Node *n)
{
    int64_t all = 0;
    for (int i = 0; i < n->nin; i++) {
        int64_t step = step_along_row(nest, v, phase, grows, n->in[i]);
        if (step < 0) return UNKNOWN_STEP;
        all += step;
    }
    return all == 0 || (all == 1 && n->op == OP_add) ? all : UNKNOWN_STEP;
}

static bool draws_neighbours(const Nest *nest, const Values *v, int phase, const Table *grows, const Node *n)
{
    if (n->op != OP_philox) return false;
    for (int i = 0; i < 4; i++)
        if (step_along_row(nest, v, phase, grows, n->in[i])) return false;
    return step_along_row(nest, v, phase, grows, n->in[4]) == 1;
}

static bool in_draws(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return true;
    return false;
}

/* Those of one phase; *room: bytes of the stack that are left for them, of which a kept row needs none. */
static void draw_in_phase(Nest *n, const Values *v, int phase, int64_t *room)
{
    const Nodes *each = &n->rows->phases.at[phase].each;
    int64_t bytes = n->space.shape.dim[n->space.shape.rank - 1] * dtype_bytes(I32);
    Table grows = {0};
    for (int i = 0; i < each->n; i++) {
        const Node *x = each->at[i];
        int64_t own = kept_of(v, x) >= 0 ? 0 : bytes;
        *table_at(&grows, x) = (void *)(intptr_t)(step_of_map(n, v, phase, &grows, x) + 1);
        if (own > *room || in_draws(&n->draws, x) || !draws_neighbours(n, v, phase, &grows, x)) continue;
        push(&n->draws, each->at[i]);
        *room -= own;
    }
}

static void draw_rows(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    int64_t room = d->options->target->row_budget;
    if (k->kind != ROWS || !d->options->target->loops || n->across || n->sweep_shared) return;
    if (n->space.shape.dim[n->space.shape.rank - 1] < LEAST_DRAWN) return;
    Values values = values_of(n);
    for (int p = 0; p < n->rows->phases.n; p++) draw_in_phase(n, &values, p, &room);
}

void pass_draws(Program *p, const Desc *d)
{
    if (!without(d, PASS_draws)) each_nest(p, draw_rows, d);
}
