/* series.c: thinning.  A bucket keeps the least and the greatest of the values that fall into it.  When all buckets are
 * full, each two of them become one, and from then on a bucket holds twice as many values: whatever the length of a
 * run, the memory is the same, and no spike is lost. */
#include "look/series.h"
#include "base/words.h"

#include <math.h>
#include <stdlib.h>

Series *new_series(const char *split, const char *name)
{
    Series *s = must_alloc(sizeof *s);
    s->split = text_of("%s", split);
    s->name = text_of("%s", name);
    s->bucket = must_alloc(sizeof *s->bucket * BUCKETS);
    s->width = 2;
    return s;
}

void free_series(Series *s)
{
    free(s->split);
    free(s->name);
    free(s->bucket);
    free(s);
}

/* Of equal values the earlier one stays the least, and the later one the greatest, so that two points are kept. */
static void widen_bucket(Bucket *to, const Bucket *by)
{
    if (by->low.value < to->low.value) to->low = by->low;
    if (by->high.value >= to->high.value) to->high = by->high;
}

static void halve_buckets(Series *s)
{
    for (int i = 0; i < BUCKETS / 2; i++) {
        s->bucket[i] = s->bucket[2 * i];
        widen_bucket(&s->bucket[i], &s->bucket[2 * i + 1]);
    }
    s->buckets = BUCKETS / 2;
    s->width *= 2;
    s->in_last = s->width;
}

static void note_extremes(Series *s, const Point *p)
{
    if (s->finite == 0) s->first = s->least = s->greatest = *p;
    if (p->value < s->least.value) s->least = *p;
    if (p->value > s->greatest.value) s->greatest = *p;
    s->last = *p;
    s->finite++;
}

void add_to_series(Series *s, Point p)
{
    if (!isfinite(p.value)) {
        if (s->odd < MOST_MARKS) s->mark[s->odd] = p;
        s->odd++;
        return;
    }
    note_extremes(s, &p);
    if (s->buckets == BUCKETS && s->in_last == s->width) halve_buckets(s);
    const Bucket one = {p, p};
    if (s->buckets == 0 || s->in_last == s->width) {
        s->bucket[s->buckets++] = one;
        s->in_last = 1;
    } else {
        widen_bucket(&s->bucket[s->buckets - 1], &one);
        s->in_last++;
    }
}

static void put_point(Point *to, int *n, const Point *p)
{
    if (*n == 0 || to[*n - 1].line < p->line) to[(*n)++] = *p;
}

static void put_both(Point *to, int *n, const Point *low, const Point *high)
{
    bool low_first = low->line < high->line;
    put_point(to, n, low_first ? low : high);
    put_point(to, n, low_first ? high : low);
}

int points_of_series(const Series *s, Point *to)
{
    int n = 0;
    if (s->finite) put_point(to, &n, &s->first);
    for (int i = 0; i < s->buckets; i++) put_both(to, &n, &s->bucket[i].low, &s->bucket[i].high);
    if (s->finite) put_point(to, &n, &s->last);
    return n;
}

int fewer_points(Point *p, int n, int most)
{
    int each, kept = 1;
    if (n <= most) return n;
    each = (2 * (n - 2) + most - 3) / (most - 2); /* two of so many are kept, beside the first and the last */
    const Point last = p[n - 1];
    for (int i = 1; i < n - 1; i += each) {
        Bucket b = {p[i], p[i]};
        for (int k = i; k < i + each && k < n - 1; k++) widen_bucket(&b, &(Bucket){p[k], p[k]});
        put_both(p, &kept, &b.low, &b.high);
    }
    put_point(p, &kept, &last);
    return kept;
}
