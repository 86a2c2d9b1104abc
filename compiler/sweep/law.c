/* law.c: how the loss falls with the size of the model: L(N) = E + A / N^alpha, fitted as by Hoffmann et al. 2022,
 * approach 3: a Huber loss of the differences of log L, from a grid of starts.
 *
 * The minimum is looked for in log E, log A and alpha by the simplex method (Nelder, Mead 1965), which needs no
 * gradient and minds no kink.  How far the law can be trusted is told by leaving out each size in turn (the jackknife).
 */
#include "runtime/math/double.h"
#include "sweep/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = LAW_TERMS + 1, ROUNDS = 1000 };
#define HUBER 1e-3 /* differences of log L beyond this count linearly */

typedef struct Sizes {
    const double *n, *loss;
    int count, without; /* without: one that is left out; -1: none */
} Sizes;

typedef struct Corner {
    double at[LAW_TERMS], value; /* log E, log A, alpha */
} Corner;

/* log(E + A / N^alpha) */
static double log_law(const double *at, double n)
{
    double a = at[0], b = at[1] - at[2] * log_f64(n), most = fmax(a, b);
    return most + log_f64(exp_f64(a - most) + exp_f64(b - most));
}

static double misfit_of_law(const Sizes *s, const double *at)
{
    double sum = 0;
    for (int i = 0; i < s->count; i++) {
        if (i == s->without) continue;
        double r = fabs(log_law(at, s->n[i]) - log_f64(s->loss[i]));
        sum += r <= HUBER ? 0.5 * r * r : HUBER * (r - 0.5 * HUBER);
    }
    return at[2] > 0 ? sum : INFINITY;
}

/* ------------------------------------------------------------------ the simplex */

static int by_corner_value(const void *a, const void *b)
{
    double x = ((const Corner *)a)->value, y = ((const Corner *)b)->value;
    return (x > y) - (x < y);
}

/* The worst corner goes through the middle of the others, by this factor. */
static Corner corner_moved(const Sizes *s, const Corner *c, double factor)
{
    Corner to;
    for (int k = 0; k < LAW_TERMS; k++) {
        double middle = 0;
        for (int i = 0; i < LAW_TERMS; i++) middle += c[i].at[k] / LAW_TERMS;
        to.at[k] = middle + factor * (c[LAW_TERMS].at[k] - middle);
    }
    to.value = misfit_of_law(s, to.at);
    return to;
}

static void shrink_corners(const Sizes *s, Corner *c)
{
    for (int i = 1; i < CORNERS; i++) {
        for (int k = 0; k < LAW_TERMS; k++) c[i].at[k] = (c[i].at[k] + c[0].at[k]) / 2;
        c[i].value = misfit_of_law(s, c[i].at);
    }
}

static void one_move(const Sizes *s, Corner *c)
{
    Corner over = corner_moved(s, c, -1), *worst = &c[LAW_TERMS];
    if (over.value < c[0].value) {
        Corner farther = corner_moved(s, c, -2);
        *worst = farther.value < over.value ? farther : over;
    } else if (over.value < c[LAW_TERMS - 1].value) *worst = over;
    else {
        Corner inside = corner_moved(s, c, over.value < worst->value ? -0.5 : 0.5);
        if (inside.value < fmin(over.value, worst->value)) *worst = inside;
        else shrink_corners(s, c);
    }
}

static Corner lowest_corner(const Sizes *s, const double *start)
{
    static const double step[LAW_TERMS] = {0.1, 0.3, 0.05};
    Corner c[CORNERS];
    for (int i = 0; i < CORNERS; i++) {
        memcpy(c[i].at, start, sizeof c[i].at);
        if (i) c[i].at[i - 1] += step[i - 1];
        c[i].value = misfit_of_law(s, c[i].at);
    }
    qsort(c, CORNERS, sizeof *c, by_corner_value);
    for (int i = 0; i < ROUNDS && c[LAW_TERMS].value - c[0].value > 1e-16; i++) {
        one_move(s, c);
        qsort(c, CORNERS, sizeof *c, by_corner_value);
    }
    return c[0];
}

/* ------------------------------------------------------------------ the law */

/* The A that goes through the first size follows from E and alpha.  A second search starts where the first has ended:
 * its simplex may have become flat. */
static Corner law_from_starts(const Sizes *s)
{
    static const double shares[] = {0.1, 0.3, 0.5, 0.7, 0.9, 0.98}, alphas[] = {0.05, 0.1, 0.2, 0.35, 0.5, 0.8, 1.2};
    int first = s->without == 0;
    double least = INFINITY;
    Corner best = {.value = INFINITY};
    for (int i = 0; i < s->count; i++)
        if (i != s->without) least = fmin(least, s->loss[i]);
    for (int i = 0; i < (int)(sizeof shares / sizeof *shares); i++)
        for (int k = 0; k < (int)(sizeof alphas / sizeof *alphas); k++) {
            double e = shares[i] * least, a = (s->loss[first] - e) * pow_f64(s->n[first], alphas[k]);
            Corner c = lowest_corner(s, (const double[]){log_f64(e), log_f64(a), alphas[k]});
            c = lowest_corner(s, c.at);
            if (c.value < best.value) best = c;
        }
    return best;
}

static Law law_at(const double *at) { return (Law){exp_f64(at[0]), exp_f64(at[1]), at[2]}; }

double law_value(const Law *l, double n) { return l->e + l->a / pow_f64(n, l->alpha); }

Law fit_law(const double *n, const double *loss, int count, Law *without)
{
    Sizes s = {n, loss, count, -1};
    for (int i = 0; without && i < count; i++) {
        s.without = i;
        without[i] = law_at(law_from_starts(&s).at);
    }
    s.without = -1;
    return law_at(law_from_starts(&s).at);
}

double jackknife(const Law *without, int count, double n)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < count; i++) mean += law_value(&without[i], n) / count;
    for (int i = 0; i < count; i++) squares += pow_f64(law_value(&without[i], n) - mean, 2);
    return sqrt(squares * (count - 1) / count);
}

void fit_power(const double *n, const double *y, int count, double *factor, double *exponent)
{
    double x = 0, z = 0, xx = 0, xz = 0;
    for (int i = 0; i < count; i++) x += log_f64(n[i]) / count, z += log_f64(y[i]) / count;
    for (int i = 0; i < count; i++) {
        xx += pow_f64(log_f64(n[i]) - x, 2);
        xz += (log_f64(n[i]) - x) * (log_f64(y[i]) - z);
    }
    *exponent = xz / xx;
    *factor = exp_f64(z - *exponent * x);
}
