/* optim.c: Adam, AdamW, Lion, SGD, RMSprop, schedule-free AdamW; groups of parameters; the norm of the gradient, and
 * clipping.
 *
 * An update is one pass over the flat arrays in chunks of a fixed size.  Every element is updated independently, and
 * the norm adds the chunks in order, so results do not depend on the number of threads.  A GPU uses the same formulas
 * (step/optim_element.h, cuda/optim.cu) and rounding (math/round.h). */
#include "base/bug.h"
#include "interface/lathe_model.h"
#include "math/math.h"
#include "math/round.h"
#include "model/adapter.h"
#include "model/block.h"
#include "model/init.h"
#include "model/tables.h"
#include "step/coded.h"
#include "step/optim.h"
#include "step/step.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = LATHE_STEP_CHUNK }; /* elements; a chunk may have several segments */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t chunks_of(const Optimizer *o) { return lathe_step_chunks(o->n); }

/* ---- groups and their elements */

/* BEiT's layer-wise rates: a layer has layer_decay times the rate of the one above it. */
static double rate_of_layer(const Lathe_recipe *r, const Lathe_param *p, int64_t copy)
{
    return r->layer_decay > 0 ? power_of(r->layer_decay, p->height - (p->loops ? copy : 0)) : 1;
}

Rule rule_of(const Lathe_model *m, const Lathe_recipe *recipe, const Lathe_param *p, int64_t copy)
{
    const Lathe_direction *direction = lathe_direction_of(m, p);
    Rule r = {.lr_scale = 1, .decay = -1};
    bool decays = p->decay;
    char name[1024];
    if (m->groups) copy_name(name, sizeof name, p, copy);
    for (const Lathe_group *g = m->group; g < m->group + m->groups; g++) {
        if (!lathe_matches(g->match, name)) continue;
        if (g->lr_scale >= 0) r.lr_scale = g->lr_scale;
        if (g->decays >= 0) decays = g->decays, r.decay = g->decay;
        if (g->frozen >= 0) r.frozen = g->frozen && !is_of_adapter(m, p);
    }
    if (!decays) r.decay = 0;
    if (p->directed && decays && r.decay < 0) r.decay = direction->decay;
    if (direction->name && !p->directed) r.lr_scale *= direction->others;
    r.lr_scale *= rate_of_layer(recipe, p, copy);
    r.directed = p->directed;
    return r;
}

static bool same_rule(Rule a, Rule b)
{
    return a.lr_scale == b.lr_scale && a.decay == b.decay && a.frozen == b.frozen && a.directed == b.directed;
}

/* Shell's sort, by their beginnings, of which no two are alike: qsort may allocate. */
static void sort_segments(Segment *s, int n)
{
    for (int gap = n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < n; i++) {
            const Segment one = s[i];
            int at = i;
            for (; at >= gap && s[at - gap].begin > one.begin; at -= gap) s[at] = s[at - gap];
            s[at] = one;
        }
}

static void add_runs(Optimizer *o, const Lathe_model *m, const Lathe_turn *turn, const Lathe_recipe *r,
                     const Lathe_param *p)
{
    const Rule others = {.lr_scale = 1, .decay = -1, .frozen = true};
    const bool own = !turn || lathe_in_scopes(turn->of, p->name);
    int64_t run = contiguous_elements(p), n = copy_elements(p);
    for (int64_t copy = 0; copy < copies_of_parameter(p); copy++) {
        Rule rule = own ? rule_of(m, r, p, copy) : others;
        for (int64_t e = 0; e < n; e += run) {
            int64_t at = copy_place(p, copy, e);
            o->segment[o->segments++] = (Segment){at, at + run, rule};
        }
    }
}

/* Sorts the segments and joins neighbours with one rule; padding after a segment belongs to it (it stays zero). */
static void join_segments(Optimizer *o)
{
    int n = 0;
    sort_segments(o->segment, o->segments);
    for (int i = 0; i < o->segments; i++) {
        Segment *s = &o->segment[i];
        if (n > 0 && same_rule(o->segment[n - 1].rule, s->rule)) o->segment[n - 1].end = s->end;
        else {
            if (n > 0) o->segment[n - 1].end = s->begin;
            o->segment[n++] = *s;
        }
    }
    o->segments = n;
    if (n > 0) {
        o->segment[0].begin = 0;
        o->segment[n - 1].end = o->n;
    }
}

int64_t optimizer_runs(const Lathe_model *m)
{
    int64_t runs = 0;
    for (const Lathe_param *p = m->param; p < m->param + m->params; p++)
        runs += lathe_runs(p->rank, p->loops, p->dim, p->stride);
    return runs;
}

static void make_segments(Optimizer *o, const Lathe_model *m, const Lathe_turn *turn, const Lathe_recipe *r)
{
    for (int i = 0; i < m->params; i++)
        if (copy_elements(&m->param[i]) > 0 && lathe_is_trained(m, &m->param[i])) add_runs(o, m, turn, r, &m->param[i]);
    join_segments(o);
}

/* ---- start */

static bool is_f64(Lathe_dtype real) { return LATHE_USES_F64 && real == LATHE_F64; }

static size_t bytes_of_real(const Lathe_model *m) { return is_f64(m->real) ? sizeof(double) : sizeof(float); }

static size_t moment_bytes(const Lathe_model *m) { return (size_t)lathe_moment_elements(m) * bytes_of_real(m); }

static size_t average_bytes(const Lathe_model *m, const Lathe_recipe *r)
{
    return lathe_averages(r) ? (size_t)lathe_trained_elements(m) * bytes_of_real(m) : 0;
}

size_t optimizer_bytes(const Lathe_model *m, const Lathe_recipe *r)
{
    const Lathe_coded coded = codes_moments(r) ? coded_sizes(m) : (Lathe_coded){0};
    if (codes_moments(r))
        return (size_t)lathe_coded_bytes(&coded, lathe_moments(r), (int64_t)bytes_of_real(m)) + average_bytes(m, r);
    return (size_t)lathe_moments(r) * moment_bytes(m) + average_bytes(m, r);
}

static bool is_loss_scaled(const Lathe_model *m)
{
    bool scaled = false;
    for (int i = 0; i < m->entries; i++)
        for (int k = 0; k < m->entry[i].inputs; k++) scaled |= m->entry[i].input[k].role == LATHE_LOSS_SCALE;
    return scaled;
}

/* The tables of an optimizer: segments, partial sums, and those of moments in 8 bits. */
static int64_t segment_bytes(const Lathe_model *m)
{
    return align64(larger(optimizer_runs(m), 1) * (int64_t)sizeof(Segment));
}
static int64_t partial_bytes(int64_t elements)
{
    return align64(larger(lathe_step_chunks(elements), 1) * (int64_t)sizeof(double));
}

int64_t optimizer_table_bytes(const Lathe_model *m, const Lathe_recipe *r)
{
    return segment_bytes(m) + partial_bytes(lathe_trained_elements(m)) + (codes_moments(r) ? coded_table_bytes(m) : 0);
}

/* The name of moment k, in checkpoints. */
static const char *name_of_moment(const Lathe_recipe *r, int k)
{
    static const char mean[] = "exp_avg", squares[] = "exp_avg_sq", velocity[] = "momentum";
    if (r->optimizer == LATHE_SCHEDULE_FREE) return k ? "z" : squares;
    if (r->optimizer == LATHE_SGD) return velocity;
    if (r->optimizer != LATHE_RMSPROP) return k ? squares : mean;
    return k == 0 ? squares : k == 1 && r->momentum != 0 ? velocity : mean;
}

/* Each array by itself: so a thread is the first to touch what it will update of each, and its pages come to lie in the
 * memory of its socket. */
void clear_moments(const Lathe_model *m, const Lathe_recipe *r, void *memory)
{
    const int64_t average = (int64_t)average_bytes(m, r), each = (int64_t)moment_bytes(m);
    char *moments = (char *)memory + average;
    if (lathe_moments(r) == 0 || m->device) return; /* a device's memory is already zero */
    if (average) clear_memory(memory, average);
    if (codes_moments(r)) clear_memory(moments, (int64_t)optimizer_bytes(m, r) - average);
    for (int k = 0; k < lathe_moments(r) && !codes_moments(r); k++) clear_memory(moments + k * each, each);
}

void place_optimizer(Optimizer *o, const Lathe_model *m, const Lathe_turn *turn, const Lathe_recipe *r, void *memory,
                     void *tables)
{
    char *table = tables;
    *o = (Optimizer){.kind = r->optimizer,
                     .real = m->real,
                     .weights = lathe_weights(m),
                     .beta2 = r->beta2,
                     .ema = r->ema,
                     .eps = r->eps,
                     .decay = r->decay,
                     .bound = r->clip_weights,
                     .nesterov = r->nesterov != 0,
                     .centered = r->optimizer == LATHE_RMSPROP && r->centered != 0,
                     .n = lathe_trained_elements(m),
                     .loss_scale.scale = is_loss_scaled(m) ? FIRST_LOSS_SCALE : 0,
                     .moments = lathe_moments(r)};
    if (lathe_averages(r)) o->average = memory; /* first, since turns have different numbers of moments */
    for (int k = 0; k < o->moments; k++) {
        if (!codes_moments(r)) o->moment[k] = (char *)memory + average_bytes(m, r) + (size_t)k * moment_bytes(m);
        o->moment_name[k] = name_of_moment(r, k);
    }
    o->segment = (Segment *)(void *)table;
    o->partial = (double *)(void *)(table += segment_bytes(m));
    if (codes_moments(r))
        o->coded = open_coded(m, r, (char *)memory + average_bytes(m, r), table + partial_bytes(o->n));
    make_segments(o, m, turn, r);
}

void go_on_with_scale(Optimizer *o, Loss_scale *saved)
{
    Loss_scale *now = &o->loss_scale;
    if (now->scale > 0 && saved->scale > 0) *now = *saved;
    now->skipped = saved->skipped;
    *saved = *now;
}

/* ---- steps */

#define REAL    float
#define NAME(x) x##_f32
#include "step/optim_real.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "step/optim_real.h"

/* The moments of the element n places on. */
static Moments_f32 behind_f32(Moments_f32 m, int64_t n)
{
    for (int k = 0; k < LATHE_MOMENTS; k++)
        if (m.at[k]) m.at[k] += n;
    if (m.average) m.average += n;
    return m;
}

/* Parameters in 16 bits, with moments and gradients in 32. */
static void update_bf16(const Optimizer *o, bf16 *p, const float *g, Moments_f32 moments, int64_t begin, int64_t end,
                        const Update_f32 *u, const Rates *rates)
{
    enum { RUN = 256 };
    for (int64_t at = begin, n; at < end; at += n) {
        float wide[RUN];
        uint32_t draw[RUN];
        int64_t skipped = at % 4;
        n = smaller(RUN - skipped, end - at);
        for (int64_t i = 0; i < skipped + n; i += 4) {
            Philox four = rounding_draws(rates->seed, rates->step, (at + i) / 4);
            memcpy(draw + i, four.word, sizeof four.word);
        }
        for (int64_t i = 0; i < n; i++) wide[i] = from_bf16_f32(p[at + i]);
        update_f32(o, wide, g + at, behind_f32(moments, at - begin), n, u);
        for (int64_t i = 0; i < n; i++) p[at + i] = round_at_random(wide[i], draw[skipped + i]);
    }
}

/* Elements begin … end, whose first has these moments. */
static void update_some_f32(const Optimizer *o, void *params, const void *grads, int64_t begin, int64_t end,
                            Moments_f32 moments, const Update_f32 *u, const Rates *rates)
{
    if (LATHE_USES_BF16 && o->weights == LATHE_BF16) update_bf16(o, params, grads, moments, begin, end, u, rates);
    else update_f32(o, (float *)params + begin, (const float *)grads + begin, moments, end - begin, u);
}

static void update_some_f64(const Optimizer *o, void *params, const void *grads, int64_t begin, int64_t end,
                            Moments_f64 moments, const Update_f64 *u, const Rates *rates)
{
    (void)rates;
    update_f64(o, (double *)params + begin, (const double *)grads + begin, moments, end - begin, u);
}

#undef REAL
#undef NAME
#define REAL    float
#define NAME(x) x##_f32
#include "step/optim_ranges.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "step/optim_ranges.h"

static void update_segment(const Optimizer *o, void *params, const void *grads, int64_t begin, int64_t end,
                           const Rule *rule, const Rates *rates)
{
    if (rule->frozen) return;
    if (is_f64(o->real)) update_segment_f64(o, params, grads, begin, end, rule, rates);
    else update_segment_f32(o, params, grads, begin, end, rule, rates);
}

/* Block `block` of a piece. */
static void update_one_block(const Optimizer *o, void *params, const void *grads, const Piece *p, int64_t block,
                             const Rates *rates)
{
    if (p->rule.frozen) return;
    if (is_f64(o->real)) update_block_f64(o, params, grads, p, block, rates);
    else update_block_f32(o, params, grads, p, block, rates);
}

/* Blocks do not depend on each other. */
static void update_coded(const Optimizer *o, void *params, const void *grads, const Rates *rates)
{
    enum { AT_ONCE = CHUNK / LATHE_CODED_BLOCK };
    const int64_t all = o->coded->blocks;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < (all + AT_ONCE - 1) / AT_ONCE; k++) {
        int64_t at = k * AT_ONCE, end = smaller(at + AT_ONCE, all);
        for (const Piece *p = piece_of_block(o->coded, at); at < end; p++)
            for (; at < end && at < p->block + lathe_coded_blocks(p->n); at++)
                update_one_block(o, params, grads, p, at - p->block, rates);
    }
}

static bool any_frozen(const Optimizer *o)
{
    for (int s = 0; s < o->segments; s++)
        if (o->segment[s].rule.frozen) return true;
    return false;
}

void drop_frozen_range(const Optimizer *o, void *grads, int64_t first, int64_t last)
{
    size_t size = is_f64(o->real) ? sizeof(double) : sizeof(float);
    if (!any_frozen(o)) return;
#pragma omp parallel for schedule(static)
    for (int64_t k = first / CHUNK; k < lathe_step_chunks(last); k++) {
        int64_t at = k * CHUNK, end = smaller(at + CHUNK, last);
        for (int s = segment_at(o->segment, o->segments, at); at < end; s++) {
            int64_t stop = smaller(o->segment[s].end, end);
            if (o->segment[s].rule.frozen) memset((char *)grads + (size_t)at * size, 0, (size_t)(stop - at) * size);
            at = stop;
        }
    }
}

void drop_frozen(const Optimizer *o, void *grads) { drop_frozen_range(o, grads, 0, o->n); }

void clip_directed(const Optimizer *o, void *grads, const Pace *pace)
{
    if (!(pace->most < INFINITY)) return;
    for (int s = 0; s < o->segments; s++) {
        if (!o->segment[s].rule.directed) continue;
        const int64_t begin = o->segment[s].begin, n = o->segment[s].end - begin;
        if (is_f64(o->real)) clip_f64((double *)grads + begin, n, pace->most / pace->scale);
        else clip_f32((float *)grads + begin, n, (float)(pace->most / pace->scale));
    }
}

void squares_of_range(const Optimizer *o, const void *grads, int64_t first, int64_t end)
{
    bug_if(first % CHUNK != 0);
#pragma omp parallel for schedule(static)
    for (int64_t k = first / CHUNK; k < lathe_step_chunks(end); k++) {
        int64_t begin = k * CHUNK, n = smaller(end - begin, CHUNK);
        o->partial[k] = is_f64(o->real) ? squares_f64((const double *)grads + begin, n)
                                        : squares_f32((const float *)grads + begin, n);
    }
}

double norm_of_squares(const Optimizer *o)
{
    double sum = 0;
    for (int64_t k = 0; k < chunks_of(o); k++) sum += o->partial[k];
    return sqrt(sum);
}

double gradient_norm(const Optimizer *o, const void *grads)
{
    squares_of_range(o, grads, 0, o->n);
    return norm_of_squares(o);
}

Rates rates_of(const Optimizer *o, int64_t step, const Pace *pace)
{
    return (Rates){pace->scale,
                   pace->most,
                   pace->lr,
                   pace->momentum,
                   1 - power_of(pace->momentum, step + 1),
                   1 - power_of(o->beta2, step + 1),
                   pace->averaged,
                   pace->step,
                   pace->seed};
}

void optimizer_range(const Optimizer *o, void *params, const void *grads, int64_t first, int64_t end,
                     const Rates *rates)
{
#pragma omp parallel for schedule(static)
    for (int64_t k = first / CHUNK; k < lathe_step_chunks(end); k++) {
        int64_t at = k * CHUNK, last = smaller(at + CHUNK, end);
        for (int s = segment_at(o->segment, o->segments, at); at < last; s++) {
            int64_t stop = smaller(o->segment[s].end, last);
            update_segment(o, params, grads, at, stop, &o->segment[s].rule, rates);
            at = stop;
        }
    }
}

void optimizer_step(Optimizer *o, void *params, const void *grads, int64_t step, const Pace *pace)
{
    Rates rates = rates_of(o, step, pace);
    if (o->segments == 0) return;
    if (LATHE_USES_CODED && o->coded) update_coded(o, params, grads, &rates);
    else optimizer_range(o, params, grads, 0, o->n, &rates);
}

Pace pace_at(const Lathe_recipe *r, int64_t step, double norm)
{
    double most = r->clip_value > 0 ? r->clip_value : INFINITY;
    return (Pace){.lr = rate_at(r, step),
                  .momentum = momentum_at(r, step),
                  .scale = clip_scale(norm, r->clip),
                  .most = most,
                  .step = step};
}
