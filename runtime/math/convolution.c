/* convolution.c: convolutions of generated code, and their derivatives; math/convolution.h defines them.
 *
 * A result is a sum over the kernel's places and the channels.  A tile of up to 16 neighbouring results stays in
 * registers while that sum runs.  Lanes are the result's channels, so what is read comes a number at a time and is
 * never unfolded: the rows that a task reads are copied once to the thread's room, zeros around them, in blocks of 16
 * channels, so that neighbours are a constant apart whatever the stride.  The derivative towards x is that of y again
 * with x and y exchanged: results whose index leaves the same rest by the stride read neighbours.  Towards w, the tile
 * is 16 input channels, and the sum runs over pixels.
 *
 * Elements do not depend on how a call is cut, but for the channels of a pass where results are made by pairs: these
 * follow from extents alone.  So threads may cut a call by their number. */
#include "lathe_rt.h"
#include "math/batch.h"
#include "math/engine.h"
#include "math/inline.h"
#include "threads/threads.h"

#define UNROLL _Pragma("GCC unroll 16")

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }
static int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

enum {
    AXES = LATHE_CONVOLVED,
    CHANNELS = 16,    /* of a block */
    PAIRED_RUN = 128, /* the same by pairs, for so many places of the other axes at most */
    MOST_PAIRED = 9,
    SQUARED_DEPTH = 128,                               /* channels of a pass by squares, at most */
    SQUARES = 16,                                      /* of a block */
    RUN_SQUARES = 32,                                  /* of a run */
    X_SQUARES = RUN_SQUARES * CHANNELS,                /* numbers between two factors of x's squares */
    MOST_RUN_PAIRS = 96,                               /* of a run: lines of three pixels have two pairs each */
    X_PLANE = MOST_RUN_PAIRS * MOST_PAIRED * CHANNELS, /* numbers between two factors of x's pairs */
    RUN = 256, /* pixels whose products towards w are summed before they are added to the sum */
    LISTS_BYTES = 16 * LATHE_CONVOLVED_PLACES, /* of the room: where taps are, then weights, then what is read */
    W_BYTES = LATHE_CONVOLVED_WEIGHTS,         /* in the second level of cache */
    ENOUGH = 4,                                /* tasks for each thread */
    FITTING = 256 << 10,                       /* bytes of a task's rows, in the second level of cache */
    TASK_FLOPS = 1000000                       /* a smaller call is not worth waking threads */
};

/* The offset of the index-th sample of the batch. */
static int64_t sample_at(const Lathe_convolution *g, const Lathe_pixels *x, int64_t index)
{
    return sample_offset(g->nbatch, g->batch, x->batch, index);
}

static int64_t samples_of(const Lathe_convolution *g) { return samples_in(g->nbatch, g->batch); }

static int64_t kernel_places(const Lathe_convolution *g) { return g->K[0] * g->K[1] * g->K[2]; }

/* Does each channel of y read the one of x that has its number? */
static bool is_alone(const Lathe_convolution *g) { return g->groups == g->C && g->groups == g->O; }

/* Is a call worth waking all threads, and are they free? */
static bool is_for_all(const Lathe_convolution *g)
{
    double pixels = (double)(samples_of(g) * g->Y[0] * g->Y[1] * g->Y[2]);
    double flops = 2 * pixels * (double)(g->O * (g->C / g->groups) * kernel_places(g));
    return flops > TASK_FLOPS && !omp_in_parallel();
}

/* Along one axis, results number j · apart + first, j < n, read element j · step + at[i] and place[i] of the kernel. */
typedef struct Axis {
    int64_t n, first, apart, step, extent; /* extent: of what is read; beyond it are zeros */
    int64_t low, span;                     /* the least at[], and how far they reach */
    int taps;
    int *at, *place;
} Axis;

/* From x, results y: every place of the kernel is read. */
static void forward_axis(Axis *a, const Lathe_convolution *g, int i)
{
    a->n = g->Y[i], a->first = 0, a->apart = 1, a->step = g->stride[i], a->extent = g->X[i];
    a->taps = (int)g->K[i];
    for (int k = 0; k < a->taps; k++) {
        a->place[k] = k;
        a->at[k] = (int)(k * g->dilation[i] - g->before[i]);
    }
}

/* From y, results x whose index leaves the rest `first`: x[i] has y[j] at place k if i = j · stride + k · dilation -
 * before. */
static void backward_axis(Axis *a, const Lathe_convolution *g, int i, int64_t first)
{
    int64_t stride = g->stride[i];
    a->n = first < g->X[i] ? parts_of(g->X[i] - first, stride) : 0;
    a->first = first, a->apart = stride, a->step = 1, a->extent = g->Y[i];
    a->taps = 0;
    for (int64_t k = g->K[i] - 1; k >= 0; k--) {
        int64_t from = first + g->before[i] - k * g->dilation[i];
        if (from != floor_divide(from, stride) * stride) continue;
        a->place[a->taps] = (int)k;
        a->at[a->taps++] = (int)floor_divide(from, stride);
    }
}

static void end_axis(Axis *a)
{
    int64_t high = a->taps ? a->at[0] : 0;
    a->low = high;
    for (int i = 1; i < a->taps; i++) a->low = least(a->low, a->at[i]), high = most(high, a->at[i]);
    a->span = high - a->low + 1;
}

/* What a line of pairs is made of: pixels from `first` on, `apart` numbers from each other, of which there are
 * `extent`; and how far the pairs, and their four factors, are from each other. */
typedef struct Span {
    int64_t apart, extent, first, pairs, pair, factor;
} Span;

/* How results are made: from which array, by which weights, in which steps. */
typedef struct Way {
    const Lathe_convolution *g;
    const Lathe_pixels *from, *to;
    int64_t sample, samples;       /* of the batch, the first and how many */
    int64_t depth, width;          /* channels of a group that are read, and that results have */
    int64_t w_from, w_to, w_group; /* strides of the weight along those, and from group to group */
    Axis axis[AXES];
    bool pairs, squares;               /* math/convolution_pairs.h, math/convolution_squares.h: also pairs */
    int64_t taps, lanes, chunks;       /* lanes: of a block of results; chunks: blocks of channels of a pass */
    int64_t blocks;                    /* of results' channels, in a pass */
    int64_t rows, columns;             /* results of a task along the last two axes */
    int64_t block_rows, block_columns; /* by squares: of results whose factors are made together */
    int64_t read_rows, read_columns;   /* what they read, columns for each rest by the step */
    int64_t line;                      /* numbers of a line that is read, one block of channels */
} Way;

static bool reads_neighbours(const Axis *a)
{
    return a->taps == 3 && a->step == 1 && a->n > 1 && a->at[1] == a->at[0] + 1 && a->at[2] == a->at[0] + 2;
}

/* Are results made two by two, or in squares?  Decided by extents alone, since it changes bits. */
static bool makes_pairs(const Way *w)
{
    const Axis *a = w->axis;
    int64_t weights = a[0].taps * a[1].taps * least(w->depth, CHANNELS) * 4;
    return reads_neighbours(&a[2]) && w->depth >= CHANNELS / 2 && weights * 64 <= W_BYTES;
}

static bool makes_squares(const Way *w)
{
    return w->pairs && reads_neighbours(&w->axis[1]) && w->axis[0].taps <= MOST_PAIRED / 3;
}

static int64_t line_length(const Way *w, int64_t columns)
{
    const Axis *a = &w->axis[2];
    if (w->pairs) return parts_of(columns, 2) * 4 * CHANNELS;
    return a->step * (columns + (a->span - 1) / a->step) * CHANNELS;
}

static int64_t room_for_rows(const Way *w, int64_t rows, int64_t columns, int64_t chunks)
{
    const Axis *a = w->axis;
    return chunks * a[0].taps * ((rows - 1) * a[1].step + a[1].span) * line_length(w, columns);
}

/* Channels whose weights fit, for some lanes.  Of pairs, sums are added up in passes: the same number everywhere. */
static int64_t channels_that_fit(const Way *w, int64_t lanes, int64_t size)
{
    if (w->squares) return least(W_BYTES / (64 * 16 * w->taps), SQUARED_DEPTH);
    return w->pairs ? W_BYTES / (64 * 4 * w->taps) : W_BYTES / size / (w->taps * lanes);
}

/* How many weights a channel and lane have for a tap. */
static int64_t factors_of(const Way *w) { return w->squares ? 16 : w->pairs ? 4 : 1; }

static int64_t half_of(int64_t columns) { return parts_of(parts_of(columns, 2), 2) * 2; }

/* Channels of a pass, and blocks of lanes whose weights fit with them. */
static void cut_channels(Way *w, int64_t size)
{
    w->chunks = most(least(parts_of(w->depth, CHANNELS), channels_that_fit(w, w->lanes, size) / CHANNELS), 1);
}

static void cut_lanes(Way *w, int64_t size)
{
    int64_t deep = least(w->chunks * CHANNELS, w->depth);
    w->blocks = most(W_BYTES / size / (deep * w->taps * w->lanes * factors_of(w)), 1);
}

/* Rows of a task, at most: so few that there are enough tasks. */
static int64_t rows_for_tasks(const Way *w, int64_t threads)
{
    const Axis *a = w->axis;
    int64_t tasks = w->samples * a[0].n * parts_of(a[2].n, w->columns);
    return most(a[1].n / most(parts_of(ENOUGH * threads, tasks), 1), 1);
}

/* Cuts the results so that all that a task needs fits: as many channels at once as possible, then as many rows. */
static void cut(Way *w, int64_t size, int64_t threads)
{
    const Axis *a = w->axis;
    int64_t room = (LATHE_ROOM_BYTES - W_BYTES - LISTS_BYTES) / size;
    cut_channels(w, size);
    w->columns = a[2].n, w->rows = 1;
    while (room_for_rows(w, 1, w->columns, w->chunks) * (8 / size) > room) /* as if of doubles: chunks of both alike */
        if (w->columns > 4 * CHANNELS || w->chunks == 1) w->columns = half_of(w->columns);
        else w->chunks = parts_of(w->chunks, 2);
    cut_lanes(w, size);
    int64_t lines = w->samples * a[0].n;
    while (a[1].n == 1 && w->columns > 8 * CHANNELS && lines * parts_of(a[2].n, w->columns) < ENOUGH * threads)
        w->columns = half_of(w->columns);
    int64_t highest = rows_for_tasks(w, threads);
    room = least(room, FITTING / size);
    while (w->rows < highest && room_for_rows(w, w->rows + 1, w->columns, w->chunks) <= room) w->rows++;
    w->rows = parts_of(a[1].n, parts_of(a[1].n, w->rows));
    w->line = line_length(w, w->columns);
    w->read_rows = (w->rows - 1) * a[1].step + a[1].span;
    w->read_columns = w->columns + (a[2].span - 1) / a[2].step;
}

/* The same by squares.  A task makes the factors of a few squares at a time, which stay in the first level of cache. */
static void cut_squares(Way *w, int64_t size, int64_t threads)
{
    const Axis *a = w->axis;
    cut_channels(w, size);
    cut_lanes(w, size);
    int64_t across = least(parts_of(a[2].n, 2), SQUARES), high = parts_of(a[1].n, 2);
    w->block_columns = 2 * across, w->block_rows = 2 * least(SQUARES / across, high);
    w->line = line_length(w, w->block_columns);
    w->read_rows = 2 * w->block_rows; /* so that a tap's rows are as long as its 16 factors */
    w->columns = a[2].n;
    int64_t fitting = FITTING / size / (w->columns * w->chunks * CHANNELS),
            rows = least(fitting, rows_for_tasks(w, threads));
    w->rows = most(rows / w->block_rows, 1) * w->block_rows;
}

/* Lanes of a block: two vectors, or one where the weights of 16 channels would not fit. */
static int64_t lanes_for(int64_t taps, int64_t depth, int64_t width, int64_t vector, int64_t size)
{
    bool two = width > vector && taps * least(depth, CHANNELS) * 2 * vector * size <= W_BYTES;
    return two ? 2 * vector : vector;
}

static int64_t lanes_that_fit(const Way *w, int64_t vector, int64_t size)
{
    return lanes_for(w->taps, w->depth, w->width, vector, size);
}

static int64_t weight_lanes(const Lathe_convolution *g, int64_t vector, int64_t size)
{
    return lanes_for(kernel_places(g), g->C / g->groups, g->O / g->groups, vector, size);
}

/* Behind where taps are, in the thread's room. */
static int *lists_of_room(void) { return (int *)thread_room() + LATHE_CONVOLVED_PLACES; }

static int *give_lists(Axis *a, int *list, int64_t taps)
{
    a->at = list, a->place = list + taps;
    return list + 2 * taps;
}

/* Some lines of results, and what is read for them, of one sample. */
typedef struct Task {
    int64_t sample, plane, row, column, rows, columns;
} Task;

static int64_t tasks_of(const Way *w)
{
    const Axis *a = w->axis;
    return w->samples * a[0].n * parts_of(a[1].n, w->rows) * parts_of(a[2].n, w->columns);
}

static Task task_at(const Way *w, int64_t i)
{
    const Axis *a = w->axis;
    int64_t across = parts_of(a[2].n, w->columns), down = parts_of(a[1].n, w->rows);
    Task t = {.column = i % across * w->columns, .row = i / across % down * w->rows};
    t.plane = i / across / down % a[0].n;
    t.sample = w->sample + i / across / down / a[0].n;
    t.columns = least(w->columns, a[2].n - t.column);
    t.rows = least(w->rows, a[1].n - t.row);
    return t;
}

/* Where the first of them lies. */
static int64_t first_result(const Way *w, const Task *t)
{
    int64_t at = sample_at(w->g, w->to, t->sample), first[AXES] = {t->plane, t->row, t->column};
    for (int i = 0; i < AXES; i++) at += (first[i] * w->axis[i].apart + w->axis[i].first) * w->to->axis[i];
    return at;
}

/* ---- towards w: pixels of y, a line or a part of one */

typedef struct Line {
    int64_t sample, at[AXES]; /* of its first pixel */
    int64_t n;
    int rows; /* by squares: 2, or 1 at an odd end */
} Line;

/* Is the derivative towards w made by pairs? */
static bool pairs_of_weights(const Lathe_convolution *g)
{
    bool neighbours = g->K[2] == 3 && g->stride[2] == 1 && g->dilation[2] == 1 && g->Y[2] > 1;
    return neighbours && g->C / g->groups >= CHANNELS / 2 && g->K[0] * g->K[1] <= MOST_PAIRED;
}

static bool squares_of_weights(const Lathe_convolution *g)
{
    bool neighbours = g->K[1] == 3 && g->stride[1] == 1 && g->dilation[1] == 1 && g->Y[1] > 1;
    return pairs_of_weights(g) && neighbours;
}

/* Input channels of a task. */
static int64_t depth_of_task(const Lathe_convolution *g) { return squares_of_weights(g) ? 2 * CHANNELS : CHANNELS; }

/* The range of its pixels that read x at place k along the last axis. */
static void seen_by(const Lathe_convolution *g, const Line *l, int64_t k, int64_t *from, int64_t *to)
{
    int64_t first = l->at[2] * g->stride[2] + k * g->dilation[2] - g->before[2], step = g->stride[2];
    *from = first >= 0 ? 0 : parts_of(-first, step);
    *to = first >= g->X[2] ? 0 : least(l->n, parts_of(g->X[2] - first, step));
}

/* Where places k0, k1 read along the axes before; false: outside. */
static bool reads(const Lathe_convolution *g, const Line *l, int axis, int64_t k, int64_t *at)
{
    *at = l->at[axis] * g->stride[axis] + k * g->dilation[axis] - g->before[axis];
    return *at >= 0 && *at < g->X[axis];
}

/* The next lines of y from pixel `*at` on, at most `run` pixels together, an even number; short lines are whole.  `*at`
 * becomes the pixel behind them. */
static int next_lines(const Lathe_convolution *g, Line *lines, int64_t *at, int64_t end, int64_t run)
{
    int n = 0;
    for (int64_t pixels = 0; *at < end && pixels < run - 1;) {
        int64_t line = *at / g->Y[2], column = *at % g->Y[2], left = g->Y[2] - column;
        if (n && left > run - pixels) break;
        int64_t take = least(left, (run - pixels) / 2 * 2);
        lines[n++] = (Line){line / g->Y[1] / g->Y[0], {line / g->Y[1] % g->Y[0], line % g->Y[1], column}, take, 1};
        pixels += take;
        *at += take;
    }
    return n;
}

/* The same by squares: lines two by two, whose pixels come with those of the first. */
static int next_squares(const Lathe_convolution *g, Line *lines, int64_t *at, int64_t end)
{
    int n = 0;
    for (int64_t squares = 0, across = g->Y[2]; *at < end && squares < RUN_SQUARES;) {
        int64_t line = *at / across, column = *at % across, row = line % g->Y[1];
        int64_t left = across - column, take = least(left, 2 * (RUN_SQUARES - squares));
        if (n && take < left) break;
        int rows = row % 2 == 0 && row + 1 < g->Y[1] && (line + 1) * across < end ? 2 : 1;
        lines[n++] = (Line){line / g->Y[1] / g->Y[0], {line / g->Y[1] % g->Y[0], row, column}, take, rows};
        squares += parts_of(take, 2);
        *at += take + (take == left ? (rows - 1) * across : 0);
    }
    return n;
}

#define REAL     float
#define NAME(x)  x##_f32
#define IS_FLOAT 1
#include "math/vector.h"
#include "math/convolution_real.h"
#undef REAL
#undef NAME
#undef IS_FLOAT
#define REAL     double
#define NAME(x)  x##_f64
#define IS_FLOAT 0
#include "math/vector.h"
#include "math/convolution_real.h"
