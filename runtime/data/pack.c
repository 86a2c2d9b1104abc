/* pack.c: cuts documents into windows, and packs pieces into rows: functions of lengths alone. */
#include "base/words.h"
#include "data/pack.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ windows */

static int64_t places_of(const Chunking *c, int64_t n) { return n > c->ahead ? n - c->ahead : 0; }

/* The number of full windows, and whether positions remain after the last. */
static int64_t full_windows(const Chunking *c, int64_t places)
{
    return places < c->seq ? 0 : (places - c->seq) / c->stride + 1;
}

static bool short_one(const Chunking *c, int64_t places)
{
    int64_t full = full_windows(c, places);
    return places > (full ? (full - 1) * c->stride + c->seq : 0);
}

int64_t count_chunks(const Chunking *c, int64_t n)
{
    int64_t places = places_of(c, n);
    bug_if(c->stride < 1 || c->stride > c->seq);
    return full_windows(c, places) + (short_one(c, places) && !c->drop_short);
}

Chunk chunk_at(const Chunking *c, int64_t n, int64_t k)
{
    int64_t left = places_of(c, n) - k * c->stride;
    bug_if(left < 1);
    return (Chunk){.first = k * c->stride, .length = left < c->seq ? left : c->seq};
}

int64_t chunks_drop(const Chunking *c, int64_t n)
{
    int64_t places = places_of(c, n), full = full_windows(c, places);
    return c->drop_short ? places - (full ? (full - 1) * c->stride + c->seq : 0) : 0;
}

/* ------------------------------------------------------------------ rows */

/* First fit looks for the first row with enough room, in a tree over all possible rows: each node has the most room
 * below it; rows start with room for `seq`. */
typedef struct Room_tree {
    int64_t leaves; /* a power of two */
    int32_t *room;  /* [2 leaves]; children of k: 2 k and 2 k + 1 */
} Room_tree;

static int64_t leaves_for(int64_t n)
{
    int64_t leaves = 1;
    while (leaves < n) leaves *= 2;
    return leaves;
}

int64_t pack_scratch(int64_t n, int64_t seq)
{
    return (seq + 1 + n) * (int64_t)sizeof(int64_t) + (n + 2 * leaves_for(n)) * (int64_t)sizeof(int32_t);
}

static int64_t first_with_room(const Room_tree *t, int32_t length)
{
    int64_t k = 1;
    while (k < t->leaves) k = t->room[2 * k] >= length ? 2 * k : 2 * k + 1;
    return k - t->leaves;
}

static void take_room(Room_tree *t, int64_t row, int32_t length)
{
    int64_t k = row + t->leaves;
    for (t->room[k] -= length; k > 1; k /= 2)
        t->room[k / 2] = t->room[k] > t->room[k ^ 1] ? t->room[k] : t->room[k ^ 1];
}

/* Sorts the numbers of pieces by counting, the longest first, equal ones in order; begin[l]: where those of length l
 * go. */
static void sort_by_length(const int32_t *length, int64_t n, int64_t seq, int64_t *begin, int64_t *order)
{
    memset(begin, 0, sizeof *begin * (size_t)(seq + 1));
    for (int64_t i = 0; i < n; i++) begin[length[i] - 1]++;
    for (int64_t l = seq; l > 0; l--) begin[l - 1] += begin[l];
    for (int64_t l = 1; l <= seq; l++) begin[l - 1] = begin[l];
    for (int64_t i = 0; i < n; i++) order[begin[length[i] - 1]++] = i;
}

static int64_t pack_first(const int32_t *length, int64_t n, int64_t seq, Slot *out, void *scratch)
{
    int64_t *begin = scratch, *order = begin + seq + 1, rows = 0;
    int32_t *in_row = (int32_t *)(order + n);
    Room_tree tree = {.leaves = leaves_for(n), .room = in_row + n};
    memset(in_row, 0, sizeof *in_row * (size_t)n);
    for (int64_t k = 0; k < 2 * tree.leaves; k++) tree.room[k] = (int32_t)seq;
    sort_by_length(length, n, seq, begin, order);
    for (int64_t i = 0; i < n; i++) {
        int32_t places = length[order[i]];
        int64_t row = first_with_room(&tree, places);
        out[order[i]] = (Slot){row, (int32_t)seq - tree.room[row + tree.leaves], in_row[row]++};
        take_room(&tree, row, places);
        if (row == rows) rows++;
    }
    return rows;
}

static int64_t pack_next(const int32_t *length, int64_t n, int64_t seq, bool alone, Slot *out)
{
    int64_t row = -1, column = seq;
    int32_t segment = 0;
    for (int64_t i = 0; i < n; i++) {
        if (alone || column + length[i] > seq) row++, column = 0, segment = 0;
        out[i] = (Slot){row, (int32_t)column, segment++};
        column += length[i];
    }
    return row + 1;
}

int64_t pack_pieces(Packing how, const int32_t *length, int64_t n, int64_t seq, Slot *out, void *scratch)
{
    for (int64_t i = 0; i < n; i++) bug_if(length[i] < 1 || length[i] > seq);
    if (n == 0) return 0;
    return how == PACK_FIRST ? pack_first(length, n, seq, out, scratch)
                             : pack_next(length, n, seq, how == PACK_NONE, out);
}
