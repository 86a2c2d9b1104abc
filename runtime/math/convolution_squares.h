/* convolution_squares.h: results in squares of two by two, where three neighbours are read along the last two axes: 16
 * products instead of 36.  Part of math/convolution.c that is compiled for float and for double: REAL, NAME(x).
 *
 * This is the scheme of math/convolution_pairs.h, applied again along the axis before.  Of four neighbouring lines,
 * four lines of factors are made, as there of four numbers; the weights likewise.  Line i of factors meets line i of
 * weights, which makes a line of sums, by pairs; two lines of results are sums of these four.  Squares begin at even
 * results along both axes.
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

/* The weights of one channel and one place of the first axis: to[i · apart + j · lanes] of line i, column j. */
static INLINE void NAME(square_weights)(const Way *w, REAL *to, int64_t apart, const REAL *from, int64_t width)
{
    const Axis *a = w->axis;
    NAME(Vector) given[3][3] = {0}, lines[4][3];
    for (int q = 0; q < 3; q++)
        for (int s = 0; s < 3; s++) {
            const REAL *at = from + a[1].place[q] * w->g->K[2] + a[2].place[s];
            for (int64_t l = 0; l < width; l++) given[q][s][l] = at[l * w->w_to];
        }
    UNROLL for (int s = 0; s < 3; s++) NAME(four_of_three)(&lines[0][s], 3, given[0][s], given[1][s], given[2][s]);
    UNROLL for (int i = 0; i < 4; i++)
    {
        NAME(Vector) four[4];
        NAME(four_of_three)(four, 1, lines[i][0], lines[i][1], lines[i][2]);
        UNROLL for (int j = 0; j < 4; j++) *(NAME(Vector) *)(to + i * apart + j * NAME(WIDTH)) = four[j];
    }
}

/* Weights of some channels of results, as [4][chunk][tap][channel][4][lanes]; lanes beyond `width` are 0. */
static void NAME(pack_squares)(const Way *w, REAL *to, const REAL *from, int64_t channel, int64_t end, int64_t width)
{
    const Axis *a = w->axis;
    int64_t apart = (end - channel) * w->taps * 4 * NAME(WIDTH), plane = w->g->K[1] * w->g->K[2];
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++)
            for (int64_t c = channel; c < least(channel + CHANNELS, end); c++, to += 4 * NAME(WIDTH))
                NAME(square_weights)(w, to, apart, from + a[0].place[p] * plane + c * w->w_from, width);
}

/* Two lines of results of four lines of sums: [4][columns][one vector]; right, down: from result to result. */
static INLINE void NAME(join_whole)(REAL *to, const REAL *sums, int64_t line, int64_t columns, int64_t right,
                                    int64_t down)
{
    for (int64_t i = 0; i < columns; i++, sums += NAME(WIDTH), to += right) {
        NAME(Vector) s0 = *(const NAME(Vector) *)sums, s1 = *(const NAME(Vector) *)(sums + line),
                     s2 = *(const NAME(Vector) *)(sums + 2 * line), s3 = *(const NAME(Vector) *)(sums + 3 * line);
        *(NAME(Vector) *)to = s0 + s1 + s2;
        *(NAME(Vector) *)(to + down) = s1 - s2 - s3;
    }
}

static NOINLINE void NAME(join_lines)(const Way *w, REAL *to, const REAL *sums, int64_t rows, int64_t columns,
                                      int64_t lanes, bool add)
{
    int64_t right = w->axis[2].apart * w->to->axis[2], down = w->axis[1].apart * w->to->axis[1];
    int64_t line = parts_of(columns, 2) * 2 * NAME(WIDTH);
    if (!add && rows == 2 && lanes == NAME(WIDTH)) {
        NAME(join_whole)(to, sums, line, columns, right, down);
        return;
    }
    for (int64_t i = 0; i < columns; i++, sums += NAME(WIDTH), to += right) {
        REAL whole[2][NAME(WIDTH)];
        NAME(join_whole)(whole[0], sums, line, 1, 0, NAME(WIDTH));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t l = 0; l < lanes; l++) to[r * down + l] = whole[r][l] + (add ? to[r * down + l] : 0);
    }
}

/* Some squares of a task, whose factors and sums stay in the first level of cache. */
typedef struct NAME(Block) {
    REAL *factors, *sums;
    Task at;                /* row, column, rows, columns of results */
    int64_t row, column;    /* in the task */
    NAME(Ahead) ahead;      /* of the next task */
    int64_t line, plane;    /* numbers from two rows to the next two; from one line of factors to the next */
} NAME(Block);

/* [chunk][tap of the first axis][4][two rows][two columns][4][16 channels] */
static void NAME(copy_block)(const Way *w, const NAME(Block) *b, const REAL *from, int64_t channel, int64_t end)
{
    const Axis *a = w->axis;
    const int64_t *axis = w->from->axis;
    Span s = {axis[2], a[2].extent, b->at.column + a[2].low, parts_of(b->at.columns, 2), 4 * CHANNELS, CHANNELS};
    REAL *to = b->factors;
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++, to += 4 * b->plane) {
            int64_t plane = b->at.plane * a[0].step + a[0].at[p], row = b->at.row + a[1].low;
            bool inside = plane >= 0 && plane < a[0].extent;
            for (int64_t r = 0; r < parts_of(b->at.rows, 2); r++, row += 2) {
                const REAL *rows[4];
                for (int64_t k = 0; k < 4; k++)
                    rows[k] = inside && row + k >= 0 && row + k < a[1].extent
                                  ? from + channel + plane * axis[0] + (row + k) * axis[1] : NULL;
                NAME(copy_squares)(to + r * b->line, rows, s, b->plane, least(CHANNELS, end - channel));
            }
        }
}

/* The results of a block, `lanes` channels from `to` on; given: the weights.  One line of factors is used for
 * all rows before the next, so that its weights stay in the cache. */
static void NAME(results_of_block)(const Way *w, const NAME(Pass) *p, const NAME(Block) *b, REAL *to,
                                   NAME(Tile) given, int64_t lanes)
{
    int64_t pairs = parts_of(b->at.rows, 2), across = parts_of(b->at.columns, 2), line = 2 * across * NAME(WIDTH);
    int64_t piece = parts_of(across, parts_of(across, MOST_PAIRS));
    NAME(Tile) tile = given;
    tile.apart = NAME(WIDTH), tile.add = false;
    for (int i = 0; i < 4; i++, tile.w += given.depth * given.taps * 4 * NAME(WIDTH))
        for (int64_t r = 0; r < pairs; r++) {
            int64_t asked = b->row + 2 * r + i / 2;
            if (p->lane == 0) NAME(ask_ahead)(w, p, &b->ahead, asked, b->column + i % 2 * across, across);
            tile.from = b->factors + i * b->plane + r * b->line;
            tile.to = b->sums + (r * 4 + i) * line;
            for (int64_t k = 0; k < across; k += piece) {
                NAME(some_pairs)(least(piece, across - k), &tile);
                tile.from += piece * 4 * CHANNELS;
                tile.to += 2 * piece * NAME(WIDTH);
            }
        }
    for (int64_t r = 0; r < pairs; r++, to += 2 * w->axis[1].apart * w->to->axis[1])
        NAME(join_lines)(w, to, b->sums + r * 4 * line, least(2, b->at.rows - 2 * r), b->at.columns, lanes, given.add);
}

/* One block of a task. */
static void NAME(make_block)(const Way *w, const NAME(Pass) *p, const NAME(Block) *b, const REAL *packed,
                             const int *place)
{
    int64_t depth = p->end - p->channel;
    NAME(Tile) tile = {.w = packed, .place = place, .taps = w->taps, .chunk = w->taps * 4 * b->plane, .depth = depth,
                       .add = p->channel > 0};
    NAME(copy_block)(w, b, p->from + sample_at(w->g, w->from, b->at.sample), p->channel, p->end);
    for (int64_t lane = p->lane; lane < p->lanes_end; lane += w->lanes) {
        REAL *to = p->to + first_result(w, &b->at) + lane;
        NAME(results_of_block)(w, p, b, to, tile, least(w->width - lane, NAME(WIDTH)));
        tile.w += depth * w->taps * 16 * NAME(WIDTH);
    }
}

static void NAME(make_squares)(const Way *w, const NAME(Pass) *p, const REAL *packed, REAL *room, const int *place,
                               int64_t number)
{
    const Task t = task_at(w, number);
    NAME(Block) b = {.factors = room, .line = w->line, .plane = w->read_rows / 4 * w->line, .at = t,
                     .ahead = NAME(read_by)(w, p, number + omp_get_num_threads())};
    b.sums = room + parts_of(p->end - p->channel, CHANNELS) * w->taps * 4 * b.plane;
    for (int64_t r = 0; r < t.rows; r += w->block_rows)
        for (int64_t c = 0; c < t.columns; c += w->block_columns) {
            b.row = r, b.column = c, b.at.row = t.row + r, b.at.column = t.column + c;
            b.at.rows = least(w->block_rows, t.rows - r), b.at.columns = least(w->block_columns, t.columns - c);
            NAME(make_block)(w, p, &b, packed, place);
        }
}
