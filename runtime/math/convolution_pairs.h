/* convolution_pairs.h: results two by two, where three neighbours along the last axis are read: four products instead of
 * six.  Part of math/convolution.c that is compiled for float and for double: REAL, NAME(x).
 *
 * For neighbours x0 … x3, places w0 … w2 and the results y0, y1 (Winograd's F(2, 3); Lavin & Gray 2016, "Fast Algorithms
 * for Convolutional Neural Networks", section 4.1):
 *
 *     m0 = (x0 - x2) w0   m1 = (x1 + x2) (w0 + w1 + w2) / 2   m2 = (x2 - x1) (w0 - w1 + w2) / 2   m3 = (x1 - x3) w2
 *     y0 = m0 + m1 + m2   y1 = m1 - m2 - m3
 *
 * The sums over channels and over the places of the other axes are made of m0 … m3.  Pairs begin at even results, so
 * bits do not depend on how a call is cut.  Errors are up to twice those of plain sums. */

static INLINE void NAME(copy_pair)(REAL *RESTRICT to, const REAL *x0, const REAL *x1, const REAL *x2, const REAL *x3,
                                   int64_t factor, int64_t deep)
{
    for (int64_t c = 0; c < deep; c++) {
        to[c] = x0[c] - x2[c];
        to[c + factor] = x1[c] + x2[c];
        to[c + 2 * factor] = x2[c] - x1[c];
        to[c + 3 * factor] = x1[c] - x3[c];
    }
}

/* The four factors of each pair of a line, 16 channels each; from NULL: zeros. */
static void NAME(copy_pairs)(REAL *to, const REAL *from, Span s, int64_t deep)
{
    static const REAL zeros[CHANNELS];
    for (int64_t i = 0; i < s.pairs; i++, s.first += 2, to += s.pair) {
        if (from && s.first >= 0 && s.first + 3 < s.extent && deep == CHANNELS) {
            const REAL *x = from + s.first * s.apart;
            NAME(copy_pair)(to, x, x + s.apart, x + 2 * s.apart, x + 3 * s.apart, s.factor, CHANNELS);
            continue;
        }
        const REAL *x[4];
        for (int64_t k = 0, at = s.first; k < 4; k++, at++)
            x[k] = from && at >= 0 && at < s.extent ? from + at * s.apart : zeros;
        NAME(copy_pair)(to, x[0], x[1], x[2], x[3], s.factor, deep);
    }
}

/* Weights of some channels of results, as [chunk][tap][channel][4][lanes]; lanes beyond `width` are 0. */
static void NAME(pack_pairs)(const Way *w, REAL *to, const REAL *from, int64_t channel, int64_t end, int64_t width)
{
    const Axis *a = w->axis;
    const int64_t *K = w->g->K;
    enum { LANES_ = NAME(WIDTH) };
    for (; channel < end; channel += CHANNELS)
        for (int p = 0; p < a[0].taps; p++)
            for (int q = 0; q < a[1].taps; q++) {
                const REAL *at = from + (a[0].place[p] * K[1] + a[1].place[q]) * K[2];
                for (int64_t c = channel; c < least(channel + CHANNELS, end); c++, to += 4 * LANES_)
                    for (int64_t l = 0; l < LANES_; l++) {
                        const REAL *k = at + c * w->w_from + (l < width ? l : 0) * w->w_to;
                        REAL here = l < width, w0 = here * k[a[2].place[0]], w1 = here * k[a[2].place[1]],
                             w2 = here * k[a[2].place[2]];
                        to[l] = w0;
                        to[l + LANES_] = (w0 + w2 + w1) / 2;
                        to[l + 2 * LANES_] = (w0 + w2 - w1) / 2;
                        to[l + 3 * LANES_] = w2;
                    }
            }
}

/* P pairs of results, one vector wide. */
static INLINE void NAME(tile_of_pairs)(const int P, const NAME(Tile) *t)
{
    NAME(Vector) sum[6][4] = {0};
    const REAL *w = t->w, *from = t->from;
    for (int64_t d = 0; d < t->depth; d += CHANNELS, from += t->chunk)
        for (int64_t k = 0; k < t->taps; k++) {
            const REAL *x = from + t->place[k];
            for (int64_t c = least(CHANNELS, t->depth - d); c > 0; c--, x++, w += 4 * NAME(WIDTH))
                UNROLL for (int i = 0; i < 4; i++)
                {
                    NAME(Vector) factor = NAME(kept)(*(const NAME(Vector) *)(w + i * NAME(WIDTH)));
                    UNROLL for (int j = 0; j < P; j++)
                    {
                        NAME(Vector) m = x[(4 * j + i) * CHANNELS] - (NAME(Vector)){0};
                        sum[j][i] = NAME(fused)(m, factor, sum[j][i]);
                    }
                }
        }
    UNROLL for (int j = 0; j < P; j++)
    {
        NAME(Vector) *y0 = (NAME(Vector) *)(t->to + 2 * j * t->apart);
        NAME(Vector) *y1 = (NAME(Vector) *)(t->to + (2 * j + 1) * t->apart);
        NAME(Vector) first = sum[j][0] + sum[j][1] + sum[j][2], second = sum[j][1] - sum[j][2] - sum[j][3];
        if (t->add) first = *y0 + first, second = *y1 + second;
        *y0 = first;
        *y1 = second;
    }
}

static void NAME(some_pairs)(int64_t pairs, const NAME(Tile) *t)
{
    FOR_ROWS(pairs, if (R <= MOST_PAIRS) NAME(tile_of_pairs)(R, t))
}

/* One line of `columns` results of a task, `lanes` channels. */
static void NAME(line_of_pairs)(NAME(Tile) t, int64_t columns, int64_t lanes)
{
    int64_t pairs = parts_of(columns, 2), piece = parts_of(pairs, parts_of(pairs, MOST_PAIRS));
    for (int64_t i = 0; i < pairs; i += piece) {
        int64_t n = least(piece, pairs - i), results = least(2 * n, columns - 2 * i);
        REAL whole[2 * MOST_PAIRS * NAME(WIDTH)];
        bool all = lanes == NAME(WIDTH) && results == 2 * n;
        NAME(Tile) part = t;
        if (!all) NAME(to_whole)(&part, &t, whole, NAME(WIDTH), results, lanes);
        NAME(some_pairs)(n, &part);
        if (!all) NAME(from_whole)(&t, whole, NAME(WIDTH), results, lanes);
        t.from += piece * 4 * CHANNELS;
        t.to += 2 * piece * t.apart;
    }
}
