/* tpe.c: the tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kégl 2011; Bergstra, Yamins, Cox 2013).
 *
 * The trials so far are split into good ones and the others.  Of each key two densities are estimated, l(x) of its
 * values in the good trials and g(x) of those in the others.  Some candidates are drawn from l, and the one with the
 * largest l(x) / g(x) is taken: it has the largest expected improvement.  Keys are independent of each other.
 *
 * The density of a range is a mixture: a normal distribution around each value, as wide as the distance to the farther
 * of its neighbours, cut off at the range's ends; and, as if it were one more value, a prior as wide as the range. That
 * of a list counts how often each value is there, and once more. */
#include "runtime/math/double.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>

enum { CANDIDATES = 4, MOST_GOOD = 25 }; /* with more candidates keys go to where g has gaps (decisions/049) */
#define SHARE_OF_GOOD 0.2

/* ------------------------------------------------------------------ ranges */

typedef struct Bell {
    double middle, width;
} Bell;

typedef struct Mixture {
    double from, to;
    Bell *bell;
    int n;
} Mixture;

static int by_middle(const void *a, const void *b)
{
    double x = ((const Bell *)a)->middle, y = ((const Bell *)b)->middle;
    return (x > y) - (x < y);
}

/* The distance to the farther neighbour; no narrower than a share of the range, which shrinks as values are seen. */
static void set_widths(Mixture *m)
{
    double range = m->to - m->from, least = range / fmin(100, 2 * m->n);
    qsort(m->bell, (size_t)m->n, sizeof *m->bell, by_middle);
    for (int i = 0; i < m->n; i++) {
        double left = i ? m->bell[i].middle - m->bell[i - 1].middle : 0;
        double right = i + 1 < m->n ? m->bell[i + 1].middle - m->bell[i].middle : 0;
        m->bell[i].width = fmin(fmax(fmax(left, right), least), range);
    }
}

static Mixture mixture_of(const Dimension *d, int k, const Seen *seen, int n)
{
    Mixture m = {.bell = NEW_ARRAY(Bell, n + 1), .n = n + 1};
    coordinate_bounds(d, &m.from, &m.to);
    for (int i = 0; i < n; i++) m.bell[i].middle = coordinate_of(d, seen[i].value[k]);
    m.bell[n].middle = (m.from + m.to) / 2;
    double prior = m.bell[n].middle;
    set_widths(&m);
    for (int i = 0; i < m.n; i++)
        if (m.bell[i].middle == prior) m.bell[i].width = m.to - m.from;
    return m;
}

/* Of the standard normal distribution: the probability of less than x. */
static double share_below(double x) { return 0.5 + 0.5 * erf_f64(x * 0.70710678118654752440); }

static double share_inside(const Mixture *m, const Bell *b)
{
    return share_below((m->to - b->middle) / b->width) - share_below((m->from - b->middle) / b->width);
}

static double density_at(const Mixture *m, double x)
{
    double sum = 0;
    for (int i = 0; i < m->n; i++) {
        const Bell *b = &m->bell[i];
        double z = (x - b->middle) / b->width;
        sum += exp_f64(-0.5 * z * z) / (b->width * share_inside(m, b));
    }
    return sum / m->n;
}

/* A normal number (Box, Muller 1958), drawn again until it is in the range: at least a quarter of them are. */
static double draw_from(const Mixture *m, Draw *draw)
{
    const Bell *b = &m->bell[(int)(draw_unit(draw) * m->n)];
    for (;;) {
        double radius = sqrt(-2 * log_f64(1 - draw_unit(draw))), angle = 6.28318530717958647693 * draw_unit(draw);
        double x = b->middle + b->width * radius * cos_f64(angle);
        if (x >= m->from && x <= m->to) return x;
    }
}

static const char *best_of_range(const Dimension *d, int k, const Seen *seen, int good, int n, Draw *draw)
{
    Mixture l = mixture_of(d, k, seen, good), g = mixture_of(d, k, seen + good, n - good);
    double best = 0, best_ratio = -1;
    for (int i = 0; i < CANDIDATES; i++) {
        double x = draw_from(&l, draw), ratio = density_at(&l, x) / density_at(&g, x);
        if (ratio > best_ratio) best = x, best_ratio = ratio;
    }
    return coordinate_text(d, best);
}

/* ------------------------------------------------------------------ lists */

static double *shares_of(const Dimension *d, int k, const Seen *seen, int n)
{
    double *share = NEW_ARRAY(double, d->values.n);
    for (int v = 0; v < d->values.n; v++) {
        share[v] = 1;
        for (int i = 0; i < n; i++) share[v] += same(seen[i].value[k], d->values.at[v]);
        share[v] /= n + d->values.n;
    }
    return share;
}

static int draw_share(const double *share, int n, Draw *draw)
{
    double left = draw_unit(draw);
    int v = 0;
    while (v + 1 < n && left >= share[v]) left -= share[v++];
    return v;
}

static const char *best_of_list(const Dimension *d, int k, const Seen *seen, int good, int n, Draw *draw)
{
    const double *l = shares_of(d, k, seen, good), *g = shares_of(d, k, seen + good, n - good);
    int best = draw_share(l, d->values.n, draw);
    for (int i = 1; i < CANDIDATES; i++) {
        int v = draw_share(l, d->values.n, draw);
        if (l[v] / g[v] > l[best] / g[best]) best = v;
    }
    return d->values.at[best];
}

/* ------------------------------------------------------------------ all keys */

/* In the order of their scores; equal ones as they are. */
static Seen *sorted_by_score(const Seen *seen, int n)
{
    double *score = NEW_ARRAY(double, n);
    int *order = NEW_ARRAY(int, n);
    Seen *sorted = NEW_ARRAY(Seen, n);
    for (int i = 0; i < n; i++) score[i] = seen[i].score;
    order_best(score, n, order);
    for (int i = 0; i < n; i++) sorted[i] = seen[order[i]];
    return sorted;
}

void tpe_point(const Dimensions *over, const Seen *seen, int n, Draw *draw, const char **to)
{
    const Seen *sorted = sorted_by_score(seen, n);
    int good = (int)min64(MOST_GOOD, (int64_t)ceil(SHARE_OF_GOOD * n));
    for (int k = 0; k < over->n; k++) {
        const Dimension *d = &over->at[k];
        to[k] = (d->ranged ? best_of_range : best_of_list)(d, k, sorted, good, n, draw);
    }
}
