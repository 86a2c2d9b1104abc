/* range.c: the range in which most curves lie, so that one run that explodes does not flatten all others.
 *
 * A curve's own range goes from its 5th to its 95th hundredth, and has its first value, which for a loss is the
 * greatest of a run that learns.  The usual range has the middle one of the tops and of the bottoms, of two the outer
 * one; curves that end early, with less than a tenth of the values of the longest, have no say.  What lies beyond it by
 * more than four times its height is cut off.  page.js does the same. */
#include "base/words.h"
#include "look/draw.h"

#include <math.h>
#include <stdlib.h>

enum { REACH = 4 }; /* times the height of the usual range */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int finite_values(const Curve *c, double *to)
{
    int n = 0;
    for (int k = 0; k < c->n; k++)
        if (isfinite(c->at[k].value)) to[n++] = c->at[k].value;
    return n;
}

/* false: it has no finite value */
static bool own_range(const Curve *c, double *low, double *high)
{
    double *value = must_alloc(sizeof *value * (size_t)(c->n + 1)), first;
    int n = finite_values(c, value);
    if (n) {
        first = value[0];
        qsort(value, (size_t)n, sizeof *value, by_number);
        *low = fmin(first, value[(n - 1) / 20]);
        *high = fmax(first, value[n - 1 - (n - 1) / 20]);
    }
    free(value);
    return n > 0;
}

/* The least and the greatest of the values between these. */
static void shrink_range(const Curve *curve, int n, double *low, double *high)
{
    double least = INFINITY, greatest = -INFINITY;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < curve[i].n; k++) {
            double y = curve[i].at[k].value;
            if (isfinite(y) && y >= *low && y <= *high) least = fmin(least, y), greatest = fmax(greatest, y);
        }
    *low = least;
    *high = greatest;
}

static int most_values(const Curve *curve, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++) most = curve[i].n > most ? curve[i].n : most;
    return most;
}

bool usual_range(const Curve *curve, int n, double *low, double *high)
{
    const int most = most_values(curve, n);
    double *bottom = must_alloc(sizeof *bottom * (size_t)(n + 1)), *top = must_alloc(sizeof *top * (size_t)(n + 1));
    double least = INFINITY, greatest = -INFINITY;
    int m = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < curve[i].n; k++)
            if (isfinite(curve[i].at[k].value))
                least = fmin(least, curve[i].at[k].value), greatest = fmax(greatest, curve[i].at[k].value);
        if (10 * curve[i].n >= most) m += own_range(&curve[i], &bottom[m], &top[m]);
    }
    qsort(bottom, (size_t)m, sizeof *bottom, by_number);
    qsort(top, (size_t)m, sizeof *top, by_number);
    double from = m ? bottom[(m - 1) / 2] : 0, to = m ? top[m / 2] : 0, height = to - from;
    free(bottom);
    free(top);
    *low = from - REACH * height;
    *high = to + REACH * height;
    if (!(height > 0) || (least >= *low && greatest <= *high)) return false;
    shrink_range(curve, n, low, high);
    return *low < *high;
}
