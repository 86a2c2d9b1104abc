/* convolution_alone.h: convolutions of each channel alone (depthwise): a vector holds neighbouring channels.  Part of
 * math/convolution.c that is compiled for float and for double: REAL, NAME(x).
 *
 * A tile of results reads x where it lies, a vector for each place of the kernel; places outside x are left out.  The
 * last vector overlaps the one before it where channels are no multiple of the lanes; of fewer channels than a vector
 * has lanes, some lanes stay empty. */

/* Lines that the results of a line read, each with its weights: [place along the last axis][wide]. */
typedef struct NAME(Seen) {
    const REAL *x, *w;
} NAME(Seen);

/* Some channels of all results. */
typedef struct NAME(Alone) {
    const Way *way;
    REAL *to;
    const REAL *from, *w;
    int64_t channels, wide; /* wide: a multiple of the lanes */
    NAME(Seen) *seen;
    int lines;
} NAME(Alone);

static INLINE NAME(Vector) NAME(lanes_at)(const REAL *x, int64_t lanes)
{
    if (lanes == NAME(WIDTH)) return *(const NAME(Vector) *)x;
    NAME(Vector) v = {0};
    memcpy(&v, x, (size_t)lanes * sizeof *x);
    return v;
}

static INLINE void NAME(put_lanes)(REAL *x, NAME(Vector) v, int64_t lanes)
{
    if (lanes == NAME(WIDTH)) *(NAME(Vector) *)x = v;
    else memcpy(x, &v, (size_t)lanes * sizeof *x);
}

/* R results from `column` on, V vectors of channels; edge: some places are outside. */
static INLINE void NAME(tile_alone)(const int R, const int V, const bool edge, const int64_t lanes,
                                    const NAME(Alone) *t, REAL *to, int64_t column, int64_t channel)
{
    const Axis *a = &t->way->axis[2];
    int64_t pixel = t->way->from->axis[2], apart = a->apart * t->way->to->axis[2], step = a->step * pixel;
    NAME(Vector) sum[4][2] = {0};
    for (int i = 0; i < t->lines; i++)
        for (int s = 0; s < a->taps; s++) {
            int64_t at = column * a->step + a->at[s];
            if (edge && (at < 0 || at >= a->extent)) continue;
            const REAL *x = t->seen[i].x + at * pixel + channel, *w = t->seen[i].w + a->place[s] * t->wide + channel;
            UNROLL for (int v = 0; v < V; v++)
            {
                NAME(Vector) weight = *(const NAME(Vector) *)(w + v * NAME(WIDTH));
                UNROLL for (int r = 0; r < R; r++)
                    sum[r][v] = NAME(fused)(NAME(lanes_at)(x + r * step + v * NAME(WIDTH), lanes), weight, sum[r][v]);
            }
        }
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int v = 0; v < V; v++)
        NAME(put_lanes)(to + (column + r) * apart + channel + v * NAME(WIDTH), sum[r][v], lanes);
}

/* A line of results, V vectors of channels. */
static INLINE void NAME(columns_alone)(const int V, const int64_t lanes, const NAME(Alone) *t, REAL *to,
                                       int64_t channel)
{
    const Axis *a = &t->way->axis[2];
    int64_t inside = least(most(parts_of(-a->low, a->step), 0), a->n), n = 0;
    int64_t end = least(most(floor_divide(a->extent - a->low - a->span, a->step) + 1, inside), a->n);
    for (; n < inside; n++) NAME(tile_alone)(1, V, true, lanes, t, to, n, channel);
    for (; n + 4 <= end; n += 4) NAME(tile_alone)(4, V, false, lanes, t, to, n, channel);
    for (; n < end; n++) NAME(tile_alone)(1, V, false, lanes, t, to, n, channel);
    for (; n < a->n; n++) NAME(tile_alone)(1, V, true, lanes, t, to, n, channel);
}

static NOINLINE void NAME(two_vectors_alone)(const NAME(Alone) *t, REAL *to, int64_t channel)
{
    NAME(columns_alone)(2, NAME(WIDTH), t, to, channel);
}

static NOINLINE void NAME(vector_alone)(const NAME(Alone) *t, REAL *to, int64_t channel)
{
    NAME(columns_alone)(1, NAME(WIDTH), t, to, channel);
}

static NOINLINE void NAME(few_alone)(const NAME(Alone) *t, REAL *to)
{
    NAME(columns_alone)(1, t->channels, t, to, 0);
}

static void NAME(line_alone)(const NAME(Alone) *t, REAL *to)
{
    int64_t c = 0;
    if (t->channels < NAME(WIDTH)) {
        NAME(few_alone)(t, to);
        return;
    }
    for (; c + 2 * NAME(WIDTH) <= t->channels; c += 2 * NAME(WIDTH)) NAME(two_vectors_alone)(t, to, c);
    for (; c < t->channels; c += NAME(WIDTH)) NAME(vector_alone)(t, to, least(c, t->channels - NAME(WIDTH)));
}

/* What line `row` of a task's results reads. */
static void NAME(see_lines)(NAME(Alone) *t, const Task *task, int64_t row)
{
    const Way *w = t->way;
    const Axis *a = w->axis;
    const int64_t *K = w->g->K;
    const REAL *from = t->from + sample_at(w->g, w->from, task->sample);
    t->lines = 0;
    for (int p = 0; p < a[0].taps; p++)
        for (int q = 0; q < a[1].taps; q++) {
            int64_t plane = task->plane * a[0].step + a[0].at[p], line = row * a[1].step + a[1].at[q];
            if (plane < 0 || plane >= a[0].extent || line < 0 || line >= a[1].extent) continue;
            const REAL *weight = t->w + (a[0].place[p] * K[1] + a[1].place[q]) * K[2] * t->wide;
            t->seen[t->lines++] = (NAME(Seen)){from + plane * w->from->axis[0] + line * w->from->axis[1], weight};
        }
}

static void NAME(task_alone)(NAME(Alone) *t, int64_t number)
{
    const Way *w = t->way;
    const Task task = task_at(w, number);
    REAL *to = t->to + first_result(w, &task);
    for (int64_t r = 0; r < task.rows; r++, to += w->axis[1].apart * w->to->axis[1]) {
        NAME(see_lines)(t, &task, task.row + r);
        NAME(line_alone)(t, to);
    }
}

/* The weights of some channels, [place][wide], zeros beyond. */
static void NAME(pack_alone)(REAL *to, const REAL *from, int64_t places, int64_t channels, int64_t wide)
{
    for (int64_t k = 0; k < places; k++)
        for (int64_t c = 0; c < wide; c++) to[k * wide + c] = c < channels ? from[c * places + k] : 0;
}

/* All threads call it. */
static void NAME(make_alone)(Way w, REAL *to, const REAL *from, const REAL *weight)
{
    int64_t places = kernel_places(w.g), fitting = W_BYTES / (int64_t)sizeof(REAL) / places / NAME(WIDTH);
    REAL *packed = (REAL *)((char *)thread_room() + LISTS_BYTES);
    for (int i = 0; i < AXES; i++) end_axis(&w.axis[i]);
    if (w.axis[0].n * w.axis[1].n * w.axis[2].n == 0) return;
    w.columns = w.axis[2].n;
    w.rows = rows_for_tasks(&w, omp_get_num_threads());
    int64_t n = tasks_of(&w), most_channels = fitting * NAME(WIDTH);
    for (int64_t c = 0; c < w.g->groups; c += most_channels) {
        int64_t channels = least(most_channels, w.g->groups - c), wide = parts_of(channels, NAME(WIDTH)) * NAME(WIDTH);
        NAME(Alone) t = {.way = &w, .to = to + c, .from = from + c, .w = packed, .channels = channels, .wide = wide,
                         .seen = (NAME(Seen) *)(packed + W_BYTES / sizeof(REAL))};
        NAME(pack_alone)(packed, weight + c * places, places, channels, wide);
#pragma omp for schedule(dynamic) nowait
        for (int64_t i = 0; i < n; i++) NAME(task_alone)(&t, i);
    }
}

/* ---- towards the weight: sums over pixels, of a vector of channels */

typedef struct NAME(Alone_weight) {
    const Lathe_convolution *g;
    const REAL *x, *y; /* from the task's first channel on */
    REAL *sums;        /* [place][lanes] */
    int64_t lanes;
} NAME(Alone_weight);

/* A stretch of a line of y, and of the line of x that it meets at a place of the last axis. */
typedef struct NAME(Met) {
    const REAL *x, *y;
    int64_t next_x, next_y, place; /* from pixel to pixel, and from place to place */
} NAME(Met);

/* sum[T][U] += the products of U pixels from number j on */
static INLINE void NAME(pixels_alone)(const int T, const int U, const int64_t lanes, const NAME(Met) *m, int64_t j,
                                      NAME(Vector) (*sum)[4])
{
    UNROLL for (int u = 0; u < U; u++)
    {
        NAME(Vector) d = NAME(lanes_at)(m->y + (j + u) * m->next_y, lanes);
        UNROLL for (int i = 0; i < T; i++)
            sum[i][u] = NAME(fused)(NAME(lanes_at)(m->x + (j + u) * m->next_x + i * m->place, lanes), d, sum[i][u]);
    }
}

/* Adds the products of a line for T places of the last axis from s on: sums[T][lanes].  Where all of them are inside,
 * every fourth pixel has sums of its own, so that these do not wait for each other. */
static INLINE void NAME(places_alone)(const int T, const int64_t lanes, const NAME(Alone_weight) *t, const Line *l,
                                      const REAL *x, const REAL *y, int64_t s, REAL *sums)
{
    const Lathe_convolution *g = t->g;
    int64_t pixel = g->x.axis[2], from[4], to[4], inside = 0, end = l->n, j = 0;
    NAME(Vector) sum[4][4] = {0};
    NAME(Met) m = {x + (s * g->dilation[2] - g->before[2]) * pixel, y, g->stride[2] * pixel, g->y.axis[2],
                   g->dilation[2] * pixel};
    for (int i = 0; i < T; i++) {
        seen_by(g, l, s + i, &from[i], &to[i]);
        inside = most(inside, from[i]), end = least(end, to[i]);
    }
    for (; j < l->n; j++) {
        if (j >= inside)
            for (; j + 4 <= end; j += 4) NAME(pixels_alone)(T, 4, lanes, &m, j, sum);
        for (int i = 0; i < T && j < l->n; i++) {
            NAME(Met) one = m;
            one.x += i * m.place;
            if (j >= from[i] && j < to[i]) NAME(pixels_alone)(1, 1, lanes, &one, j, sum + i);
        }
    }
    UNROLL for (int i = 0; i < T; i++)
        *(NAME(Vector) *)(sums + i * NAME(WIDTH)) += (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
}

static INLINE void NAME(add_line_alone)(const int64_t lanes, const NAME(Alone_weight) *t, const Line *l)
{
    const Lathe_convolution *g = t->g;
    const int64_t *K = g->K;
    const REAL *y = t->y + sample_at(g, &g->y, l->sample) + l->at[0] * g->y.axis[0] + l->at[1] * g->y.axis[1];
    for (int64_t k = 0; k < K[0] * K[1]; k++) {
        int64_t plane, row;
        if (!reads(g, l, 0, k / K[1], &plane) || !reads(g, l, 1, k % K[1], &row)) continue;
        const REAL *x = t->x + sample_at(g, &g->x, l->sample) + plane * g->x.axis[0] + row * g->x.axis[1];
        REAL *sums = t->sums + k * K[2] * NAME(WIDTH);
        for (int64_t s = 0; s < K[2]; s += 4, sums += 4 * NAME(WIDTH))
            switch (least(K[2] - s, 4)) {
            case 1: NAME(places_alone)(1, lanes, t, l, x, y, s, sums); break;
            case 2: NAME(places_alone)(2, lanes, t, l, x, y, s, sums); break;
            case 3: NAME(places_alone)(3, lanes, t, l, x, y, s, sums); break;
            default: NAME(places_alone)(4, lanes, t, l, x, y, s, sums); break;
            }
    }
}

static NOINLINE void NAME(whole_line_alone)(const NAME(Alone_weight) *t, const Line *l)
{
    NAME(add_line_alone)(NAME(WIDTH), t, l);
}

static NOINLINE void NAME(few_of_line_alone)(const NAME(Alone_weight) *t, const Line *l)
{
    NAME(add_line_alone)(t->lanes, t, l);
}

/* weight[channel][place] of one part, a vector of channels. */
static void NAME(weight_alone)(REAL *weight, const REAL *x, const REAL *y, const Lathe_convolution *g, int64_t i)
{
    int64_t blocks = parts_of(g->groups, NAME(WIDTH)), part = i / blocks, places = kernel_places(g);
    int64_t c = most(least(i % blocks * NAME(WIDTH), g->groups - NAME(WIDTH)), 0);
    NAME(Alone_weight) t = {g, x + c, y + c, (REAL *)((char *)thread_room() + LISTS_BYTES), least(g->groups, NAME(WIDTH))};
    int64_t lines = samples_of(g) * g->Y[0] * g->Y[1], each = parts_of(lines, g->parts);
    memset(t.sums, 0, (size_t)(places * NAME(WIDTH)) * sizeof *t.sums);
    for (int64_t n = part * each; n < least((part + 1) * each, lines); n++) {
        Line l = {n / g->Y[1] / g->Y[0], {n / g->Y[1] % g->Y[0], n % g->Y[1], 0}, g->Y[2], 1};
        if (t.lanes == NAME(WIDTH)) NAME(whole_line_alone)(&t, &l);
        else NAME(few_of_line_alone)(&t, &l);
    }
    for (int64_t o = i % blocks * NAME(WIDTH) - c; o < t.lanes; o++)
        for (int64_t k = 0; k < places; k++)
            weight[(part * g->O + c + o) * places + k] = t.sums[k * NAME(WIDTH) + o];
}
