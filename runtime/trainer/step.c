/* step.c: opening the device, and steps of the optimizer on this processor or the device. */
#include "base/cache.h"
#include "base/words.h"
#include "interface/lathe_model.h"
#include "lathe_rt.h"
#include "math/double.h"
#include "math/engine.h"
#include "math/openmp.h"
#include "model/block.h"
#include "model/tables.h"
#include "ranks/courier.h"
#include "step/average.h"
#include "step/device.h"
#include "step/direction.h"
#include "step/entry.h"
#include "step/here.h"
#include "step/optim.h"
#include "step/turn.h"
#include "trainer/checkpoint.h"
#include "trainer/gpu_parts.h"
#include "trainer/histograms.h"
#include "trainer/join.h"
#include "trainer/local_steps.h"
#include "trainer/ranks.h"
#include "trainer/selftest.h"
#include "trainer/shared.h"
#include "trainer/step.h"
#include "trainer/told.h"
#include "trainer/travels.h"
#include "trainer/trainer.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ opening */

/* Processes of this machine that share its cores. */
static int usual_threads(const Trainer *t)
{
    const int ranks = shares_steps(t) && !getenv("OMP_NUM_THREADS") ? ranks_uncounted(t) : 0;
    return ranks > 0 ? threads_here(ranks) : omp_get_max_threads();
}

void use_threads(const Trainer *t)
{
    int threads = t->threads ? t->threads : usual_threads(t);
    if (t->model->device) omp_set_num_threads(threads);
    else rt_init_gemm(threads);
}

/* Bytes that the plan has for a piece of a copy; it holds the inputs of any entry. */
static int64_t slot_bytes(const Lathe_model *m)
{
    int64_t bytes = (planned(m, CATEGORY_pinned) - LATHE_GPU_BESIDE) / LATHE_GPU_SLOTS;
    for (int i = 0; i < m->entries; i++) bug_if(m->entry[i].in_bytes > bytes);
    return bytes;
}

void open_device(const Memory *m, const Trainer *t)
{
    const Lathe_device *device = t->model->device;
    const char *remark = NULL, *refusal;
    int place, places;
    if (!device) return;
    settle_place(t, &place, &places);
    char *folder = cache_folder(), *products = folder ? text_of("%s/products", folder) : NULL;
    refusal = device->open(&(Device_needs){.command = t->command,
                                           .rank = t->rank,
                                           .gpus = gpus_of(t),
                                           .place = place,
                                           .places = places,
                                           .model = t->model,
                                           .block = m->base,
                                           .bytes = m->bytes,
                                           .inputs = slot_bytes(t->model),
                                           .workspace = planned(t->model, CATEGORY_workspace),
                                           .ahead = m->step ? ahead_bytes(t->model) : 0,
                                           .most = t->memory_limit,
                                           .products = products,
                                           .afresh = strcmp(t->command, "selftest") == 0,
                                           .parts = gpu_parts()},
                           &remark);
    if (refusal) fail(EXIT_ERROR, NULL, "%s", refusal);
    take_device(device);
    if (remark) note("%s", remark);
    remember_selftest(folder, t);
    free(products);
    free(folder);
}

/* ------------------------------------------------------------------ steps */

static struct Parts {         /* of the step on this processor, as its entry reports them */
    double since, seconds[2]; /* seconds: forward, backward */
    int now;
} parts;

static void begin_part(int next)
{
    double now = seconds_now();
    parts.seconds[parts.now] += now - parts.since;
    parts.since = now;
    parts.now = next;
}

void forward_part(void) { begin_part(0); }
void backward_part(void) { begin_part(1); }

enum { MOST_BEGUN = 2 };
static struct {
    int64_t begun, ended;
    const Lathe_entry *entry[MOST_BEGUN];
    Step at[MOST_BEGUN];
} steps;

int turns_begun(void) { return (int)(steps.begun - steps.ended); }
bool turn_must_end(void) { return turns_begun() > (on_device() ? device_in_use()->lag : 0); }

bool has_diverged(const Step *s) { return !isfinite(s->loss) || (!isfinite(s->norm) && !s->skipped); }

char *divergence_text(const Step *s, const char *turn)
{
    const char *of = turn ? " of turn " : "", *name = turn ? turn : "";
    if (isfinite(s->loss))
        return text_of("expected a finite gradient norm%s%s, found norm %g (the loss is %g)", of, name, s->norm,
                       s->loss);
    return text_of("expected a finite loss%s%s, found loss %g and gradient norm %g", of, name, s->loss, s->norm);
}

/* set: --set changes it. */
static char *warmup_remedy(const Lathe_recipe *r, bool set)
{
    const char *how = set ? " (--set warmup=N)" : "";
    if (r->warmup > 0) return text_of("a warm-up longer than %lld steps%s", (long long)r->warmup, how);
    if (r->schedule == LATHE_ONE_CYCLE)
        return text_of("a warm_fraction above %g%s", r->warm_fraction, set ? " (--set warm_fraction=X)" : "");
    return text_of("a warm-up%s", how);
}

char *divergence_remedy(const Lathe_recipe *recipe, const Step *s, const char *turn)
{
    const char *narrow = s->loss_scale.scale > 0 ? "; fp16 ends at 65504, --precision bf16 has fp32's range" : "";
    if (s->number == s->loss_scale.skipped)
        return text_of("No update was made before it, so the data, the initial parameters or an operation is the "
                       "cause, not the learning rate%s",
                       narrow);
    char *rate = turn ? text_of("a lower learning rate for it in the description (it is %g here)", s->rate)
                      : text_of("a lower learning rate (--set lr=%g)", recipe->lr / 10);
    char *warmup = warmup_remedy(recipe, !turn), *clip = text_of("clipping%s", turn ? "" : " (--set clip=1)");
    char *all = recipe->clip > 0 ? text_of("Try %s or %s%s", rate, warmup, narrow)
                                 : text_of("Try %s, %s or %s%s", rate, warmup, clip, narrow);
    free(rate);
    free(warmup);
    free(clip);
    return all;
}

/* The number of losses by name that a step reports. */
static int losses_reported(const Trainer *t)
{
    const int n = t->model->losses < LATHE_LOSSES ? t->model->losses : LATHE_LOSSES;
    return gpus_of(t) > 1 && on_device() ? 0 : n;
}

static void take_result(Step *s, const Turn_result *r)
{
    s->loss = r->loss;
    s->norm = r->norm;
    s->measures_noise = r->measures_noise;
    s->part_squares = r->part_squares;
    s->skipped = r->skipped;
    memcpy(s->part, r->part, sizeof s->part);
}

/* All of the turn, at once. */
static void turn_here(const Trainer *t, Turn *u, const Lathe_call *call, const Memory *m, Step *s)
{
    Turn_result r = {.parts = s->parts};
    parts = (struct Parts){.since = seconds_now()};
    if (steps_locally(t)) rank_does(RANK_COMPUTES, s->number);
    if (adds_gradients(t)) compute_shared(u, call, s->number, &r);
    else compute_turn(u, call, &r);
    LAP(LAP_NORM);
    wait_until_copied(t->saver);
    if (may_update(&r) && note_before_update(t->histograms, u, m, s->number, 1 / r.unit)) LAP(LAP_ASIDE);
    update_turn_by(adds_gradients(t) ? update_shared : optimizer_step, u, m, call, s->number, t->seed, &r);
    LAP(LAP_UPDATE);
    take_result(s, &r);
    s->loss_scale = u->optimizer.loss_scale;
    s->forward = parts.seconds[0];
    s->backward = parts.seconds[1];
    s->update = seconds_now() - parts.since;
    s->ranks = shares_steps(t) ? waited_for_ranks() : 0;
    if (adds_gradients(t)) s->data_wait = longest_wait_for_data();
    note_after_update(t->histograms, u, m, s->number);
}

/* The device decides by the norm, without the host. */
static void turn_there(const Trainer *t, Turn *u, const Lathe_call *call, const Step *s)
{
    Pace pace = pace_at(u->recipe, s->number, 0);
    pace.seed = t->seed;
    int64_t updates = updates_before(u, s->number);
    if (u->optimizer.average)
        pace.averaged = averaged_share(&u->optimizer, u->recipe, updates - u->optimizer.loss_scale.skipped);
    Rates rates = rates_of(&u->optimizer, updates, &pace);
    device_in_use()->begin_step(u->number, u->entry, call, &rates, u->recipe->clip, updates);
    device_must_work();
}

void begin_turn(const Trainer *t, Turn *u, const Memory *m, int64_t number, double data)
{
    const int64_t slot = steps.begun % MOST_BEGUN;
    const Lathe_call call = call_of(m, u->entry);
    Step *s = &steps.at[slot];
    bug_if(turns_begun() == MOST_BEGUN);
    *s = (Step){
        .number = number, .turn = u->number, .rate = rate_at(u->recipe, number), .data = data, .data_wait = data};
    s->parts = losses_reported(t);
    if (on_device()) turn_there(t, u, &call, s);
    else turn_here(t, u, &call, m, s);
    steps.entry[slot] = u->entry;
    steps.begun++;
}

static void take_from_device(Step *s, int64_t slot)
{
    Step_result got;
    Bad_id bad;
    bool fine = device_in_use()->end_step(&got, &bad);
    device_must_work();
    if (!fine) refuse_id(steps.entry[slot], &bad);
    s->loss = got.loss;
    s->norm = got.norm;
    s->skipped = got.skipped;
    s->loss_scale = got.loss_scale;
    for (int k = 0; k < s->parts; k++) s->part[k] = got.part[k];
    s->there = got.seconds;
    s->forward = got.forward;
    s->backward = got.backward;
    s->update = got.update;
}

Step end_turn(void)
{
    const int64_t slot = steps.ended % MOST_BEGUN;
    Step *s = &steps.at[slot];
    bug_if(turns_begun() == 0);
    steps.ended++;
    if (on_device()) take_from_device(s, slot);
    s->loss = without_sign(s->loss);
    s->norm = without_sign(s->norm);
    return *s;
}

Step take_turn(const Trainer *t, Turn *u, const Memory *m, int64_t number)
{
    bug_if(turns_begun() > 0);
    begin_turn(t, u, m, number, 0);
    return end_turn();
}

void add_to_step(Step *all, const Step *s)
{
    all->number = s->number;
    all->loss += s->loss;
    all->norm = hypot_f64(all->norm, s->norm);
    all->rate = s->rate;
    all->parts = s->parts;
    memcpy(all->part, s->part, sizeof all->part);
    all->batch = s->batch;
    all->measures_noise = s->measures_noise;
    all->noise_scale = s->noise_scale;
    all->data += s->data;
    all->data_wait += s->data_wait;
    all->forward += s->forward;
    all->backward += s->backward;
    all->update += s->update;
    all->ranks += s->ranks;
    all->there += s->there;
    all->skipped |= s->skipped;
    all->loss_scale = s->loss_scale;
}

Step take_step(const Trainer *t, Step_turns *turns, const Memory *m, int64_t number)
{
    Step all = {0}, s;
    if (turns->n == 1) return take_turn(t, &turns->at[0], m, number);
    for (int k = 0; k < turns->n; k++) {
        if (!turn_is_due(&turns->at[k], number)) continue;
        s = take_turn(t, &turns->at[k], m, number);
        add_to_step(&all, &s);
    }
    return all;
}

void ready_optimizers(const Step_turns *turns, const Memory *m)
{
    for (int k = 0; on_device() && k < turns->n; k++) {
        const Turn *u = &turns->at[k];
        const Lathe_call call = u->direction ? call_direction(u, m) : (Lathe_call){0};
        device_in_use()->optimizer(k, &u->optimizer, m->moments, m->step, u->direction, &call);
        device_must_work();
    }
}
