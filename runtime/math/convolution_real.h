/* convolution_real.h: the part of math/convolution.c that is compiled for float and for double: REAL, NAME(x). */

#ifndef CONVOLUTION_TILES
#define CONVOLUTION_TILES
/* Rows of a tile that is one vector wide, or two: its sums, a vector or two of the other operand, and a factor. */
#ifdef __AVX512F__
enum { ROWS_OF_1 = 16, ROWS_OF_2 = 14, MOST_PAIRS = 6 };
#elif defined __FMA__
enum { ROWS_OF_1 = 12, ROWS_OF_2 = 6, MOST_PAIRS = 3 };
#else
enum { ROWS_OF_1 = 8, ROWS_OF_2 = 4, MOST_PAIRS = 2 };
#endif
/* `call`, with R a constant. */
#define FOR_ROWS(r, call)                                                                                              \
    switch (r) {                                                                                                       \
        ROW_CASE(1, call) ROW_CASE(2, call) ROW_CASE(3, call) ROW_CASE(4, call) ROW_CASE(5, call) ROW_CASE(6, call)    \
        ROW_CASE(7, call) ROW_CASE(8, call) ROW_CASE(9, call) ROW_CASE(10, call) ROW_CASE(11, call)                    \
        ROW_CASE(12, call) ROW_CASE(13, call) ROW_CASE(14, call) ROW_CASE(15, call) ROW_CASE(16, call) default : break; \
    }
#define ROW_CASE(r, call)                                                                                              \
    case r: {                                                                                                          \
        const int R = (r);                                                                                              \
        call;                                                                                                          \
    } break;
#endif


static void NAME(copy_pairs)(REAL *to, const REAL *from, Span s, int64_t deep);

/* ---- what a task reads */

/* Column first + rest + step · i of a line, i < read_columns, for each rest by the step; from NULL: zeros. */
static void NAME(copy_line)(const Way *w, REAL *to, const REAL *from, int64_t first, int64_t deep)
{
    const Axis *a = &w->axis[2];
    int64_t stride = w->from->axis[2];
    for (int64_t rest = 0; rest < a->step; rest++)
        for (int64_t i = 0; i < w->read_columns; i++, to += CHANNELS) {
            int64_t at = first + rest + i * a->step;
            if (!from || at < 0 || at >= a->extent) memset(to, 0, CHANNELS * sizeof *to);
            else if (deep == CHANNELS) memcpy(to, from + at * stride, CHANNELS * sizeof *to);
            else memcpy(to, from + at * stride, (size_t)deep * sizeof *to);
        }
}

/* The lines that a task reads: [chunk][tap of the first axis][row][rest][column][16 channels], zeros outside. */
static void NAME(copy_rows)(const Way *w, const Task *t, REAL *to, const REAL *from, int64_t channel, int64_t end)
{
    const Axis *a = w->axis;
    int64_t line = w->line, first = t->column * a[2].step + a[2].low;
    int64_t rows = (t->rows - 1) * a[1].step + a[1].span;
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++, to += w->read_rows * line)
            for (int64_t r = 0; r < rows; r++) {
                int64_t plane = t->plane * a[0].step + a[0].at[p], row = t->row * a[1].step + a[1].low + r;
                bool inside = plane >= 0 && plane < a[0].extent && row >= 0 && row < a[1].extent;
                const REAL *at = inside ? from + channel + plane * w->from->axis[0] + row * w->from->axis[1] : NULL;
                int64_t deep = least(CHANNELS, end - channel);
                Span s = {w->from->axis[2], a[2].extent, first, parts_of(w->columns, 2), 4 * CHANNELS, CHANNELS};
                if (w->pairs) NAME(copy_pairs)(to + r * line, at, s, deep);
                else NAME(copy_line)(w, to + r * line, at, first, deep);
            }
}

/* Where in those lines each tap finds what the first result reads of the first chunk. */
static void NAME(place_taps)(const Way *w, int *place)
{
    const Axis *a = w->axis;
    for (int p = 0; p < a[0].taps; p++)
        for (int q = 0; q < (w->squares ? 1 : a[1].taps); q++)
            for (int s = 0; s < (w->pairs ? 1 : a[2].taps); s++) {
                int64_t across = a[2].at[s] - a[2].low, row = p * w->read_rows + a[1].at[q] - a[1].low;
                int64_t column = across % a[2].step * w->read_columns + across / a[2].step;
                *place++ = (int)(row * w->line + column * CHANNELS);
            }
}

/* Weights of some channels of results, as [chunk][tap][channel][lanes]; lanes beyond `width` are 0. */
static void NAME(pack_weights)(const Way *w, REAL *to, const REAL *from, int64_t channel, int64_t end, int64_t lanes,
                               int64_t width)
{
    const Axis *a = w->axis;
    const int64_t *K = w->g->K;
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++)
            for (int q = 0; q < a[1].taps; q++)
                for (int s = 0; s < a[2].taps; s++) {
                    const REAL *at = from + (a[0].place[p] * K[1] + a[1].place[q]) * K[2] + a[2].place[s];
                    for (int64_t c = channel; c < least(channel + CHANNELS, end); c++, to += lanes)
                        for (int64_t l = 0; l < lanes; l++) to[l] = l < width ? at[c * w->w_from + l * w->w_to] : 0;
                }
}

/* ---- a tile of results */

typedef struct NAME(Tile) {
    REAL *to;
    const REAL *from, *w;
    const int *place;
    int64_t apart, taps, chunk, depth; /* apart: from result to result; chunk: from chunk to chunk of what is read */
    bool add;
} NAME(Tile);

static INLINE void NAME(tile_of_results)(const int R, const int V, const NAME(Tile) *t)
{
    NAME(Vector) sum[16][2];
    const REAL *w = t->w, *from = t->from;
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++)
        sum[r][v] = t->add ? *(const NAME(Vector) *)(t->to + r * t->apart + v * NAME(WIDTH)) : (NAME(Vector)){0};
    for (int64_t d = 0; d < t->depth; d += CHANNELS, from += t->chunk)
        for (int64_t k = 0; k < t->taps; k++) {
            const REAL *x = from + t->place[k];
            for (int64_t c = least(CHANNELS, t->depth - d); c > 0; c--, x++, w += V * NAME(WIDTH)) {
                NAME(Vector) row[2];
                UNROLL for (int v = 0; v < V; v++) row[v] = NAME(kept)(*(const NAME(Vector) *)(w + v * NAME(WIDTH)));
                UNROLL for (int r = 0; r < R; r++)
                {
                    NAME(Vector) factor = x[r * CHANNELS] - (NAME(Vector)){0};
                    UNROLL for (int v = 0; v < V; v++) sum[r][v] = NAME(fused)(factor, row[v], sum[r][v]);
                }
            }
        }
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++)
        *(NAME(Vector) *)(t->to + r * t->apart + v * NAME(WIDTH)) = sum[r][v];
}

static void NAME(results_by_1)(int64_t rows, const NAME(Tile) *t)
{
    FOR_ROWS(rows, if (R <= ROWS_OF_1) NAME(tile_of_results)(R, 1, t))
}

static void NAME(results_by_2)(int64_t rows, const NAME(Tile) *t)
{
    FOR_ROWS(rows, if (R <= ROWS_OF_2) NAME(tile_of_results)(R, 2, t))
}

/* A tile that makes whole vectors where only `lanes` of them, of `results`, have a place: it makes them in `whole`. */
static void NAME(to_whole)(NAME(Tile) *t, const NAME(Tile) *given, REAL *whole, int64_t wide, int64_t results,
                           int64_t lanes)
{
    t->to = whole, t->apart = wide;
    for (int64_t r = 0; r < results && t->add; r++)
        memcpy(whole + r * wide, given->to + r * given->apart, (size_t)lanes * sizeof(REAL));
}

static void NAME(from_whole)(const NAME(Tile) *given, const REAL *whole, int64_t wide, int64_t results, int64_t lanes)
{
    for (int64_t r = 0; r < results; r++)
        memcpy(given->to + r * given->apart, whole + r * wide, (size_t)lanes * sizeof(REAL));
}

/* `rows` neighbouring results, `lanes` channels of a block of one vector, or two. */
static void NAME(make_tile)(const NAME(Tile) *given, int64_t rows, int64_t lanes, bool two)
{
    REAL whole[16 * 2 * NAME(WIDTH)];
    NAME(Tile) t = *given;
    int64_t wide = (two ? 2 : 1) * NAME(WIDTH);
    if (lanes < wide) NAME(to_whole)(&t, given, whole, wide, rows, lanes);
    if (two) NAME(results_by_2)(rows, &t);
    else NAME(results_by_1)(rows, &t);
    if (lanes < wide) NAME(from_whole)(given, whole, wide, rows, lanes);
}

/* One line of results of a task, some lanes wide. */
static void NAME(line_of_results)(NAME(Tile) t, int64_t columns, int64_t lanes, bool two)
{
    int64_t pieces = parts_of(columns, two ? ROWS_OF_2 : ROWS_OF_1), piece = parts_of(columns, pieces);
    for (int64_t i = 0; i < columns; i += piece) {
        NAME(make_tile)(&t, least(piece, columns - i), lanes, two);
        t.from += piece * CHANNELS;
        t.to += piece * t.apart;
    }
}

#include "math/convolution_pairs.h"

/* ---- a pass over all results: some channels that are read, some that are made */

typedef struct NAME(Pass) {
    REAL *to;
    const REAL *from, *w;
    int64_t channel, end, lane, lanes_end; /* of a group */
} NAME(Pass);

static int64_t NAME(lanes_of)(const Way *w, int64_t lane)
{
    return w->lanes > NAME(WIDTH) && w->width - lane > NAME(WIDTH) ? 2 * NAME(WIDTH) : NAME(WIDTH);
}

/* What a task reads of the first plane: from line `row` and column `column` on, both maybe outside; NULL: there is no
 * such task. */
typedef struct NAME(Ahead) {
    const REAL *plane;
    int64_t row, column;
} NAME(Ahead);

static NAME(Ahead) NAME(read_by)(const Way *w, const NAME(Pass) *p, int64_t task)
{
    const Axis *a = w->axis;
    if (task >= tasks_of(w)) return (NAME(Ahead)){0};
    Task t = task_at(w, task);
    int64_t plane = t.plane * a[0].step + a[0].at[0];
    if (plane < 0 || plane >= a[0].extent) return (NAME(Ahead)){0};
    const REAL *from = p->from + p->channel + sample_at(w->g, w->from, t.sample) + plane * w->from->axis[0];
    return (NAME(Ahead)){from, t.row * a[1].step + a[1].low, t.column * a[2].step + a[2].low};
}

/* Asks for columns of line r of what a task reads, which is probably this thread's next one. */
static void NAME(ask_ahead)(const Way *w, const NAME(Pass) *p, const NAME(Ahead) *to, int64_t r, int64_t column,
                            int64_t columns)
{
    const Axis *a = w->axis;
    int64_t row = to->row + r, line = 64 / (int64_t)sizeof(REAL), apart = w->from->axis[2];
    if (!to->plane || row < 0 || row >= a[1].extent) return;
    column += to->column;
    const REAL *from = to->plane + row * w->from->axis[1];
    for (int64_t end = least(column + columns, a[2].extent), at = most(column, 0); at < end; at++)
        for (int64_t c = 0; c < p->end - p->channel; c += line) __builtin_prefetch(from + at * apart + c, 0, 2);
}

static void NAME(make_task)(const Way *w, const NAME(Pass) *p, const REAL *packed, REAL *lines, const int *place, int64_t number)
{
    const Task task = task_at(w, number), *t = &task;
    const Axis *a = w->axis;
    int64_t line = w->line, depth = p->end - p->channel;
    const REAL *from = p->from + sample_at(w->g, w->from, t->sample);
    REAL *to = p->to + first_result(w, t);
    NAME(copy_rows)(w, t, lines, from, p->channel, p->end);
    NAME(Ahead) ahead = NAME(read_by)(w, p, number + omp_get_num_threads());
    NAME(Tile) tile = {.w = packed, .place = place, .apart = a[2].apart * w->to->axis[2], .taps = w->taps,
                       .chunk = a[0].taps * w->read_rows * line, .depth = depth, .add = p->channel > 0};
    for (int64_t lane = p->lane; lane < p->lanes_end; lane += w->lanes) {
        bool two = NAME(lanes_of)(w, lane) > NAME(WIDTH);
        int64_t lanes = least(w->width - lane, two ? 2 * NAME(WIDTH) : NAME(WIDTH));
        for (int64_t r = 0; r < t->rows; r++) {
            if (lane == p->lane) NAME(ask_ahead)(w, p, &ahead, r, 0, t->columns * a[2].step);
            tile.from = lines + r * a[1].step * line;
            tile.to = to + lane + r * a[1].apart * w->to->axis[1];
            if (w->pairs) NAME(line_of_pairs)(tile, t->columns, lanes);
            else NAME(line_of_results)(tile, t->columns, lanes, two);
        }
        tile.w += depth * w->taps * factors_of(w) * (two ? 2 : 1) * NAME(WIDTH);
    }
}

#include "math/convolution_squares.h"

/* All threads call it. */
static void NAME(make_pass)(const Way *w, const NAME(Pass) *p)
{
    int *place = (int *)thread_room();
    REAL *packed = (REAL *)((char *)thread_room() + LISTS_BYTES), *lines = packed + W_BYTES / sizeof(REAL), *to = packed;
    NAME(place_taps)(w, place);
    for (int64_t lane = p->lane; lane < p->lanes_end; lane += w->lanes) {
        int64_t lanes = NAME(lanes_of)(w, lane), width = least(lanes, w->width - lane);
        if (w->squares) NAME(pack_squares)(w, to, p->w + lane * w->w_to, p->channel, p->end, lanes, width);
        else if (w->pairs) NAME(pack_pairs)(w, to, p->w + lane * w->w_to, p->channel, p->end, width);
        else NAME(pack_weights)(w, to, p->w + lane * w->w_to, p->channel, p->end, lanes, width);
        to += (p->end - p->channel) * w->taps * lanes * factors_of(w);
    }
    int64_t n = tasks_of(w);
#pragma omp for schedule(dynamic) nowait
    for (int64_t i = 0; i < n; i++)
        if (w->squares) NAME(make_squares)(w, p, packed, lines, place, i);
        else NAME(make_task)(w, p, packed, lines, place, i);
    if (p->channel == 0 && p->end == w->depth) return; /* no other pass writes what this one does */
#pragma omp barrier
}

/* Results that no place of the kernel reaches. */
static void NAME(make_zeros)(const Way *w, REAL *to)
{
    const Axis *a = w->axis;
    int64_t n = w->samples * a[0].n * a[1].n * a[2].n;
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < n; i++) {
        int64_t at[AXES] = {i / a[2].n / a[1].n % a[0].n, i / a[2].n % a[1].n, i % a[2].n};
        REAL *y = to + sample_at(w->g, w->to, w->sample + i / a[2].n / a[1].n / a[0].n);
        for (int axis = 0; axis < AXES; axis++) y += (at[axis] * a[axis].apart + a[axis].first) * w->to->axis[axis];
        memset(y, 0, (size_t)(w->width * w->g->groups) * sizeof *y);
    }
}

#include "math/convolution_alone.h"

/* All threads call it. */
static void NAME(make_way)(Way w, REAL *to, const REAL *from, const REAL *weight)
{
    if (is_alone(w.g)) {
        NAME(make_alone)(w, to, from, weight);
        return;
    }
    w.taps = 1;
    for (int i = 0; i < AXES; i++) end_axis(&w.axis[i]), w.taps *= w.axis[i].taps;
    if (w.axis[0].n * w.axis[1].n * w.axis[2].n == 0) return;
    if (w.taps == 0) {
        NAME(make_zeros)(&w, to);
        return;
    }
    w.pairs = makes_pairs(&w);
    w.squares = makes_squares(&w);
    w.taps /= w.squares ? 9 : w.pairs ? 3 : 1;
    if (w.squares) w.lanes = most(NAME(WIDTH), least(2 * NAME(WIDTH), 64 / sizeof(REAL)));
    else w.lanes = w.pairs ? NAME(WIDTH) : lanes_that_fit(&w, NAME(WIDTH), sizeof(REAL));
    if (w.squares) cut_squares(&w, sizeof(REAL), omp_get_num_threads());
    else cut(&w, sizeof(REAL), omp_get_num_threads());
    for (int64_t i = 0; i < w.g->groups; i++)
        for (int64_t lane = 0; lane < w.width; lane += w.blocks * w.lanes)
            for (int64_t channel = 0; channel < w.depth; channel += w.chunks * CHANNELS) {
                NAME(Pass) p = {to + i * w.width, from + i * w.depth, weight + i * w.w_group, channel,
                                least(channel + w.chunks * CHANNELS, w.depth), lane,
                                least(lane + w.blocks * w.lanes, w.width)};
                NAME(make_pass)(&w, &p);
            }
}

/* The next two: all threads call them; samples from … to - 1. */
static void NAME(towards_y)(REAL *y, const REAL *x, const REAL *weight, const Lathe_convolution *g, int64_t from, int64_t to)
{
    int64_t C = g->C / g->groups, O = g->O / g->groups, K = kernel_places(g);
    Way w = {.g = g, .from = &g->x, .to = &g->y, .sample = from, .samples = to - from, .depth = C, .width = O,
             .w_from = K, .w_to = C * K, .w_group = O * C * K};
    int *list = lists_of_room();
    for (int i = 0; i < AXES; i++) {
        list = give_lists(&w.axis[i], list, g->K[i]);
        forward_axis(&w.axis[i], g, i);
    }
    NAME(make_way)(w, y, x, weight);
}

static void NAME(towards_x)(REAL *x, const REAL *y, const REAL *weight, const Lathe_convolution *g, int64_t from, int64_t to)
{
    int64_t C = g->C / g->groups, O = g->O / g->groups, K = kernel_places(g);
    Way w = {.g = g, .from = &g->y, .to = &g->x, .sample = from, .samples = to - from, .depth = O, .width = C,
             .w_from = C * K, .w_to = K, .w_group = O * C * K};
    int64_t phases[AXES] = {0}, n = g->stride[0] * g->stride[1] * g->stride[2];
    int *list = lists_of_room();
    for (int i = 0; i < AXES; i++) list = give_lists(&w.axis[i], list, g->K[i]);
    for (int64_t k = 0; k < n; k++) {
        phases[2] = k % g->stride[2], phases[1] = k / g->stride[2] % g->stride[1];
        phases[0] = k / g->stride[2] / g->stride[1];
        for (int i = 0; i < AXES; i++) backward_axis(&w.axis[i], g, i, phases[i]);
        NAME(make_way)(w, x, y, weight);
    }
}

void NAME(convolution)(REAL *y, const REAL *x, const REAL *weight, const Lathe_convolution *g)
{
    bool together = is_for_all(g);
#pragma omp parallel if (together)
    NAME(towards_y)(y, x, weight, g, 0, samples_of(g));
}

void NAME(convolution_input)(REAL *x, const REAL *y, const REAL *weight, const Lathe_convolution *g)
{
    bool together = is_for_all(g);
#pragma omp parallel if (together)
    NAME(towards_x)(x, y, weight, g, 0, samples_of(g));
}

/* A team of one: the threads of TEAM are at panels of their own. */
void NAME(convolution_samples)(REAL *y, const REAL *x, const REAL *weight, const Lathe_convolution *g, int from, int to)
{
#pragma omp parallel num_threads(1)
    NAME(towards_y)(y, x, weight, g, from, to);
}

void NAME(convolution_input_samples)(REAL *x, const REAL *y, const REAL *weight, const Lathe_convolution *g, int from, int to)
{
#pragma omp parallel num_threads(1)
    NAME(towards_x)(x, y, weight, g, from, to);
}

#include "math/convolution_weight.h"
