/* local_steps.c: steps that each rank on processors takes by itself (DiLoCo, Douillard et al. 2023).
 *
 * For local_steps steps every rank trains its own copy of the parameters on its own rows, with moments of its own, and
 * says nothing to the others.  Then ranks meet: the mean over ranks of what has changed since the last meeting is a
 * gradient for an outer optimizer, SGD with Nesterov's momentum, and all go on from where it leads.  Each rank has the
 * whole of the parameters of the last meeting, and its part of the outer velocity.  Checkpoints are of meetings. */
#include "trainer/local_steps.h"
#include "base/words.h"
#include "interface/dealt.h"
#include "model/block.h"
#include "model/tables.h"
#include "ranks/courier.h"
#include "trainer/ranks.h"
#include "trainer/shared.h"
#include "trainer/trial.h"

#include <stdlib.h>
#include <string.h>

static struct Local {
    Lathe_deal deal;
    Lathe_dtype real;
    int64_t element;
    void *start;    /* parameters of the last meeting [n] */
    void *velocity; /* of this rank's elements, bucket by bucket */
    double rate, momentum;
    int64_t met;       /* the number of steps before that meeting */
    char *all, *outer; /* [ranks][moments], [n]: of rank 0 for checkpoints, or NULL */
    bool read;         /* the first from a checkpoint */
} local;

bool steps_locally(const Trainer *t) { return t->recipe.local_steps > 0 && gpus_of(t) > 1 && !t->model->device; }
bool adds_gradients(const Trainer *t) { return shares_steps(t) && !steps_locally(t); }
bool ranks_are_apart(const Trainer *t, int64_t step) { return steps_locally(t) && local.met != step; }

bool must_meet(const Trainer *t, int64_t step, bool ends)
{
    return ranks_are_apart(t, step) && (ends || step % t->recipe.local_steps == 0 || step == t->recipe.steps);
}

bool is_due(const Trainer *t, int64_t step, int64_t every)
{
    const int64_t before = step - t->recipe.local_steps;
    if (every == 0) return false;
    return steps_locally(t) ? step / every > (before > 0 ? before : 0) / every : step % every == 0;
}

bool must_end(const Trainer *t, int64_t step)
{
    static bool told;
    if (!interrupted || !ranks_are_apart(t, step)) return interrupted;
    if (!told)
        note("after step %lld the ranks are apart; the run is saved and ends where they meet, at most %lld steps later "
             "(a second signal ends it at once)",
             (long long)step, (long long)t->recipe.local_steps);
    told = true;
    return false;
}

/* What does not go with it; NULL: all does. */
static const char *obstacle(const Trainer *t)
{
    const Lathe_model *m = t->model;
    if (m->device) return "GPUs of one machine take each step together";
    if (m->exact_rows) return "ranks go apart, and this trainer was built with --exact-sums";
    if (m->turns) return "this model is trained in turns";
    if (m->directed_elements) return "the model's optimizer is written in Lua";
    if (t->recipe.optimizer == LATHE_SCHEDULE_FREE || t->recipe.ema > 0)
        return "this run keeps a mean of the weights (schedule_free or ema)";
    if (strcmp(m->precision, "fp16") == 0) return "fp16 has a loss scale that all ranks share";
    if (lathe_weights(m) != m->real) return "parameters are in bf16, in which small changes are lost";
    if (t->recipe.eval_epochs) return "epochs end between meetings (eval_epochs); eval_every counts steps";
    if (t->recipe.clip_weights > 0) return "the outer optimizer does not keep parameters within clip_weights";
    if (t->log_hashes) return "ranks have other parameters between meetings (--log-hashes)";
    return NULL;
}

void check_local_steps(const Trainer *t)
{
    if (!t->recipe.local_steps) return;
    if (gpus_of(t) == 1) {
        note("local_steps=%lld changes nothing: there is one rank", (long long)t->recipe.local_steps);
        return;
    }
    const char *why = obstacle(t);
    if (why)
        fail(EXIT_USAGE, NULL, "local_steps=%lld: %s; leave one of them out", (long long)t->recipe.local_steps, why);
    note("local_steps=%lld: the losses and norms shown are of rank 0 and its rows", (long long)t->recipe.local_steps);
}

/* ------------------------------------------------------------------ meetings */

void open_local_steps(const Trainer *t, char *memory)
{
    const Lathe_recipe *r = &t->recipe;
    if (!steps_locally(t)) return;
    local.deal = deal_of(t);
    local.real = t->model->real;
    local.element = dtype_size(local.real);
    local.start = memory;
    local.velocity = memory + local.deal.n * local.element;
    local.rate = r->outer == LATHE_OUTER_MEAN ? 1 : r->outer_lr;
    local.momentum = r->outer == LATHE_OUTER_MEAN ? 0 : r->outer_momentum;
}

void begin_local_steps(const Trainer *t, const Memory *m, int64_t step)
{
    if (!steps_locally(t)) return;
    memcpy(local.start, m->params, (size_t)(local.deal.n * local.element));
    local.met = step;
}

/* change: start less now.  update: of n elements from the mean change. */
#define OUTER(T, real)                                                                                                 \
    static void change_##T(real *to, const real *start, const real *now, int64_t n)                                    \
    {                                                                                                                  \
        _Pragma("omp parallel for schedule(static)") for (int64_t i = 0; i < n; i++) to[i] = start[i] - now[i];        \
    }                                                                                                                  \
    static void update_##T(real *start, real *velocity, const real *change, int64_t n, real rate, real momentum)       \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            velocity[i] = momentum * velocity[i] + change[i];                                                          \
            start[i] -= rate * (change[i] + momentum * velocity[i]);                                                   \
        }                                                                                                              \
    }
OUTER(outer_f32, float)
OUTER(outer_f64, double)

static void update_part(const Lathe_part *p, int64_t before, const char *change)
{
    char *start = (char *)local.start + p->first * local.element;
    char *velocity = (char *)local.velocity + before * local.element;
    const void *by = change + p->first * local.element;
    if (local.real == LATHE_F64)
        update_outer_f64((double *)(void *)start, (double *)(void *)velocity, by, p->count, local.rate, local.momentum);
    else
        update_outer_f32((float *)(void *)start, (float *)(void *)velocity, by, p->count, (float)local.rate,
                         (float)local.momentum);
}

void meet(const Trainer *t, const Memory *m, int64_t step)
{
    const Lathe_deal *d = &local.deal;
    rank_does(RANK_ADDS, step);
    if (local.real == LATHE_F64) change_outer_f64(m->grads, local.start, m->params, d->n);
    else change_outer_f32(m->grads, local.start, m->params, d->n);
    mean_over_ranks(m->grads);
    for (int k = 0; k < d->buckets; k++) {
        const Lathe_part own = lathe_dealt_to(d, k, t->rank, d->ranks);
        update_part(&own, lathe_dealt_before(d, k, t->rank, d->n), m->grads);
    }
    share_parts(local.start, local.element);
    memcpy(m->params, local.start, (size_t)(d->n * local.element));
    share_at_meeting();
    local.met = step;
}

/* ------------------------------------------------------------------ checkpoints */

static int64_t own_bytes(const Trainer *t) { return (int64_t)optimizer_bytes(t->model, &t->recipe); }

/* Rank 0's. */
static void take_wholes(const Trainer *t)
{
    if (local.all || is_follower(t)) return;
    local.all = whole_array(t, gpus_of(t) * own_bytes(t));
    local.outer = whole_array(t, lathe_trained_elements(t->model) * dtype_size(t->model->real));
}

void gather_local(const Trainer *t, const Memory *m)
{
    take_wholes(t);
    gather_bytes(m->moments, local.all, own_bytes(t));
    gather_array(&local.deal, local.outer, local.velocity, local.deal.n, local.element);
}

/* Moments that are not from as many ranks: each takes those of the checkpoint's rank 0. */
void deal_local(const Trainer *t, const Memory *m)
{
    if (!steps_locally(t)) return;
    take_wholes(t);
    for (int k = 0; !is_follower(t) && !local.read && k < gpus_of(t); k++)
        memcpy(local.all + k * own_bytes(t), m->moments, (size_t)own_bytes(t));
    deal_bytes(local.all, m->moments, own_bytes(t));
    deal_array(&local.deal, local.outer, local.velocity, local.deal.n, local.element);
}

static int64_t elements_of_moments(const Trainer *t) { return own_bytes(t) / dtype_size(t->model->real); }

void declare_local(const Trainer *t, Store_writer *w)
{
    const int64_t n = lathe_trained_elements(t->model), each = elements_of_moments(t);
    declare_tensor(w, "outer_velocity", t->model->real, 1, (const int64_t[]){n});
    if (each) declare_tensor(w, "moments", t->model->real, 2, (const int64_t[]){gpus_of(t), each});
}

void put_local(const Trainer *t, Store_writer *w)
{
    put_elements(w, local.outer, lathe_trained_elements(t->model), t->model->real);
    put_elements(w, local.all, gpus_of(t) * elements_of_moments(t), t->model->real);
}

static void load_reals(const Trainer *t, const Stored *s, void *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) write_real(t->model->real, to, i, stored_element(s, i));
}

void load_local(const Trainer *t, const Store *from)
{
    const Stored *outer = find_stored(from, "outer_velocity"), *moments = find_stored(from, "moments");
    const int64_t n = lathe_trained_elements(t->model), each = elements_of_moments(t);
    if (!outer) return; /* the run's ranks took steps together */
    const bool fits = outer->rank == 1 && outer->dim[0] == n && stored_is(outer, "F32 F64");
    if (!fits || (moments && (moments->rank != 2 || !stored_is(moments, "F32 F64"))))
        fail(EXIT_DATA, from->path,
             "expected `outer_velocity` [%lld] and `moments` [ranks][…] of F32 or F64; the file is of another model, "
             "or damaged",
             (long long)n);
    take_wholes(t);
    load_reals(t, outer, local.outer, n);
    local.read = moments && moments->dim[0] == gpus_of(t) && moments->dim[1] == each;
    if (local.read) load_reals(t, moments, local.all, gpus_of(t) * each);
    else if (each) note("each rank goes on with the moments of the checkpoint's rank 0");
}
