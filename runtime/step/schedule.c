/* schedule.c: the learning rate, and the momentum, of each step.
 *
 * s counts steps from 0, T is the schedule's length, w the warm-up, in whose steps s < w (one_cycle has its own)
 *     rate = lr (s + 1) / (w + 1)
 * as the row of warmup says (interface/recipe.def, RATE), and after it
 *     constant      lr; in the last c = cooldown of T steps final_lr + (lr - final_lr) (T - s) / c  (warm-up, stable,
 *                   decay: Hu et al. 2024, MiniCPM)
 *     linear        final_lr + (lr - final_lr) (1 - d),  d = (s - w) / (T - w)
 *     cosine        final_lr + (lr - final_lr) (1 + cos πd) / 2  (Loshchilov, Hutter 2017, SGDR, one period)
 *     step          lr factor^k, k = s / step_every rounded down, or how many milestones are <= s
 *     inverse_sqrt  lr √((w + 1) / (s + 1))  (Vaswani et al. 2017, eq. 3, lr being the rate after the warm-up)
 *     one_cycle     from lr / start_div to lr at s = e, on to lr / (start_div final_div) at T - 1, both along half a
 *                   cosine; momentum from high to low and back.  e = w - 1, or warm_fraction T - 1  (Smith, Topin 2018;
 *                   as torch.optim.lr_scheduler.OneCycleLR)
 * From T on, a rate that falls to a final value stays there. */
#include "interface/lathe_model.h"
#include "math/double.h"
#include "step/optim.h"

#include <math.h>
#include <stdlib.h>

static int64_t schedule_length(const Lathe_recipe *r) { return r->schedule_steps ? r->schedule_steps : r->steps; }

/* From a at share 0 to b at share 1, along half a cosine. */
static double along_cosine(double a, double b, double share)
{
    return b + 0.5 * (a - b) * (1 + cos_f64(3.14159265358979323846 * share));
}

/* A value that goes from start to peak and then to end. */
static double one_cycle(const Lathe_recipe *r, int64_t step, double start, double peak, double end)
{
    double T = (double)schedule_length(r), s = fmin((double)step, T - 1);
    double turn = r->warmup ? (double)r->warmup - 1 : r->warm_fraction * T - 1;
    if (s <= turn && turn > 0) return along_cosine(start, peak, s / turn);
    return T - 1 > turn ? along_cosine(peak, end, (s - turn) / (T - 1 - turn)) : peak;
}

static double stepped(const Lathe_recipe *r, int64_t step)
{
    double times = r->step_every ? (double)(step / r->step_every) : 0;
    if (r->milestones) times = 0;
    for (const char *p = r->milestones; p && *p;) {
        char *end;
        times += strtoll(p, &end, 10) <= step;
        p = *end ? end + 1 : end;
    }
    return r->lr * pow_f64(r->step_factor, times);
}

static double cooled(const Lathe_recipe *r, int64_t left)
{
    if (r->cooldown == 0 || left >= r->cooldown) return r->lr;
    return r->final_lr + (r->lr - r->final_lr) * (left > 0 ? (double)left / (double)r->cooldown : 0);
}

static double falling(const Lathe_recipe *r, int64_t step)
{
    int64_t T = schedule_length(r);
    if (step >= T) return r->final_lr;
    double done = (double)(step - r->warmup) / (double)(T - r->warmup);
    if (r->schedule == LATHE_COSINE) return along_cosine(r->lr, r->final_lr, done);
    return r->final_lr + (r->lr - r->final_lr) * (1 - done);
}

static double scheduled(const Lathe_recipe *r, int64_t step)
{
    double start = r->lr / r->start_div;
    switch (r->schedule) {
    case LATHE_CONSTANT_RATE: return cooled(r, schedule_length(r) - step);
    case LATHE_ONE_CYCLE: return one_cycle(r, step, start, r->lr, start / r->final_div);
    case LATHE_STEPPED: return stepped(r, step);
    case LATHE_INVERSE_SQRT: return r->lr * sqrt((double)(r->warmup + 1) / (double)(step + 1));
    default: return falling(r, step);
    }
}

double rate_at(const Lathe_recipe *r, int64_t s)
{
    double rate = scheduled(r, s);
#define REAL(name, start, least, most, table, key, hold, unit, meaning, ...)  __VA_ARGS__
#define COUNT(name, start, least, most, table, key, hold, unit, meaning, ...) __VA_ARGS__
#define RATE(when, value)                                                     rate = (when) ? (value) : rate;
#include "interface/recipe.def"
    return rate;
}

/* Without momentum there is none to cycle. */
double momentum_at(const Lathe_recipe *r, int64_t step)
{
    double still = lathe_has_velocity(r) ? r->momentum : r->beta1;
    if (r->schedule != LATHE_ONE_CYCLE || !r->cycle_momentum || still == 0) return still;
    return one_cycle(r, step, r->high_momentum, r->low_momentum, r->high_momentum);
}

/* "100,200,350": ascending. */
bool are_milestones(const char *text)
{
    int64_t last = 0;
    for (const char *p = text;;) {
        char *end;
        if (*p < '0' || *p > '9') return false;
        int64_t step = strtoll(p, &end, 10);
        if (step <= last) return false;
        if (!*end) return true;
        if (*end != ',') return false;
        last = step;
        p = end + 1;
    }
}
