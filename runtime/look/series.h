/* series.h: numbers of a run over its steps, thinned so that spikes stay. */
#ifndef LATHE_LOOK_SERIES_H
#define LATHE_LOOK_SERIES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Point {
    int64_t line; /* of metrics.jsonl, from 1 */
    double step, units, seconds; /* units: tokens or rows so far */
    double value;
} Point;

enum { BUCKETS = 1024, MOST_MARKS = 64 };

typedef struct Bucket { /* of `width` values next to each other: the least and the greatest */
    Point low, high;
} Bucket;

/* One number of one kind of line, such as the loss of evaluations.  At most 2 * BUCKETS points are kept, however many
 * come; while there are no more, all of them are. */
typedef struct Series {
    char *split, *name;
    Bucket *bucket; /* [BUCKETS] */
    int buckets;
    int64_t width, in_last; /* values of a bucket; of the last one so far */
    int64_t finite, odd;    /* how many came; odd: NaN or infinite */
    Point mark[MOST_MARKS]; /* the first odd ones */
    Point first, last, least, greatest; /* of the finite ones */
} Series;

Series *new_series(const char *split, const char *name);
void add_to_series(Series *s, Point p);
int points_of_series(const Series *s, Point *to); /* [2 * BUCKETS + 2], in their order; returns how many */
int fewer_points(Point *p, int n, int most); /* thins them again; returns how many are left, most at most (4 at least) */
void free_series(Series *s);

#endif
