/* convolution_squares_back.h: the derivative towards the weight by squares of results (math/convolution_squares.h).
 *
 * This is the scheme of math/convolution_pairs_back.h, applied again along the axis before: the factors of two lines of
 * y are made as there those of two numbers.  Part of math/convolution.c that is compiled for float and for double: REAL,
 * NAME(x). */

/* Numbers between two factors of y's squares, at most. */
enum { NAME(Y_SQUARES) = RUN_SQUARES * 2 * NAME(WIDTH) };

/* Number i of the factors that two neighbours have. */
static INLINE NAME(Vector) NAME(factor_of_two)(const int i, NAME(Vector) d0, NAME(Vector) d1)
{
    if (i == 0) return d0;
    return i == 1 ? d0 + d1 : i == 2 ? d0 - d1 : 0 - d1;
}

/* Line i of the factors of a square of y, `lanes` of them; d[line][column]. */
static INLINE void NAME(factors_of_gradient)(const int i, REAL *to, const REAL *d[2][2], int64_t lanes)
{
    for (int64_t c = 0; c < lanes; c += NAME(WIDTH)) {
        NAME(Vector) e[2];
        UNROLL for (int k = 0; k < 2; k++)
            e[k] = NAME(factor_of_two)(i, *(const NAME(Vector) *)(d[0][k] + c), *(const NAME(Vector) *)(d[1][k] + c));
        UNROLL for (int j = 0; j < 4; j++)
            *(NAME(Vector) *)(to + j * NAME(Y_SQUARES) + c) = NAME(factor_of_two)(j, e[0], e[1]);
    }
}

static INLINE void NAME(factor_gradients)(const int i, const NAME(Weights) *t, const Line *l, REAL *to)
{
    const int64_t *axis = t->g->y.axis;
    const REAL *y = t->y + sample_at(t->g, &t->g->y, l->sample) + l->at[0] * axis[0] + l->at[1] * axis[1] +
                    l->at[2] * axis[2];
    for (int64_t k = 0; k < l->n; k += 2, y += 2 * axis[2], to += t->lanes) {
        REAL block[2][2][2 * NAME(WIDTH)];
        const REAL *d[2][2];
        bool whole = t->width == t->lanes && l->rows == 2 && k + 1 < l->n;
        UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 2; c++)
            d[r][c] = whole ? y + r * axis[1] + c * axis[2] : block[r][c];
        for (int b = 0; b < 4 && !whole; b++) {
            int64_t width = b / 2 < l->rows && k + b % 2 < l->n ? t->width : 0;
            for (int64_t c = 0; c < t->lanes; c++)
                block[b / 2][b % 2][c] = c < width ? y[b / 2 * axis[1] + b % 2 * axis[2] + c] : 0;
        }
        if (t->lanes == NAME(WIDTH)) NAME(factors_of_gradient)(i, to, d, NAME(WIDTH));
        else NAME(factors_of_gradient)(i, to, d, 2 * NAME(WIDTH));
    }
}

/* Line i of the factors of the squares of y's lines: [4][square][lanes]. */
static void NAME(copy_gradient_squares)(int i, const NAME(Weights) *t, int n)
{
    REAL *to = t->copied;
    for (int k = 0; k < n; to += parts_of(t->lines[k++].n, 2) * t->lanes)
        if (i == 0) NAME(factor_gradients)(0, t, &t->lines[k], to);
        else if (i == 1) NAME(factor_gradients)(1, t, &t->lines[k], to);
        else if (i == 2) NAME(factor_gradients)(2, t, &t->lines[k], to);
        else NAME(factor_gradients)(3, t, &t->lines[k], to);
}

/* Line i of the factors that place p of the first axis reads, `deep` channels from `channel` on:
 * [4][square][16 channels]. */
static void NAME(copy_squares_of_x)(int i, const NAME(Weights) *t, int n, int64_t p, int64_t channel, int64_t deep,
                                    REAL *to)
{
    const Lathe_convolution *g = t->g;
    for (const Line *l = t->lines; l < t->lines + n; l++) {
        int64_t plane, row;
        bool inside = reads(g, l, 0, p, &plane);
        const REAL *x = t->x + channel + sample_at(g, &g->x, l->sample) + plane * g->x.axis[0], *rows[4];
        for (int64_t k = 0; k < 4; k++) rows[k] = inside && reads(g, l, 1, k, &row) ? x + row * g->x.axis[1] : NULL;
        Span s = {g->x.axis[2], g->X[2], l->at[2] - g->before[2], parts_of(l->n, 2), CHANNELS, X_SQUARES};
        NAME(copy_line_of_squares)(i, to, rows, s, deep);
        to += s.pairs * CHANNELS;
    }
}

/* Asks for a quarter of what lines of squares read: a line of y, or one of x. */
static void NAME(ask_for_lines)(const NAME(Weights) *t, int quarter, const Line *lines, int n)
{
    const Lathe_convolution *g = t->g;
    const Lathe_pixels *of = quarter < 2 ? &g->y : &g->x;
    int64_t row, plane, channels = quarter < 2 ? t->width : t->deep, extent = quarter < 2 ? g->Y[2] : g->X[2];
    for (const Line *l = lines; l < lines + n; l++) {
        if (quarter < 2) plane = l->at[0], row = least(l->at[1] + quarter, g->Y[1] - 1);
        else if (!reads(g, l, 0, 0, &plane) || !reads(g, l, 1, quarter, &row)) continue;
        const REAL *from = (quarter < 2 ? t->y : t->x) + sample_at(g, of, l->sample);
        from += plane * of->axis[0] + row * of->axis[1];
        for (int64_t at = l->at[2], end = least(at + l->n, extent); at < end; at++)
            for (int64_t c = 0; c < channels; c += 64 / (int64_t)sizeof(REAL))
                __builtin_prefetch(from + at * of->axis[2] + c, 0, 2);
    }
}

/* Adds the products of a run of lines: sums [place of the first axis][16][deep][lanes].  One line of factors at a time
 * stays in the first level of cache. */
static void NAME(add_squares)(const NAME(Weights) *t, int n, const Line *ahead, int ahead_n)
{
    REAL *room = (REAL *)(t->stretches + RUN);
    int64_t squares = 0, K = t->g->K[0];
    for (int i = 0; i < n; i++) squares += parts_of(t->lines[i].n, 2);
    for (int i = 0; i < 4; i++) {
        NAME(ask_for_lines)(t, i, ahead, ahead_n);
        NAME(copy_gradient_squares)(i, t, n);
        for (int64_t k = 0; k < K * parts_of(t->deep, CHANNELS); k++) {
            int64_t p = k % K, channel = k / K * CHANNELS;
            NAME(Weights) some = *t;
            some.deep = least(CHANNELS, t->deep - channel);
            NAME(copy_squares_of_x)(i, t, n, p, channel, some.deep, room);
            for (int j = 0; j < 4; j++) {
                *t->stretches = (NAME(Stretch)){room + j * X_SQUARES, t->copied + j * NAME(Y_SQUARES), squares};
                REAL *sums = t->sums + ((p * 16 + 4 * i + j) * t->deep + channel) * t->lanes;
                NAME(add_stretches)(&some, sums, 1, CHANNELS);
            }
        }
    }
}

/* The sums of one part, from pixel `at` on. */
static void NAME(sum_squares)(const NAME(Weights) *t, int64_t at, int64_t end)
{
    Line *ahead = t->lines + RUN_SQUARES;
    int n = next_squares(t->g, t->lines, &at, end);
    while (n) {
        int more = next_squares(t->g, ahead, &at, end);
        NAME(add_squares)(t, n, ahead, more);
        memcpy(t->lines, ahead, (size_t)more * sizeof *ahead);
        n = more;
    }
}

/* Three weights of four sums. */
static INLINE void NAME(three_of_four)(NAME(Vector) *to, NAME(Vector) m0, NAME(Vector) m1, NAME(Vector) m2,
                                       NAME(Vector) m3)
{
    NAME(Vector) both = (m1 + m2) / 2;
    to[0] = m0 + both, to[1] = (m1 - m2) / 2, to[2] = both + m3;
}

/* The nine weights of one channel and place of the first axis from their 16 sums, which are `apart` numbers from each
 * other: to[o · down + k], one vector of channels o, of which `width` are the array's. */
static INLINE void NAME(weights_of_sums)(REAL *to, int64_t down, int64_t width, const REAL *sums, int64_t apart)
{
    NAME(Vector) m[16], columns[4][3], w[3][3];
    UNROLL for (int k = 0; k < 16; k++) m[k] = *(const NAME(Vector) *)(sums + k * apart);
    UNROLL for (int j = 0; j < 4; j++) NAME(three_of_four)(columns[j], m[j], m[4 + j], m[8 + j], m[12 + j]);
    UNROLL for (int i = 0; i < 3; i++)
        NAME(three_of_four)(w[i], columns[0][i], columns[1][i], columns[2][i], columns[3][i]);
    for (int64_t o = 0; o < width; o++, to += down)
        for (int k = 0; k < 9; k++) to[k] = LANE_OF(w[k / 3][k % 3], o);
}

/* weight[o][c][k] from the sums. */
static void NAME(end_squares)(const NAME(Weights) *t, REAL *weight)
{
    const Lathe_convolution *g = t->g;
    int64_t C = g->C / g->groups, places = g->K[0], each = t->deep * t->lanes;
    for (int64_t i = 0; i < t->deep * places; i++) {
        int64_t c = i / places, p = i % places;
        for (int64_t o = 0; o < t->width; o += NAME(WIDTH))
            NAME(weights_of_sums)(weight + ((o * C + c) * places + p) * 9, C * places * 9,
                                  least(NAME(WIDTH), t->width - o), t->sums + 16 * p * each + c * t->lanes + o, each);
    }
}
