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

/* By how much an integer grows from one element of a row to the next: 0 or 1; UNKNOWN_STEP: another number, or not
 * always the same. */
static int64_t step_along_row(const Nest *nest, const Values *v, int phase, const Node *n)
{
    n = value_meant(v, phase, n);
    int load = load_of(v, n);
    if (is_filled(n, NULL) || is_per_row(v, phase, n)) return 0;
    if (load >= 0) return step_of_load(nest, &v->k->loads.at[load].view);
    if (op_info[n->op].kind != MAP || kept_of(v, n) >= 0) return UNKNOWN_STEP;
    int64_t all = 0;
    for (int i = 0; i < n->nin; i++) {
        int64_t step = step_along_row(nest, v, phase, n->in[i]);
        if (step < 0) return UNKNOWN_STEP;
        all += step;
    }
    return all == 0 || (all == 1 && n->op == OP_add) ? all : UNKNOWN_STEP;
}

static bool draws_neighbours(const Nest *nest, const Values *v, int phase, const Node *n)
{
    if (n->op != OP_philox) return false;
    for (int i = 0; i < 4; i++)
        if (step_along_row(nest, v, phase, n->in[i])) return false;
    return step_along_row(nest, v, phase, n->in[4]) == 1;
}

static bool in_draws(const Nodes *nodes, const Node *n)
{
    for (int i = 0; i < nodes->n; i++)
        if (nodes->at[i] == n) return true;
    return false;
}

/* Arrays of rows may take as much of the stack as rows that are kept. */
static void draw_rows(Kernel *k, const Desc *d)
{
    Nest *n = k->nest;
    if (k->kind != ROWS || !d->options->target->loops || n->across || n->sweep_shared) return;
    int64_t extent = n->space.shape.dim[n->space.shape.rank - 1], room = d->options->target->row_budget;
    int64_t bytes = extent * dtype_bytes(I32);
    if (extent < LEAST_DRAWN) return;
    Values values = values_of(n);
    for (int p = 0; p < n->rows->phases.n; p++) {
        const Nodes *each = &n->rows->phases.at[p].each;
        for (int i = 0; i < each->n; i++) {
            const Node *drawn = each->at[i];
            bool kept = kept_of(&values, drawn) >= 0;
            if (in_draws(&n->draws, drawn) || !draws_neighbours(n, &values, p, drawn)) continue;
            if (!kept && bytes > room) continue;
            push(&n->draws, each->at[i]);
            room -= kept ? 0 : bytes;
        }
    }
}

void pass_draws(Program *p, const Desc *d)
{
    if (!without(d, PASS_draws)) each_nest(p, draw_rows, d);
}
