/* test_convolution.c: math/convolution.c on random shapes against plain loops in doubles: one to three axes, strides,
 * dilation, groups, each channel alone, zeros around, operands with gaps whose surroundings stay as they were, sizes
 * that are made in several passes; the same bits for 1, 2, 3 and 8 threads, and if samples are made a few at a time. */
#include "harness.h"
#include "lathe_rt.h"
#include "math/engine.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { X, Y, W, OPERANDS, SHARES = 4 };
static const double untouched = 12345.25;

typedef struct Case {
    Lathe_convolution g;
    bool is_f64;
    int64_t span[OPERANDS];                   /* elements, gaps included */
    double *exact[OPERANDS], *size[OPERANDS]; /* the value, and the absolute values of what it is a sum of */
    void *given[OPERANDS];
    int64_t terms[OPERANDS];
} Case;

static double get(const Case *c, const void *data, int64_t i)
{
    return c->is_f64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

static void put(const Case *c, void *data, int64_t i, double v)
{
    if (c->is_f64) ((double *)data)[i] = v;
    else ((float *)data)[i] = (float)v;
}

/* Of one sample's pixel. */
static int64_t pixel(const Case *c, const Lathe_pixels *p, int64_t sample, const int64_t *at)
{
    int64_t inner = c->g.batch[1];
    return sample / inner * p->batch[0] + sample % inner * p->batch[1] + at[0] * p->axis[0] + at[1] * p->axis[1] +
           at[2] * p->axis[2];
}

static bool next(const int64_t *extent, int64_t *at)
{
    for (int i = 2; i >= 0; i--) {
        if (++at[i] < extent[i]) return true;
        at[i] = 0;
    }
    return false;
}

/* Strides, with gaps between pixels, lines and samples. */
static int64_t lay_out(Case *c, Lathe_pixels *p, const int64_t *extent, int64_t channels, Rng *r)
{
    p->axis[2] = channels + below(r, 2) * below(r, 20);
    p->axis[1] = p->axis[2] * extent[2] + below(r, 2) * below(r, 20);
    p->axis[0] = p->axis[1] * extent[1];
    p->batch[1] = p->axis[0] * extent[0] + below(r, 9);
    p->batch[0] = p->batch[1] * c->g.batch[1];
    return p->batch[0] * c->g.batch[0];
}

static void make_operand(Case *c, int x, int64_t span)
{
    c->span[x] = span;
    c->exact[x] = calloc((size_t)span, sizeof(double));
    c->size[x] = calloc((size_t)span, sizeof(double));
    c->given[x] = calloc((size_t)span, sizeof(double));
    for (int64_t i = 0; i < span; i++) put(c, c->given[x], i, untouched);
}

static int64_t samples_of(const Case *c) { return c->g.batch[0] * c->g.batch[1]; }

static void draw_pixels(Case *c, int x, const Lathe_pixels *p, const int64_t *extent, int64_t channels, Rng *r)
{
    for (int64_t s = 0; s < samples_of(c); s++) {
        int64_t at[3] = {0};
        do {
            for (int64_t k = 0; k < channels; k++) put(c, c->given[x], pixel(c, p, s, at) + k, normal(r));
        } while (next(extent, at));
    }
}

/* What places of the kernel pair: calls `pair` for every product of x and w that is part of y. */
typedef void (*Pair)(Case *c, int64_t x, int64_t w, int64_t y);

static void each_pair(Case *c, Pair pair)
{
    const Lathe_convolution *g = &c->g;
    int64_t C = g->C / g->groups, O = g->O / g->groups, K = g->K[0] * g->K[1] * g->K[2];
    for (int64_t s = 0; s < samples_of(c); s++) {
        int64_t at[3] = {0};
        do {
            int64_t k[3] = {0}, from[3];
            do {
                bool inside = true;
                for (int i = 0; i < 3; i++) {
                    from[i] = at[i] * g->stride[i] + k[i] * g->dilation[i] - g->before[i];
                    inside &= from[i] >= 0 && from[i] < g->X[i];
                }
                int64_t place = (k[0] * g->K[1] + k[1]) * g->K[2] + k[2];
                for (int64_t o = 0; o < g->O && inside; o++)
                    for (int64_t i = 0; i < C; i++)
                        pair(c, pixel(c, &g->x, s, from) + o / O * C + i, (o * C + i) * K + place,
                             pixel(c, &g->y, s, at) + o);
            } while (next(g->K, k));
        } while (next(g->Y, at));
    }
}

static void add(Case *c, int to, int64_t at, double product)
{
    c->exact[to][at] += product;
    c->size[to][at] += fabs(product);
}

static void towards_y(Case *c, int64_t x, int64_t w, int64_t y)
{
    add(c, Y, y, get(c, c->given[X], x) * get(c, c->given[W], w));
}

static void towards_x(Case *c, int64_t x, int64_t w, int64_t y)
{
    add(c, X, x, get(c, c->given[Y], y) * get(c, c->given[W], w));
}

static void towards_w(Case *c, int64_t x, int64_t w, int64_t y)
{
    add(c, W, w, get(c, c->given[Y], y) * get(c, c->given[X], x));
}

/* ------------------------------------------------------------------ errors of pairs and squares
 * What is made by pairs (math/convolution_pairs.h) or in squares (math/convolution_squares.h) is a sum of products of
 * neighbours that plain sums do not have; they count for its error. */

static bool may_pair(const Lathe_convolution *g, int axis)
{
    return g->K[axis] == 3 && g->stride[axis] == 1 && g->dilation[axis] == 1;
}

static bool may_square(const Lathe_convolution *g) { return may_pair(g, 1) && may_pair(g, 2); }

/* Of the 3 weights, or 9, of one place of the other axes: what is added up for one is made of the products of all. */
static void widen_weights(Case *c)
{
    int64_t together = may_square(&c->g) ? 9 : 3;
    for (int64_t i = 0; i < c->span[W]; i += together) {
        double *size = c->size[W] + i, all = 0;
        for (int k = 0; k < together; k++) all += size[k];
        for (int k = 0; k < together; k++) size[k] = all;
    }
}

/* What place k of the kernel reads along an axis for pixel `at` of y, or of x; false: nothing. */
static bool read_from(const Lathe_convolution *g, bool x, int axis, int64_t at, int64_t k, int64_t *from)
{
    int64_t far = k * g->dilation[axis] - g->before[axis];
    *from = x ? (at - far) / g->stride[axis] : at * g->stride[axis] + far;
    if (*from < 0 || *from >= (x ? g->Y : g->X)[axis]) return false;
    return !x || *from * g->stride[axis] == at - far;
}

/* The range of what one result reads along an axis, for place k of the kernel: the four neighbours of a pair. */
static void range_read(const Lathe_convolution *g, bool x, int axis, bool pairs, int64_t at, int64_t k, int64_t *from,
                       int64_t *end)
{
    if (!pairs) {
        *end = read_from(g, x, axis, at, k, from) ? *from + 1 : *from;
        return;
    }
    int64_t first = at / 2 * 2 - (x ? 2 - g->before[axis] : g->before[axis]), extent = (x ? g->Y : g->X)[axis];
    *from = first < 0 ? 0 : first;
    *end = first + 4 < extent ? first + 4 : extent;
}

/* The weights of all places of the axes that pair, at places k of the others. */
static double weights_of_pair(Case *c, int64_t w, const int64_t *k)
{
    const Lathe_convolution *g = &c->g;
    double sum = 0;
    for (int q = 0; q < (may_square(g) ? 3 : 1); q++)
        for (int s = 0; s < 3; s++)
            sum += fabs(get(c, c->given[W], ((w * g->K[0] + k[0]) * g->K[1] + k[1] + q) * 3 + s));
    return sum;
}

/* All neighbours that the pair or square of pixel `at` reads, each with all weights: channel o of y, i of the group. */
static double products_of_pair(Case *c, bool x, int64_t s, const int64_t *at, int64_t o, int64_t i)
{
    const Lathe_convolution *g = &c->g;
    int64_t C = g->C / g->groups, first = o / (g->O / g->groups) * C, k[3] = {0}, from[3], begin[3], end[3];
    double all = 0;
    const int64_t places[3] = {g->K[0], may_square(g) ? 1 : g->K[1], 1};
    do {
        double sum = 0;
        for (int axis = 0; axis < 3; axis++)
            range_read(g, x, axis, axis == 2 || (axis == 1 && may_square(g)), at[axis], k[axis], &begin[axis],
                       &end[axis]);
        for (from[0] = begin[0]; from[0] < end[0]; from[0]++)
            for (from[1] = begin[1]; from[1] < end[1]; from[1]++)
                for (from[2] = begin[2]; from[2] < end[2]; from[2]++)
                    sum += fabs(x ? get(c, c->given[Y], pixel(c, &g->y, s, from) + o)
                                  : get(c, c->given[X], pixel(c, &g->x, s, from) + first + i));
        all += sum * weights_of_pair(c, o * C + i, k);
    } while (next(places, k));
    return all;
}

static void widen_pixels(Case *c, bool x)
{
    const Lathe_convolution *g = &c->g;
    int64_t C = g->C / g->groups, O = g->O / g->groups;
    for (int64_t s = 0; s < samples_of(c); s++) {
        int64_t at[3] = {0};
        do {
            double *size = c->size[x ? X : Y] + pixel(c, x ? &g->x : &g->y, s, at);
            for (int64_t k = 0; k < (x ? g->C : g->O); k++) size[k] = 0;
            for (int64_t o = 0; o < g->O; o++)
                for (int64_t i = 0; i < C; i++) size[x ? o / O * C + i : o] += products_of_pair(c, x, s, at, o, i);
        } while (next(x ? g->X : g->Y, at));
    }
}

/* Sum of `n` numbers that a group of shares was cut into, each `apart` behind the one before. */
static double total(const Case *c, const void *data, int64_t at, int64_t n, int64_t apart)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += get(c, data, at + i * apart);
    return sum;
}

static void check(const Case *c, const char *what, int to, const void *result, int64_t shares, double terms)
{
    double eps = c->is_f64 ? DBL_EPSILON : FLT_EPSILON, worst = 0;
    int64_t gaps = 0;
    for (int64_t i = 0; i < c->span[to]; i++) {
        double found = total(c, result, i, shares, c->span[to]);
        if (shares == 1 && c->exact[to][i] == 0 && c->size[to][i] == 0 && found == untouched) {
            gaps++;
            continue;
        }
        double error = fabs(found - c->exact[to][i]), bound = 4 * (4 + sqrt(terms)) * eps * c->size[to][i];
        worst = fmax(worst, bound > 0 ? error / bound : error > 0 ? INFINITY : 0);
    }
    const Lathe_convolution *g = &c->g;
    expect(worst <= 1,
           "%s of %lld x %lld x %lld x %lld, kernel %lld x %lld x %lld, stride %lld %lld, %lld -> %lld in %lld: error "
           "%.3g of the bound",
           what, (long long)g->X[0], (long long)g->X[1], (long long)g->X[2], (long long)samples_of(c),
           (long long)g->K[0], (long long)g->K[1], (long long)g->K[2], (long long)g->stride[1], (long long)g->stride[2],
           (long long)g->C, (long long)g->O, (long long)g->groups, worst);
    int64_t pixels = to == X ? g->X[0] * g->X[1] * g->X[2] : g->Y[0] * g->Y[1] * g->Y[2];
    int64_t wanted = to == W ? 0 : c->span[to] - pixels * samples_of(c) * (to == X ? g->C : g->O);
    expect(to == W || gaps == wanted, "%s: %lld of %lld numbers between pixels as they were", what, (long long)gaps,
           (long long)wanted);
}

static void call(const Case *c, int to, void *result)
{
    void *x = to == X ? result : c->given[X], *y = to == Y ? result : c->given[Y], *w = to == W ? result : c->given[W];
    const Lathe_convolution *g = &c->g;
    if (c->is_f64)
        to == Y   ? convolution_f64(y, x, w, g)
        : to == X ? convolution_input_f64(x, y, w, g)
                  : convolution_weight_f64(w, x, y, g);
    else
        to == Y   ? convolution_f32(y, x, w, g)
        : to == X ? convolution_input_f32(x, y, w, g)
                  : convolution_weight_f32(w, x, y, g);
}

/* By threads at samples of their own, as in panels. */
static void call_by_samples(const Case *c, int to, void *result)
{
    void *x = to == X ? result : c->given[X], *y = to == Y ? result : c->given[Y], *w = c->given[W];
    const Lathe_convolution *g = &c->g;
    int n = (int)samples_of(c);
#pragma omp parallel for
    for (int from = 0; from < n; from += 2) {
        int end = from + 2 < n ? from + 2 : n;
        if (c->is_f64)
            to == Y ? convolution_samples_f64(y, x, w, g, from, end)
                    : convolution_input_samples_f64(x, y, w, g, from, end);
        else
            to == Y ? convolution_samples_f32(y, x, w, g, from, end)
                    : convolution_input_samples_f32(x, y, w, g, from, end);
    }
}

static void *filled_for_call(const Case *c, int64_t n)
{
    void *data = malloc((size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) put(c, data, i, untouched);
    return data;
}

static void run_and_check(Case *c, const char *what, int to, double terms)
{
    static const int threads[] = {1, 2, 3, 8};
    int64_t shares = to == W ? c->g.parts : 1, n = c->span[to] * shares;
    size_t bytes = (size_t)n * (c->is_f64 ? sizeof(double) : sizeof(float));
    void *first = filled_for_call(c, n), *again = filled_for_call(c, n);
    for (int i = 0; i < 4; i++) {
        omp_set_num_threads(threads[i]);
        call(c, to, i ? again : first);
        if (i) expect(memcmp(first, again, bytes) == 0, "%s: other bits with %d threads", what, threads[i]);
    }
    check(c, what, to, first, shares, terms);
    free(again);
    again = filled_for_call(c, n);
    if (to != W) call_by_samples(c, to, again);
    expect(to == W || memcmp(first, again, bytes) == 0, "%s: other bits by samples", what);
    free(first);
    free(again);
}

static void run(Case *c, Rng *r)
{
    const Lathe_convolution *g = &c->g;
    int64_t C = g->C / g->groups, O = g->O / g->groups, K = g->K[0] * g->K[1] * g->K[2];
    make_operand(c, X, lay_out(c, &c->g.x, g->X, g->C, r));
    make_operand(c, Y, lay_out(c, &c->g.y, g->Y, g->O, r));
    make_operand(c, W, g->O * C * K);
    draw_pixels(c, X, &g->x, g->X, g->C, r);
    draw_pixels(c, Y, &g->y, g->Y, g->O, r);
    for (int64_t i = 0; i < c->span[W]; i++) put(c, c->given[W], i, normal(r));
    each_pair(c, towards_y);
    each_pair(c, towards_x);
    each_pair(c, towards_w);
    if (may_pair(g, 2)) widen_pixels(c, false), widen_pixels(c, true), widen_weights(c);
    run_and_check(c, "convolution", Y, (double)(C * K));
    run_and_check(c, "gradient of the input", X, (double)(O * K));
    run_and_check(c, "gradient of the weight", W, (double)(samples_of(c) * g->Y[0] * g->Y[1] * g->Y[2]));
    for (int i = 0; i < OPERANDS; i++) free(c->exact[i]), free(c->size[i]), free(c->given[i]);
}

static void draw_axis(Lathe_convolution *g, int i, Rng *r)
{
    g->K[i] = 1 + below(r, 5), g->stride[i] = 1 + below(r, 3), g->dilation[i] = 1 + below(r, 3);
    g->before[i] = below(r, g->K[i] * g->dilation[i] + 1);
    g->X[i] = 1 + below(r, i == 2 ? 40 : 12);
    int64_t reach = (g->K[i] - 1) * g->dilation[i] + 1, after = below(r, reach + 2);
    int64_t places = g->X[i] + g->before[i] + after - reach;
    g->Y[i] = places < 0 ? 1 : places / g->stride[i] + 1;
}

static void random_case(Rng *r)
{
    Case c = {.is_f64 = below(r, 2)};
    int axes = 1 + (int)below(r, 3);
    c.g = (Lathe_convolution){.nbatch = 2, .batch = {1 + below(r, 2), 1 + below(r, 3)}, .parts = 1 + below(r, SHARES)};
    for (int i = 0; i < 3; i++) {
        c.g.X[i] = c.g.Y[i] = c.g.K[i] = c.g.stride[i] = c.g.dilation[i] = 1;
        if (i >= 3 - axes) draw_axis(&c.g, i, r);
    }
    c.g.groups = below(r, 3) ? 1 : 1 + below(r, 3);
    c.g.C = c.g.groups * (1 + below(r, 40)), c.g.O = c.g.groups * (1 + below(r, 40));
    if (below(r, 4) == 0) c.g.C = c.g.O = c.g.groups = 1 + below(r, 75); /* each channel alone */
    run(&c, r);
}

/* One image or line of `width` pixels. O = 0: each channel alone. */
static void large_case(Rng *r, int64_t height, int64_t width, int64_t k, int64_t stride, int64_t C, int64_t O,
                       bool is_f64)
{
    int64_t high = height > 1 ? k : 1;
    Case c = {.is_f64 = is_f64,
              .g = {.nbatch = 2,
                    .batch = {1, 1},
                    .parts = 2,
                    .groups = O ? 1 : C,
                    .C = C,
                    .O = O ? O : C,
                    .X = {1, height, width},
                    .Y = {1, height, (width - 1) / stride + 1},
                    .K = {1, high, k},
                    .stride = {1, 1, stride},
                    .dilation = {1, 1, 1},
                    .before = {0, high / 2, k / 2}}};
    run(&c, r);
}

int main(void)
{
    Rng r = rng_of(20261127);
    rt_init_gemm(8);
    for (int i = 0; i < (long_run() ? 2000 : 150); i++) random_case(&r);
    large_case(&r, 1, 12000, 3, 1, 16, 3, true); /* a line that does not fit into a room */
    large_case(&r, 3, 4, 3, 1, 700, 130, false); /* channels, weights */
    large_case(&r, 3, 5, 3, 2, 130, 700, true);
    large_case(&r, 5, 7, 3, 1, 300, 90, true); /* in squares, in several passes */
    large_case(&r, 37, 39, 3, 1, 40, 33, false);
    large_case(&r, 1, 9, 3, 1, 1000, 20, true); /* by pairs, in several passes */
    large_case(&r, 1, 2000, 3, 1, 900, 3, true);
    large_case(&r, 1, 900, 600, 2, 1, 9, false); /* a long kernel */
    large_case(&r, 9, 9, 9, 1, 2100, 0, true);   /* weights of channels alone, in several passes */
    large_case(&r, 3, 50, 7, 2, 1500, 0, false);
    return finish();
}
