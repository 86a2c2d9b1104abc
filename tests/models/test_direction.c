/* test_direction.c: optimizers written in Lua (optim.muon, optim.adafactor, optim.lamb, optim.own) against 20 updates
 * recorded from PyTorch, in fp64 and fp32, the same bits for any number of threads; how many bytes they keep. */
#include "harness.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "step/direction.h"
#include "step/optim.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* "layer.%d.up.weight" of copy 2 */
static const char *name_of_copy(const Lathe_param *p, int64_t copy)
{
    const char *hole = strstr(p->export_name, "%d");
    return hole ? format("%.*s%lld%s", (int)(hole - p->export_name), p->export_name, (long long)copy, hole + 2)
                : p->export_name;
}

static int64_t copies_in(const Lathe_param *p) { return p->loops ? p->dim[0] : 1; }

/* From tensors [more…][shape] with this prefix, of each the part at `step`; flat: of model->real. */
static void take(const Live *l, char *flat, const Recording *r, const char *prefix, int64_t step)
{
    for (const Lathe_param *p = l->model->param; p < l->model->param + l->model->params; p++) {
        int64_t each = param_elements(p) / copies_in(p);
        for (int64_t i = 0; i < param_elements(p); i++) {
            Recorded from = recorded(r, format("%s.%s", prefix, name_of_copy(p, i / each)));
            set_element(l->model->real, flat, flat_place(p, i), from.at[step * each + i % each]);
        }
    }
}

/* The worst difference of a tensor, by its norm. */
static double off_after(const Live *l, const Recording *r, const char *kind, int64_t step)
{
    double worst = 0;
    for (const Lathe_param *p = l->model->param; p < l->model->param + l->model->params; p++) {
        int64_t each = param_elements(p) / copies_in(p);
        const double *got = read_param(l, l->params, p);
        for (int64_t copy = 0; copy < copies_in(p); copy++) {
            Recorded want = recorded(r, format("%s.after.%s", kind, name_of_copy(p, copy)));
            const double *at = want.at + step * each;
            double off = norm_of_difference(got + copy * each, at, each) / norm_of(at, each);
            if (!(off <= worst)) worst = isnan(off) ? INFINITY : off;
        }
    }
    return worst;
}

static void direct(const Live *l, const Pace *pace, int64_t step)
{
    const int k = entry_index(l, "direction");
    const Lathe_entry *e = &l->model->entry[k];
    memset(l->room[k].work, 0xff, (size_t)e->work_bytes); /* NaN */
    fill_direction(e, l->room[k].in, pace, step);
    e->run(&(Lathe_call){.params = l->params,
                         .grads = l->grads,
                         .in = l->room[k].in,
                         .out = l->room[k].out,
                         .state = l->state,
                         .work = l->room[k].work});
}

/* Twenty updates; returns a hash of the parameters. */
static uint64_t updates(Live *l, const Recording *r, const char *kind, double bound)
{
    const Lathe_model *m = l->model;
    const Lathe_recipe *recipe = &m->recipe;
    Optimizer o;
    memset(l->state, 0, (size_t)m->state_bytes);
    take(l, l->params, r, "start", 0);
    optimizer_init(&o, m, recipe, alloc(optimizer_bytes(m, recipe) + 64));
    for (int64_t step = 0; step < recipe->steps; step++) {
        take(l, l->grads, r, "grad", step);
        Pace pace = pace_at(recipe, step, gradient_norm(&o, l->grads));
        pace.lr *= (double)(1 + step % 5);
        clip_directed(&o, l->grads, &pace);
        direct(l, &pace, step);
        optimizer_step(&o, l->params, l->grads, step, &pace);
        double off = off_after(l, r, kind, step);
        expect(off <= bound, "%s, step %lld: off by %.2g", kind, (long long)step, off);
    }
    expect(model_directs(m), "%s keeps nothing", kind);
    optimizer_free(&o);
    return hash_bytes(l->params, (size_t)(m->flat_elements * (m->real == LATHE_F64 ? 8 : 4)), 0);
}

/* states, moments: numbers that the direction keeps, and those that the optimizer of the others does */
static void check(const char *kind, const char *precision, double bound, int64_t states, int64_t moments)
{
    Recording r = open_recording("tests/reference/directions.safetensors");
    Live *l = build_model(format("tests/models/directed.lua --set kind=%s --precision %s", kind, precision));
    const int64_t real = l->model->real == LATHE_F64 ? 8 : 4;
    omp_set_num_threads(1);
    uint64_t one = updates(l, &r, kind, bound);
    omp_set_num_threads(3);
    expect(updates(l, &r, kind, bound) == one, "%s: other bits with three threads", kind);
    int64_t kept = 0, of_others = (int64_t)optimizer_bytes(l->model, &l->model->recipe) / real;
    for (int k = 0; k < l->model->states; k++) kept += tensor_elements(&l->model->state[k]);
    expect(kept == states, "%s keeps %lld numbers", kind, (long long)kept);
    expect(of_others == moments, "%s: %lld moments of others", kind, (long long)of_others);
    unload(l);
}

/* Three layers of two matrices of 96; a matrix of 40, which takes 48 in arrays, and a vector of 5, which takes 16. */
int main(void)
{
    static const struct {
        const char *kind;
        int64_t states, moments;
    } all[] = {{"muon", 576, 2 * (48 + 16)},
               {"muon_plain", 576, 0},
               {"adafactor", 3 * 2 * (12 + 8) + 5 + 8 + 5, 0},
               {"lamb", 2 * (576 + 45), 0},
               {"own", 576 + 45, 0}};
    for (int i = 0; i < COUNT_OF(all); i++) {
        check(all[i].kind, "fp64", 1e-9, all[i].states, all[i].moments);
        check(all[i].kind, "fp32", 1e-4, all[i].states, all[i].moments);
    }
    return finish();
}
