/* test_pack.c: windows and rows as computed by hand, and against what a naive packer does; lengths against sorting. */
#include "data/pack.h"
#include "sources.h"

enum { SEQ = 128 };

/* ------------------------------------------------------------------ by hand */

/* Documents of 10, 128, 129 and 659 tokens at 128.  659 = 5 · 128 + 19. */
static const int64_t document[4] = {10, 128, 129, 659};

static const struct {
    const char *what;
    Chunking how;
    int64_t chunks[4], last[4], dropped[4]; /* windows, length of the last, places in none */
} by_hand[] = {
    {"side by side", {SEQ, SEQ, 0, false}, {1, 1, 2, 6}, {10, 128, 1, 19}, {0, 0, 0, 0}},
    {"side by side, short ones dropped", {SEQ, SEQ, 0, true}, {0, 1, 1, 5}, {0, 128, 128, 128}, {10, 0, 1, 19}},
    {"next token", {SEQ, SEQ, 1, false}, {1, 1, 1, 6}, {9, 127, 128, 18}, {0, 0, 0, 0}},
    {"next token, short ones dropped", {SEQ, SEQ, 1, true}, {0, 0, 1, 5}, {0, 0, 128, 128}, {9, 127, 0, 18}},
    {"half overlap", {SEQ, SEQ / 2, 1, false}, {1, 1, 1, 10}, {9, 127, 128, 82}, {0, 0, 0, 0}},
    {"half overlap, short ones dropped", {SEQ, SEQ / 2, 1, true}, {0, 0, 1, 9}, {0, 0, 128, 128}, {9, 127, 0, 18}},
    {"every place", {SEQ, 1, 1, false}, {1, 1, 1, 531}, {9, 127, 128, 128}, {0, 0, 0, 0}},
};

static void check_by_hand(void)
{
    for (size_t k = 0; k < sizeof by_hand / sizeof *by_hand; k++)
        for (int i = 0; i < 4; i++) {
            int64_t n = count_chunks(&by_hand[k].how, document[i]);
            int64_t last = n ? chunk_at(&by_hand[k].how, document[i], n - 1).length : 0;
            expect(n == by_hand[k].chunks[i] && last == by_hand[k].last[i] &&
                       chunks_drop(&by_hand[k].how, document[i]) == by_hand[k].dropped[i],
                   "%s: a document of %lld: %lld windows, the last of %lld, %lld dropped", by_hand[k].what,
                   (long long)document[i], (long long)n, (long long)last,
                   (long long)chunks_drop(&by_hand[k].how, document[i]));
        }
}

/* The windows of "next token" packed: 922 places in nine pieces. */
static void check_rows_by_hand(void)
{
    static const int32_t piece[9] = {9, 127, 128, 128, 128, 128, 128, 128, 18};
    static const Slot next[9] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0},
                                 {5, 0, 0}, {6, 0, 0}, {7, 0, 0}, {8, 0, 0}};
    static const Slot first[9] = {{7, 18, 1}, {6, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 0, 0},
                                  {3, 0, 0},  {4, 0, 0}, {5, 0, 0}, {7, 0, 0}};
    Slot out[9];
    void *scratch = malloc((size_t)pack_scratch(9, SEQ));
    expect(pack_pieces(PACK_NEXT, piece, 9, SEQ, out, scratch) == 9 && !memcmp(out, next, sizeof out),
           "next-fit: nine rows");
    expect(pack_pieces(PACK_FIRST, piece, 9, SEQ, out, scratch) == 8 && !memcmp(out, first, sizeof out),
           "first-fit decreasing: eight rows");
    expect(pack_pieces(PACK_NONE, piece, 9, SEQ, out, scratch) == 9, "a row each");
    expect(pack_pieces(PACK_FIRST, piece, 0, SEQ, out, scratch) == 0, "no pieces");
    free(scratch);
}

/* ------------------------------------------------------------------ at random */

/* Every place of a document is in a window, in ceil(seq / stride) at most, and windows are what they say. */
static void check_windows(void)
{
    Chunking c = {.seq = 1 + below(40), .ahead = (int)below(2), .drop_short = below(2)};
    c.stride = 1 + below(c.seq);
    int64_t n = below(300), places = n > c.ahead ? n - c.ahead : 0, in[300] = {0}, none = 0;
    for (int64_t k = 0; k < count_chunks(&c, n); k++) {
        Chunk w = chunk_at(&c, n, k);
        expect(w.first == k * c.stride && w.length >= 1 && w.length <= c.seq && w.first + w.length <= places,
               "window %lld", (long long)k);
        expect(w.length == c.seq || (!c.drop_short && k == count_chunks(&c, n) - 1), "only the last is short");
        for (int64_t i = 0; i < w.length; i++) in[w.first + i]++;
    }
    for (int64_t i = 0; i < places; i++) {
        none += in[i] == 0;
        expect(in[i] <= (c.seq + c.stride - 1) / c.stride, "place %lld is in %lld windows", (long long)i,
               (long long)in[i]);
    }
    expect(none == chunks_drop(&c, n), "%lld places in no window, %lld dropped", (long long)none,
           (long long)chunks_drop(&c, n));
}

static void naive_next(const int32_t *length, int n, int64_t seq, Slot *out)
{
    int64_t used = seq, row = -1;
    for (int i = 0; i < n; i++) {
        if (used + length[i] > seq) row++, used = 0;
        int32_t segment = used ? out[i - 1].segment + 1 : 0;
        out[i] = (Slot){row, (int32_t)used, segment};
        used += length[i];
    }
}

/* The longest that is left, the first of its like, into the first row that has room. */
static void naive_first(const int32_t *length, int n, int64_t seq, Slot *out)
{
    int64_t used[200] = {0};
    int32_t in[200] = {0};
    bool done[200] = {0};
    for (int round = 0; round < n; round++) {
        int best = -1, row = 0;
        for (int i = 0; i < n; i++)
            if (!done[i] && (best < 0 || length[i] > length[best])) best = i;
        while (used[row] + length[best] > seq) row++;
        out[best] = (Slot){row, (int32_t)used[row], in[row]++};
        used[row] += length[best];
        done[best] = true;
    }
}

static void check_rows(void)
{
    int32_t length[200];
    Slot out[200], naive[200];
    int n = (int)below(200);
    int64_t seq = 1 + below(100), most = -1;
    bool first = below(2);
    for (int i = 0; i < n; i++) length[i] = (int32_t)(1 + below(below(2) ? seq : 1 + seq / 4));
    void *scratch = malloc((size_t)pack_scratch(n, seq));
    int64_t rows = pack_pieces(first ? PACK_FIRST : PACK_NEXT, length, n, seq, out, scratch);
    if (first) naive_first(length, n, seq, naive);
    else naive_next(length, n, seq, naive);
    for (int i = 0; i < n; i++) {
        most = naive[i].row > most ? naive[i].row : most;
        expect(out[i].row == naive[i].row && out[i].column == naive[i].column && out[i].segment == naive[i].segment,
               "piece %d of %d", i, n);
    }
    expect(rows == most + 1, "%lld rows, wanted %lld", (long long)rows, (long long)most + 1);
    free(scratch);
}

/* ------------------------------------------------------------------ lengths */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_lengths(void)
{
    int64_t x[1000], n = 1 + below(1000), sum = 0, range = below(2) ? 2048 : below(2) ? 100000 : INT64_MAX / 2048;
    Lengths *h = new_lengths();
    expect(length_count(h) == 0 && length_quantile(h, 0.5) == 0 && length_least(h) == 0, "nothing yet");
    for (int64_t i = 0; i < n; i++) add_length(h, x[i] = below(below(3) ? range : 50)), sum += x[i];
    qsort(x, (size_t)n, sizeof *x, by_value);
    expect(length_count(h) == n && length_sum(h) == sum && length_least(h) == x[0] && length_most(h) == x[n - 1],
           "count, sum, least, most");
    for (double q = 0; q <= 1; q += 0.05) {
        int64_t k = (int64_t)__builtin_ceil(q * (double)n), exact = x[k > 0 ? k - 1 : 0], got = length_quantile(h, q);
        expect(exact < 2048 ? got == exact : got <= exact && got >= exact - exact / 1024,
               "quantile %g of %lld: %lld, wanted %lld", q, (long long)n, (long long)got, (long long)exact);
    }
    free(h);
}

int main(void)
{
    check_by_hand();
    check_rows_by_hand();
    for (int i = 0; i < 3000; i++) check_windows(), check_rows();
    for (int i = 0; i < 100; i++) check_lengths();
    return finish();
}
