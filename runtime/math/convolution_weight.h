/* convolution_weight.h: the derivative towards the weight.  Part of math/convolution.c that is compiled for float and for
 * double: REAL, NAME(x). */

/* Pixels that a place of the kernel reads, one behind another in x, and what they are multiplied with. */
typedef struct NAME(Stretch) {
    const REAL *x, *y;
    int64_t n;
} NAME(Stretch);

/* sums[R][V · WIDTH] += Σ over pixels of x[pixel][R] · y[pixel][V · WIDTH]; pixels of x are `apart` numbers from each
 * other. */
static INLINE void NAME(tile_of_weights)(const int R, const int V, REAL *sums, const NAME(Stretch) *s, int n, int64_t apart)
{
    NAME(Vector) sum[16][2] = {0};
    for (int i = 0; i < n; i++) {
        const REAL *x = s[i].x, *y = s[i].y;
        for (int64_t k = s[i].n; k > 0; k--, x += apart, y += V * NAME(WIDTH)) {
            NAME(Vector) row[2];
            UNROLL for (int v = 0; v < V; v++) row[v] = NAME(kept)(*(const NAME(Vector) *)(y + v * NAME(WIDTH)));
            UNROLL for (int r = 0; r < R; r++)
            {
                NAME(Vector) factor = x[r] - (NAME(Vector)){0};
                UNROLL for (int v = 0; v < V; v++) sum[r][v] = NAME(fused)(factor, row[v], sum[r][v]);
            }
        }
    }
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++)
        *(NAME(Vector) *)(sums + (r * V + v) * NAME(WIDTH)) += sum[r][v];
}

static void NAME(weights_by_1)(int64_t rows, REAL *sums, const NAME(Stretch) *s, int n, int64_t apart)
{
    FOR_ROWS(rows, if (R <= ROWS_OF_1) NAME(tile_of_weights)(R, 1, sums, s, n, apart))
}

static void NAME(weights_by_2)(int64_t rows, REAL *sums, const NAME(Stretch) *s, int n, int64_t apart)
{
    FOR_ROWS(rows, if (R <= ROWS_OF_2) NAME(tile_of_weights)(R, 2, sums, s, n, apart))
}

/* A task: some input channels and some lanes of a group, and the room in which their sums are. */
typedef struct NAME(Weights) {
    const Lathe_convolution *g;
    const REAL *x, *y;            /* from the task's first channels on */
    int64_t deep, lanes, width;   /* input channels; lanes, of which `width` are the array's */
    REAL *sums, *copied;          /* [tap][deep][lanes]; y's pixels [RUN][lanes] */
    Line *lines;
    NAME(Stretch) *stretches;
} NAME(Weights);

static void NAME(copy_pixels)(const NAME(Weights) *t, int n)
{
    const int64_t *axis = t->g->y.axis;
    REAL *to = t->copied;
    for (int i = 0; i < n; i++) {
        const Line *l = &t->lines[i];
        const REAL *y = t->y + sample_at(t->g, &t->g->y, l->sample) + l->at[0] * axis[0] + l->at[1] * axis[1] + l->at[2] * axis[2];
        for (int64_t k = 0; k < l->n; k++, y += axis[2], to += t->lanes) {
            memcpy(to, y, (size_t)t->width * sizeof *to);
            if (t->width < t->lanes) memset(to + t->width, 0, (size_t)(t->lanes - t->width) * sizeof *to);
        }
    }
}

/* What place (p, q, s) reads of the lines. */
static int NAME(stretches_of)(const NAME(Weights) *t, int n, int64_t p, int64_t q, int64_t s)
{
    const Lathe_convolution *g = t->g;
    const REAL *y = t->copied;
    int count = 0;
    for (int i = 0; i < n; y += t->lines[i++].n * t->lanes) {
        const Line *l = &t->lines[i];
        int64_t plane, row, from, to;
        if (!reads(g, l, 0, p, &plane) || !reads(g, l, 1, q, &row)) continue;
        seen_by(g, l, s, &from, &to);
        if (from >= to) continue;
        int64_t column = (l->at[2] + from) * g->stride[2] + s * g->dilation[2] - g->before[2];
        const REAL *x = t->x + sample_at(g, &g->x, l->sample) + plane * g->x.axis[0] + row * g->x.axis[1];
        t->stretches[count++] = (NAME(Stretch)){x + column * g->x.axis[2], y + from * t->lanes, to - from};
    }
    return count;
}

/* Adds the products of stretches for all of the task's channels; apart: from pixel to pixel of x. */
static void NAME(add_stretches)(const NAME(Weights) *t, REAL *sums, int count, int64_t apart)
{
    bool two = t->lanes > NAME(WIDTH);
    int64_t pieces = parts_of(t->deep, two ? ROWS_OF_2 : ROWS_OF_1), piece = parts_of(t->deep, pieces);
    for (int64_t c = 0; c < t->deep; c += piece) {
        int64_t rows = least(piece, t->deep - c);
        if (two) NAME(weights_by_2)(rows, sums + c * t->lanes, t->stretches, count, apart);
        else NAME(weights_by_1)(rows, sums + c * t->lanes, t->stretches, count, apart);
        for (int i = 0; i < count; i++) t->stretches[i].x += rows;
    }
}

/* Adds the products of a run of lines, for all places of the kernel. */
static void NAME(add_lines)(const NAME(Weights) *t, int n)
{
    const Lathe_convolution *g = t->g;
    REAL *sums = t->sums;
    NAME(copy_pixels)(t, n);
    for (int64_t k = 0; k < kernel_places(g); k++, sums += t->deep * t->lanes) {
        int count = NAME(stretches_of)(t, n, k / g->K[2] / g->K[1], k / g->K[2] % g->K[1], k % g->K[2]);
        NAME(add_stretches)(t, sums, count, g->stride[2] * g->x.axis[2]);
    }
}

#include "math/convolution_pairs_back.h"
#include "math/convolution_squares_back.h"

static void NAME(end_weights)(const NAME(Weights) *t, REAL *weight)
{
    int64_t C = t->g->C / t->g->groups, K = kernel_places(t->g);
    for (int64_t o = 0; o < t->width; o++)
        for (int64_t c = 0; c < t->deep; c++)
            for (int64_t k = 0; k < K; k++) weight[(o * C + c) * K + k] = t->sums[(k * t->deep + c) * t->lanes + o];
}

/* weight[o][c][k] of one part, for the task's channels and lanes. */
static void NAME(make_weights)(const NAME(Weights) *t, REAL *weight, int64_t part)
{
    const Lathe_convolution *g = t->g;
    int64_t lines = samples_of(g) * g->Y[0] * g->Y[1], each = parts_of(lines, g->parts);
    int64_t end = least((part + 1) * each, lines) * g->Y[2];
    bool pairs = pairs_of_weights(g), squares = squares_of_weights(g);
    int64_t sums = squares ? 16 * g->K[0] : pairs ? 4 * g->K[0] * g->K[1] : kernel_places(g);
    memset(t->sums, 0, (size_t)(sums * t->deep * t->lanes) * sizeof *t->sums);
    int64_t first = part * each * g->Y[2];
    if (squares) NAME(sum_squares)(t, first, end);
    for (int64_t at = first; at < end && !squares;) {
        int n = next_lines(g, t->lines, &at, end, pairs ? PAIRED_RUN : RUN);
        if (pairs) NAME(add_pairs)(t, n);
        else NAME(add_lines)(t, n);
    }
    if (squares) NAME(end_squares)(t, weight);
    else if (pairs) NAME(end_pairs)(t, weight);
    else NAME(end_weights)(t, weight);
}

static void NAME(weight_task)(REAL *weight, const REAL *x, const REAL *y, const Lathe_convolution *g, int64_t i)
{
    int64_t C = g->C / g->groups, O = g->O / g->groups, K = kernel_places(g), lanes = weight_lanes(g, NAME(WIDTH), sizeof(REAL));
    int64_t depth = depth_of_task(g), chunks = parts_of(C, depth), blocks = parts_of(O, lanes);
    int64_t block = i % blocks, chunk = i / blocks % chunks, group = i / blocks / chunks % g->groups;
    int64_t part = i / blocks / chunks / g->groups, o = block * lanes, c = chunk * depth;
    char *room = (char *)thread_room() + LISTS_BYTES;
    NAME(Weights) t = {.g = g, .x = x + group * C + c, .y = y + group * O + o, .deep = least(depth, C - c),
                       .width = least(lanes, O - o), .sums = (REAL *)room, .copied = (REAL *)(room + W_BYTES)};
    t.lanes = t.width > NAME(WIDTH) ? lanes : NAME(WIDTH);
    bool squares = squares_of_weights(g), pairs = pairs_of_weights(g);
    t.lines = (Line *)(t.copied + (squares ? 4 * NAME(Y_SQUARES) : pairs ? 4 * NAME(Y_PLANE) : RUN * lanes));
    t.stretches = (NAME(Stretch) *)(t.lines + RUN);
    NAME(make_weights)(&t, weight + (part * g->O + group * O + o) * C * K + c * K, part);
}

void NAME(convolution_weight)(REAL *weight, const REAL *x, const REAL *y, const Lathe_convolution *g)
{
    int64_t lanes = weight_lanes(g, NAME(WIDTH), sizeof(REAL)), C = g->C / g->groups, O = g->O / g->groups;
    int64_t n = g->parts * g->groups * parts_of(C, depth_of_task(g)) * parts_of(O, lanes);
    bool together = is_for_all(g), alone = is_alone(g);
    if (alone) n = g->parts * parts_of(g->groups, NAME(WIDTH));
#pragma omp parallel for schedule(dynamic) if (together)
    for (int64_t i = 0; i < n; i++)
        if (alone) NAME(weight_alone)(weight, x, y, g, i);
        else NAME(weight_task)(weight, x, y, g, i);
}
