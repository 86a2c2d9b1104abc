/* convolution_squares.h: results in squares of two by two, where three neighbours are read along the last two axes: 16
 * products instead of 36.  Part of math/convolution.c that is compiled for float and for double: REAL, NAME(x).
 *
 * This is the scheme of math/convolution_pairs.h, applied again along the axis before.  Of four neighbouring lines,
 * four lines of factors are made, as there of four numbers; the weights likewise.  Factor j of line i meets its weights
 * for all squares of a block, as a product of matrices: so a weight that is loaded serves many of them.  The results of a
 * square are sums of its 16 sums.  Squares begin at even results along both axes.
 * (Winograd's F(2 x 2, 3 x 3); Lavin & Gray 2016, section 4.1.) */

/* Number i of the factors that four neighbours have. */
static INLINE NAME(Vector) NAME(factor_of_four)(const int i, NAME(Vector) x0, NAME(Vector) x1, NAME(Vector) x2,
                                                NAME(Vector) x3)
{
    return i == 0 ? x0 - x2 : i == 1 ? x1 + x2 : i == 2 ? x2 - x1 : x1 - x3;
}

/* Line i of the factors of a square, whose neighbours are at[line][column], 16 channels each. */
static INLINE void NAME(factors_of_square)(const int i, REAL *to, const REAL *at[4][4], int64_t apart)
{
    for (int c = 0; c < CHANNELS; c += NAME(WIDTH)) {
        NAME(Vector) x[4];
        UNROLL for (int k = 0; k < 4; k++)
        {
            NAME(Vector) x0 = *(const NAME(Vector) *)(at[0][k] + c), x1 = *(const NAME(Vector) *)(at[1][k] + c),
                         x2 = *(const NAME(Vector) *)(at[2][k] + c), x3 = *(const NAME(Vector) *)(at[3][k] + c);
            x[k] = NAME(factor_of_four)(i, x0, x1, x2, x3);
        }
        UNROLL for (int j = 0; j < 4; j++)
            *(NAME(Vector) *)(to + j * apart + c) = NAME(factor_of_four)(j, x[0], x[1], x[2], x[3]);
    }
}

/* The neighbours of a square that is at an edge, or has fewer channels, which are copied to `block`. */
static void NAME(neighbours_at_edge)(const REAL *at[4][4], REAL (*block)[4][CHANNELS], const REAL *const *rows,
                                     const Span *s, int64_t deep)
{
    static const REAL zeros[CHANNELS];
    for (int r = 0; r < 4; r++)
        for (int64_t k = 0; k < 4; k++) {
            bool inside = rows[r] && s->first + k >= 0 && s->first + k < s->extent;
            at[r][k] = inside ? rows[r] + (s->first + k) * s->apart : zeros;
        }
    for (int i = 0; i < 16 && deep < CHANNELS; i++) {
        REAL *copy = block[i / 4][i % 4];
        for (int64_t c = 0; c < CHANNELS; c++) copy[c] = c < deep ? at[i / 4][i % 4][c] : 0;
        at[i / 4][i % 4] = copy;
    }
}

/* Lines i … end - 1 of the factors of a line of squares.  rows: its four lines of x, NULL: zeros; s.pair: from square
 * to square; s.factor: from factor to factor of a line; line: from line to line of them. */
static INLINE void NAME(factor_squares)(const int i, const int end, REAL *to, const REAL *const *rows, Span s,
                                        int64_t line, int64_t deep)
{
    bool whole = deep == CHANNELS && rows[0] && rows[1] && rows[2] && rows[3];
    for (int64_t k = 0; k < s.pairs; k++, s.first += 2, to += s.pair) {
        REAL block[4][4][CHANNELS];
        const REAL *at[4][4];
        if (whole && s.first >= 0 && s.first + 3 < s.extent)
            UNROLL for (int r = 0; r < 4; r++) UNROLL for (int c = 0; c < 4; c++)
                at[r][c] = rows[r] + (s.first + c) * s.apart;
        else NAME(neighbours_at_edge)(at, block, rows, &s, deep);
        UNROLL for (int n = i; n < end; n++) NAME(factors_of_square)(n, to + (n - i) * line, at, s.factor);
    }
}

static NOINLINE void NAME(copy_squares)(REAL *to, const REAL *const *rows, Span s, int64_t line, int64_t deep)
{
    NAME(factor_squares)(0, 4, to, rows, s, line, deep);
}

static NOINLINE void NAME(copy_line_of_squares)(int i, REAL *to, const REAL *const *rows, Span s, int64_t deep)
{
    if (i == 0) NAME(factor_squares)(0, 1, to, rows, s, 0, deep);
    else if (i == 1) NAME(factor_squares)(1, 2, to, rows, s, 0, deep);
    else if (i == 2) NAME(factor_squares)(2, 3, to, rows, s, 0, deep);
    else NAME(factor_squares)(3, 4, to, rows, s, 0, deep);
}

/* Three weights as four, lane by lane, `apart` vectors from each other. */
static INLINE void NAME(four_of_three)(NAME(Vector) *to, int apart, NAME(Vector) w0, NAME(Vector) w1, NAME(Vector) w2)
{
    to[0] = w0;
    to[apart] = (w0 + w2 + w1) / 2;
    to[2 * apart] = (w0 + w2 - w1) / 2;
    to[3 * apart] = w2;
}

/* A vector of the weights of one channel and one place of the first axis: factor j of line i at to[(4 i + j) · apart]. */
static INLINE void NAME(square_weights)(const Way *w, REAL *to, int64_t apart, const REAL *from, int64_t width)
{
    const Axis *a = w->axis;
    NAME(Vector) given[3][3] = {0}, lines[4][3];
    for (int q = 0; q < 3; q++)
        for (int s = 0; s < 3; s++) {
            const REAL *at = from + a[1].place[q] * w->g->K[2] + a[2].place[s];
            for (int64_t l = 0; l < width; l++) LANE_OF(given[q][s], l) = at[l * w->w_to];
        }
    UNROLL for (int s = 0; s < 3; s++) NAME(four_of_three)(&lines[0][s], 3, given[0][s], given[1][s], given[2][s]);
    UNROLL for (int i = 0; i < 4; i++)
    {
        NAME(Vector) four[4];
        NAME(four_of_three)(four, 1, lines[i][0], lines[i][1], lines[i][2]);
        UNROLL for (int j = 0; j < 4; j++) *(NAME(Vector) *)(to + (4 * i + j) * apart) = four[j];
    }
}

/* Weights of some channels of results, as [16][chunk][tap][channel][lanes]; lanes beyond `width` are 0. */
static void NAME(pack_squares)(const Way *w, REAL *to, const REAL *from, int64_t channel, int64_t end, int64_t lanes,
                               int64_t width)
{
    const Axis *a = w->axis;
    int64_t apart = (end - channel) * w->taps * lanes, plane = w->g->K[1] * w->g->K[2];
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++)
            for (int64_t c = channel; c < least(channel + CHANNELS, end); c++)
                for (int64_t l = 0; l < lanes; l += NAME(WIDTH), to += NAME(WIDTH))
                    NAME(square_weights)(w, to, apart, from + a[0].place[p] * plane + c * w->w_from + l * w->w_to,
                                         least(width - l, NAME(WIDTH)));
}

/* A vector of a square's results, of its sums, which are `apart` numbers from each other. */
static INLINE void NAME(join_square)(NAME(Vector) (*y)[2], const REAL *sums, int64_t apart)
{
    NAME(Vector) first[4], second[4];
    UNROLL for (int i = 0; i < 4; i++)
    {
        NAME(Vector) m[4];
        UNROLL for (int j = 0; j < 4; j++) m[j] = *(const NAME(Vector) *)(sums + (4 * i + j) * apart);
        first[i] = m[0] + m[1] + m[2];
        second[i] = m[1] - m[2] - m[3];
    }
    y[0][0] = first[0] + first[1] + first[2];
    y[0][1] = second[0] + second[1] + second[2];
    y[1][0] = first[1] - first[2] - first[3];
    y[1][1] = second[1] - second[2] - second[3];
}

/* The same where it has fewer rows, columns or lanes, or is added to what is there. */
static void NAME(put_square)(REAL *to, const NAME(Vector) (*y)[2], const Task *t, int64_t right, int64_t down,
                             int64_t lanes, bool add)
{
    for (int64_t r = 0; r < least(t->rows, 2); r++)
        for (int64_t c = 0; c < least(t->columns, 2); c++) {
            REAL *at = to + r * down + c * right;
            for (int64_t l = 0; l < lanes; l++) at[l] = LANE_OF(y[r][c], l) + (add ? at[l] : 0);
        }
}

/* The results of a line of squares, `lanes` channels.  t: rows and columns that there are. */
static NOINLINE void NAME(join_line)(const Way *w, REAL *to, const REAL *sums, int64_t apart, int64_t wide, Task t,
                                     int64_t lanes, bool add)
{
    int64_t right = w->axis[2].apart * w->to->axis[2], down = w->axis[1].apart * w->to->axis[1];
    for (; t.columns > 0; t.columns -= 2, to += 2 * right, sums += wide)
        for (int64_t l = 0; l < lanes; l += NAME(WIDTH)) {
            NAME(Vector) y[2][2];
            NAME(join_square)(y, sums + l, apart);
            if (add || t.rows < 2 || t.columns < 2 || lanes - l < NAME(WIDTH)) {
                NAME(put_square)(to + l, y, &t, right, down, least(lanes - l, NAME(WIDTH)), add);
                continue;
            }
            UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 2; c++)
                *(NAME(Vector) *)(to + l + r * down + c * right) = y[r][c];
        }
}

/* Some squares of a task, whose factors and sums stay in the first level of cache. */
typedef struct NAME(Block) {
    REAL *factors, *sums;
    Task at;                /* row, column, rows, columns of results */
    int64_t row, column;    /* in the task */
    NAME(Ahead) ahead;      /* of the next task */
    int64_t high, across;   /* squares */
    int64_t factor;         /* numbers from one factor of the squares to the next */
} NAME(Block);

/* [chunk][tap of the first axis][16][square][16 channels] */
static void NAME(copy_block)(const Way *w, const NAME(Block) *b, const REAL *from, int64_t channel, int64_t end)
{
    const Axis *a = w->axis;
    const int64_t *axis = w->from->axis;
    Span s = {axis[2], a[2].extent, b->at.column + a[2].low, b->across, CHANNELS, b->factor};
    REAL *to = b->factors;
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++, to += 16 * b->factor) {
            int64_t plane = b->at.plane * a[0].step + a[0].at[p], row = b->at.row + a[1].low;
            bool inside = plane >= 0 && plane < a[0].extent;
            for (int64_t r = 0; r < b->high; r++, row += 2) {
                const REAL *rows[4];
                for (int64_t k = 0; k < 4; k++)
                    rows[k] = inside && row + k >= 0 && row + k < a[1].extent
                                  ? from + channel + plane * axis[0] + (row + k) * axis[1] : NULL;
                NAME(copy_squares)(to + r * b->across * CHANNELS, rows, s, 4 * b->factor, least(CHANNELS, end - channel));
            }
        }
}

/* A quarter of what the next task's rows read that this block's rows are. */
static void NAME(ask_for_quarter)(const Way *w, const NAME(Pass) *p, const NAME(Block) *b, int i)
{
    for (int64_t r = 0; r < b->high; r++)
        NAME(ask_ahead)(w, p, &b->ahead, b->row + 2 * r + i / 2, b->column + i % 2 * b->across, b->across);
}

/* The sums of a block's squares, [16][square][wide]. */
static void NAME(sums_of_block)(const Way *w, const NAME(Pass) *p, const NAME(Block) *b, NAME(Tile) tile, int64_t wide)
{
    bool two = wide > NAME(WIDTH);
    int64_t n = b->high * b->across, piece = parts_of(n, parts_of(n, two ? ROWS_OF_2 : ROWS_OF_1));
    for (int k = 0; k < 16; k++, tile.w += tile.depth * tile.taps * wide) {
        if (k % 4 == 0 && p->lane == 0) NAME(ask_for_quarter)(w, p, b, k / 4);
        for (int64_t i = 0; i < n; i += piece) {
            tile.from = b->factors + k * b->factor + i * CHANNELS;
            tile.to = b->sums + (k * n + i) * wide;
            if (two) NAME(results_by_2)(least(piece, n - i), &tile);
            else NAME(results_by_1)(least(piece, n - i), &tile);
        }
    }
}

/* One block of a task. */
static void NAME(make_block)(const Way *w, const NAME(Pass) *p, const NAME(Block) *b, const REAL *packed,
                             const int *place)
{
    int64_t depth = p->end - p->channel, n = b->high * b->across;
    NAME(Tile) tile = {.w = packed, .place = place, .taps = w->taps, .chunk = w->taps * 16 * b->factor, .depth = depth};
    NAME(copy_block)(w, b, p->from + sample_at(w->g, w->from, b->at.sample), p->channel, p->end);
    for (int64_t lane = p->lane; lane < p->lanes_end; lane += w->lanes) {
        int64_t wide = tile.apart = NAME(lanes_of)(w, lane);
        REAL *to = p->to + first_result(w, &b->at) + lane;
        NAME(sums_of_block)(w, p, b, tile, wide);
        for (int64_t r = 0; r < b->high; r++, to += 2 * w->axis[1].apart * w->to->axis[1]) {
            Task line = {.rows = b->at.rows - 2 * r, .columns = b->at.columns};
            NAME(join_line)(w, to, b->sums + r * b->across * wide, n * wide, wide, line, least(w->width - lane, wide),
                            p->channel > 0);
        }
        tile.w += depth * w->taps * 16 * wide;
    }
}

static void NAME(make_squares)(const Way *w, const NAME(Pass) *p, const REAL *packed, REAL *room, const int *place,
                               int64_t number)
{
    const Task t = task_at(w, number);
    NAME(Block) b = {.factors = room, .factor = w->block_rows / 2 * (w->block_columns / 2) * CHANNELS, .at = t,
                     .ahead = NAME(read_by)(w, p, number + omp_get_num_threads())};
    b.sums = room + parts_of(p->end - p->channel, CHANNELS) * w->taps * 16 * b.factor;
    for (int64_t r = 0; r < t.rows; r += w->block_rows)
        for (int64_t c = 0; c < t.columns; c += w->block_columns) {
            b.row = r, b.column = c, b.at.row = t.row + r, b.at.column = t.column + c;
            b.at.rows = least(w->block_rows, t.rows - r), b.at.columns = least(w->block_columns, t.columns - c);
            b.high = parts_of(b.at.rows, 2), b.across = parts_of(b.at.columns, 2);
            NAME(make_block)(w, p, &b, packed, place);
        }
}
