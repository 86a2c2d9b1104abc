/* convolution_pairs_back.h: the derivative towards the weight by pairs of results (math/convolution_pairs.h): for the
 * pair's gradients d0, d1 and neighbours x0 … x3, what a place of the other axes adds up is
 *
 *     m0 += (x0 - x2) d0   m1 += (x1 + x2) (d0 + d1)   m2 += (x2 - x1) (d0 - d1)   m3 += (x3 - x1) d1
 *
 * and its three weights are m0 + (m1 + m2) / 2, (m1 - m2) / 2, (m1 + m2) / 2 + m3.  Part of math/convolution.c that is
 * compiled for float and for double: REAL, NAME(x). */

enum { NAME(Y_PLANE) = MOST_RUN_PAIRS * 2 * NAME(WIDTH) }; /* numbers between two factors of y's pairs, at most */

static void NAME(copy_gradient)(REAL *to, const REAL *d0, const REAL *d1, int64_t width, int64_t lanes)
{
    for (int64_t c = 0; c < lanes; c++) {
        REAL first = c < width ? d0[c] : 0, second = c < width && d1 ? d1[c] : 0;
        to[c] = first;
        to[c + NAME(Y_PLANE)] = first + second;
        to[c + 2 * NAME(Y_PLANE)] = first - second;
        to[c + 3 * NAME(Y_PLANE)] = -second;
    }
}

/* The four factors of the pairs of y's lines: [4][pair][lanes]. */
static void NAME(copy_gradients)(const NAME(Weights) *t, int n)
{
    const int64_t *axis = t->g->y.axis;
    REAL *to = t->copied;
    for (int i = 0; i < n; i++) {
        const Line *l = &t->lines[i];
        const REAL *y = t->y + sample_at(t->g, &t->g->y, l->sample) + l->at[0] * axis[0] + l->at[1] * axis[1] +
                        l->at[2] * axis[2];
        for (int64_t k = 0; k < l->n; k += 2, y += 2 * axis[2], to += t->lanes) {
            const REAL *d1 = k + 1 < l->n ? y + axis[2] : NULL;
            if (t->width == 2 * NAME(WIDTH) && d1)
                NAME(copy_gradient)(to, y, y + axis[2], 2 * NAME(WIDTH), 2 * NAME(WIDTH));
            else if (t->width == NAME(WIDTH) && d1) NAME(copy_gradient)(to, y, y + axis[2], NAME(WIDTH), NAME(WIDTH));
            else NAME(copy_gradient)(to, y, d1, t->width, t->lanes);
        }
    }
}

/* The factors of a line of x, as one line of y reads it; lines beside each other read the same ones. */
typedef struct NAME(Row) {
    int64_t sample, plane, row, column;
    const REAL *at; /* [pair][16 channels] of the first factor; NULL: outside */
} NAME(Row);

static bool NAME(is_same_row)(const NAME(Row) *a, const NAME(Row) *b)
{
    return a->sample == b->sample && a->plane == b->plane && a->row == b->row && a->column == b->column;
}

/* rows[line][place of the other axes]; what a line before has is not made again. */
static void NAME(copy_lines_of_x)(const NAME(Weights) *t, int n, NAME(Row) *rows, REAL *room)
{
    const Lathe_convolution *g = t->g;
    int places = (int)(g->K[0] * g->K[1]);
    for (int i = 0; i < n * places; i++) {
        const Line *l = &t->lines[i / places];
        NAME(Row) r = {.sample = l->sample, .column = l->at[2] - g->before[2]};
        bool inside = reads(g, l, 0, i % places / g->K[1], &r.plane) & reads(g, l, 1, i % places % g->K[1], &r.row);
        for (int k = i >= places ? (i / places - 1) * places : 0; k < i && inside && !r.at; k++)
            if (NAME(is_same_row)(&rows[k], &r)) r.at = rows[k].at;
        if (inside && !r.at) {
            const REAL *x = t->x + sample_at(g, &g->x, l->sample) + r.plane * g->x.axis[0] + r.row * g->x.axis[1];
            Span s = {g->x.axis[2], g->X[2], r.column, parts_of(l->n, 2), CHANNELS, X_PLANE};
            NAME(copy_pairs)(room, x, s, t->deep);
            r.at = room;
            room += s.pairs * CHANNELS;
        }
        rows[i] = r;
    }
}

/* What the place reads of the first factors; neighbouring lines that lie one behind another are one stretch. */
static int NAME(paired_stretches)(const NAME(Weights) *t, int n, const NAME(Row) *rows, int place, int places)
{
    const REAL *y = t->copied;
    int count = 0;
    for (int i = 0; i < n; i++) {
        int64_t pairs = parts_of(t->lines[i].n, 2);
        const REAL *x = rows[i * places + place].at;
        NAME(Stretch) *last = count ? &t->stretches[count - 1] : NULL;
        bool behind = x && last && last->x + last->n * CHANNELS == x && last->y + last->n * t->lanes == y;
        if (behind) last->n += pairs;
        else if (x) t->stretches[count++] = (NAME(Stretch)){x, y, pairs};
        y += pairs * t->lanes;
    }
    return count;
}

/* Adds the products of a run of lines. */
static void NAME(add_pairs)(const NAME(Weights) *t, int n)
{
    int places = (int)(t->g->K[0] * t->g->K[1]);
    NAME(Row) *rows = (NAME(Row) *)(t->stretches + RUN);
    NAME(copy_gradients)(t, n);
    NAME(copy_lines_of_x)(t, n, rows, (REAL *)(rows + PAIRED_RUN * MOST_PAIRED));
    for (int k = 0; k < 4 * places; k++) {
        int count = NAME(paired_stretches)(t, n, rows, k % places, places);
        for (int i = 0; i < count; i++) {
            t->stretches[i].x += k / places * X_PLANE;
            t->stretches[i].y += k / places * NAME(Y_PLANE);
        }
        NAME(add_stretches)(t, t->sums + (k % places * 4 + k / places) * t->deep * t->lanes, count, CHANNELS);
    }
}

/* weight[o][c][k] from the sums of its place of the other axes, of which there are `places`. */
static void NAME(end_pairs)(const NAME(Weights) *t, REAL *weight)
{
    const Lathe_convolution *g = t->g;
    int64_t C = g->C / g->groups, places = g->K[0] * g->K[1], each = t->deep * t->lanes;
    for (int64_t i = 0; i < t->width * t->deep * places; i++) {
        int64_t o = i / places / t->deep, c = i / places % t->deep, k = i % places;
        const REAL *m = t->sums + 4 * k * each + c * t->lanes + o;
        REAL *to = weight + ((o * C + c) * places + k) * 3, both = (m[each] + m[2 * each]) / 2;
        to[0] = m[0] + both;
        to[1] = (m[each] - m[2 * each]) / 2;
        to[2] = both + m[3 * each];
    }
}
