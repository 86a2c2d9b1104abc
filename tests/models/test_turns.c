/* test_turns.c: steps of three turns (turns.lua), each with an optimizer of its own, against those of torch's
 * optimizers (tests/reference/turns.py): losses, parameters and running statistics over six steps, in fp64 to 1e-12 of
 * each tensor's norm, as one batch and as three micro-batches; each turn's gradients against differences, and none of
 * other parameters; every turn draws its own random numbers; without turns the sum of the losses is trained. */
#include "harness.h"
#include "base/words.h"
#include "step/turn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOUND = 12 }; /* digits */

/* ------------------------------------------------------------------ against torch */

static void compare(const char *what, const double *got, const double *expected, int64_t n)
{
    double norm = norm_of(expected, n), error = norm_of_difference(got, expected, n);
    expect(error <= pow(10, -BOUND) * fmax(norm, 1e-30), "%s is off by %.2g of its norm %.3g", what, error / norm,
           norm);
}

static void load_recorded(Live *l, const Recording *r, const char *kind)
{
    for (int k = 0; k < l->model->params; k++)
        write_param(l, &l->model->param[k], recorded(r, format("%s.weight.%s", kind, l->model->param[k].name)).at);
}

static void feed_step(Live *l, int entry, const Recording *r, int64_t step)
{
    const Lathe_entry *e = &l->model->entry[entry];
    for (int k = 0; k < e->inputs; k++) {
        const Lathe_tensor *t = &e->input[k];
        int64_t n = tensor_elements(t);
        Recorded all = recorded(r, t->name);
        for (int64_t i = 0; i < n; i++) set_element(t->dtype, l->room[entry].in + t->offset, i, all.at[step * n + i]);
    }
}

/* Returns its loss. */
static double take_live_turn(Live *l, Turn *u, const Recording *r, int64_t step)
{
    int entry = (int)(u->entry - l->model->entry);
    feed_step(l, entry, r, step);
    call_entry(l, entry);
    drop_frozen(&u->optimizer, l->grads);
    Pace pace = pace_at(u->recipe, step, gradient_norm(&u->optimizer, l->grads));
    optimizer_step(&u->optimizer, l->params, l->grads, updates_before(u, step), &pace);
    return loss_of(l, entry);
}

static void compare_after(const Live *l, const Recording *r, const char *kind)
{
    const Lathe_model *m = l->model;
    for (int k = 0; k < m->params; k++) {
        const char *name = format("%s.after.%s", kind, m->param[k].name);
        Recorded w = recorded(r, name);
        compare(name, read_param(l, l->params, &m->param[k]), w.at, w.n);
    }
    for (int k = 0; k < m->states; k++) {
        const char *name = format("%s.after.%s", kind, m->state[k].name);
        compare(name, (const double *)(const void *)(l->state + m->state[k].offset), recorded(r, name).at,
                tensor_elements(&m->state[k]));
    }
}

static void check_steps(const char *kind, const char *options)
{
    enum { STEPS = 6 };
    Recording r = open_recording("tests/reference/turns.safetensors");
    Live *l = build_model(format("tests/models/turns.lua --precision fp64 %s", options));
    Step_turns turns;
    int64_t seen[LATHE_TURNS] = {0};
    void *moments = aligned_alloc(64, (size_t)round_up((int64_t)optimizer_bytes(l->model, &l->model->recipe), 64));
    load_recorded(l, &r, kind);
    open_turns(&turns, l->model, &l->model->recipe, moments);
    expect(turns.n == 3, "%d turns", turns.n);
    for (int64_t step = 0; step < STEPS; step++)
        for (int k = 0; k < turns.n; k++) {
            if (!turn_is_due(&turns.at[k], step)) continue;
            double loss = take_live_turn(l, &turns.at[k], &r, step);
            Recorded all = recorded(&r, format("%s.%s", kind, l->model->turn[k].loss));
            compare(format("%s: loss %s of step %d", kind, turns.at[k].name, (int)step), &loss, &all.at[seen[k]++], 1);
        }
    expect(seen[0] == STEPS && seen[1] == STEPS && seen[2] == STEPS / 2, "the encoder has %d steps", (int)seen[2]);
    compare_after(l, &r, kind);
    close_turns(&turns);
    free(moments);
    unload(l);
}

/* ------------------------------------------------------------------ gradients */

/* A gradient of another turn's parameter is not written. */
static void check_others(Live *l, int entry, const char *scope)
{
    const Lathe_model *m = l->model;
    for (int64_t i = 0; i < m->flat_elements; i++) set_element(m->real, l->grads, i, 7);
    call_entry(l, entry);
    for (int k = 0; k < m->params; k++) {
        const double *g = read_param(l, l->grads, &m->param[k]);
        bool own = lathe_in_scopes(scope, m->param[k].name);
        for (int64_t i = 0; i < param_elements(&m->param[k]); i++)
            expect((g[i] == 7) == !own, "%s: gradient of %s is %g", l->model->entry[entry].turn, m->param[k].name,
                   g[i]);
    }
}

static void check_turn_gradients(const char *description, const char *entry_name, int samples)
{
    Rng r = rng_of(12);
    Live *l = build_model(format("%s --precision fp64", description));
    int turns = 0;
    for (int e = 0; e < l->model->entries; e++) {
        const char *turn = l->model->entry[e].turn;
        if (!turn || !same(l->model->entry[e].name, entry_name)) continue;
        fill_params(l, &r);
        fill_inputs(l, e, &r);
        check_others(l, e, l->model->turn[turns].of);
        for (int64_t i = 0; i < l->model->flat_elements; i++) set_element(l->model->real, l->grads, i, 0);
        double worst =
            check_gradients(l, e, format("%s %s", entry_name, turn), l->model->turn[turns++].of, samples, &r);
        printf("%s, %s: worst relative error %.1e\n", description, turn, worst);
    }
    expect(turns == l->model->turns, "%d of %d turns", turns, l->model->turns);
    unload(l);
}

/* ------------------------------------------------------------------ random numbers */

/* The same step, with the same parameters: turns that drew alike would have the same loss of the same values. */
static void check_draws(void)
{
    Rng r = rng_of(13);
    Live *l = build_model("tests/models/turns.lua --precision fp64 --set drawn=true");
    double made[LATHE_TURNS];
    int turns = 0;
    fill_params(l, &r);
    for (int e = 0; e < l->model->entries; e++) {
        const Lathe_entry *x = &l->model->entry[e];
        if (!x->turn || !same(x->name, "grad")) continue;
        fill_inputs(l, e, &r);
        memset(l->room[e].in, 0, (size_t)x->in_bytes);
        call_entry(l, e);
        made[turns++] = read_output(l, e, "made")[0];
        call_entry(l, e);
        expect(read_output(l, e, "made")[0] == made[turns - 1], "%s draws anew", x->turn);
    }
    expect(turns == 3 && made[0] != made[1] && made[1] != made[2] && made[0] != made[2],
           "turns draw the same: %g %g %g", made[0], made[1], made[2]);
    unload(l);
}

/* ------------------------------------------------------------------ several losses, no turns */

/* The sum is trained. */
static void check_sum(const char *options)
{
    Rng r = rng_of(14);
    Live *l = build_model(format("tests/models/turns.lua --precision fp64 --set together=true %s", options));
    int train = entry_index(l, "train");
    fill_params(l, &r);
    fill_inputs(l, train, &r);
    check_gradients(l, train, "the sum of losses", "", 3, &r);
    double sum = 0;
    for (int k = 0; k < l->model->entry[train].outputs; k++) {
        const char *name = l->model->entry[train].output[k].name;
        if (!same(name, "loss")) sum += read_output(l, train, name)[0];
    }
    double loss = loss_of(l, train);
    compare("the sum of losses", &loss, &sum, 1);
    expect(l->model->turns == 0 && l->model->entry[train].outputs == 4, "%d turns", l->model->turns);
    unload(l);
}

int main(void)
{
    check_steps("plain", "");
    check_steps("plain", "--set batch=4 --set accumulate=3");
    check_steps("normal", "--set normal=true");
    check_turn_gradients("tests/models/turns.lua --set normal=true", "grad", 4);
    check_turn_gradients("tests/models/turns.lua --set drawn=true --set batch=4 --set accumulate=3", "train", 4);
    check_turn_gradients("models/gan.lua --set width=3 --set noise=4 --set batch=3", "train", 3);
    check_draws();
    check_sum("");
    check_sum("--set batch=4 --set accumulate=3");
    return finish();
}
