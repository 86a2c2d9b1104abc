/* gathers.c: arrays between rank 0 and the others: to all, from each, back to each. */
#include "trainer/gathers.h"
#include "base/words.h"
#include "ranks/courier.h"

#include <string.h>
#include <unistd.h>

void must_go_on(bool fine)
{
    while (!fine) pause(); /* this rank has failed, and another thread ends it */
}

static Piece *pieces(void)
{
    static Piece *piece; /* [ranks] */
    if (!piece) piece = must_alloc((size_t)carrier_in_use()->ranks * sizeof *piece);
    return piece;
}

void from_first(void *at, int64_t bytes)
{
    const Carrier *c = carrier_in_use();
    const bool first = c->rank == 0;
    Piece *piece = pieces();
    if (!bytes) return;
    for (int k = 0; k < c->ranks; k++) piece[k] = (Piece){at, at, first ? bytes : 0, !first && k == 0 ? bytes : 0};
    must_go_on(exchange(piece));
}

/* Rank k's `each` bytes are at all + k · each on rank 0.  back: they go back to the ranks. */
static void move_bytes(char *all, void *own, int64_t each, bool back)
{
    const Carrier *c = carrier_in_use();
    const bool first = c->rank == 0;
    Piece *piece = pieces();
    if (!each) return;
    for (int k = 0; k < c->ranks; k++) {
        char *at = first ? all + k * each : own;
        const bool out = first ? back : !back && k == 0, in = first ? !back : back && k == 0;
        piece[k] = (Piece){at, at, out ? each : 0, in ? each : 0};
    }
    if (first) memcpy(back ? own : all, back ? all : own, (size_t)each);
    must_go_on(exchange(piece));
}

void gather_bytes(const void *own, char *all, int64_t each) { move_bytes(all, (void *)(uintptr_t)own, each, false); }
void deal_bytes(const char *all, void *own, int64_t each) { move_bytes((char *)(uintptr_t)all, own, each, true); }

/* An array of rank 0, of whose first `limit` elements each rank has its parts, one after the other. */
static void move_array(const Lathe_deal *d, char *all, char *own, int64_t limit, int64_t element, bool back)
{
    const int rank = carrier_in_use()->rank;
    const bool first = rank == 0;
    Piece *piece = pieces();
    int64_t last = 0;
    for (int k = 0; k < d->buckets; k++) {
        const Lathe_part mine = lathe_dealt_to(d, k, rank, d->ranks);
        const int64_t n = lathe_dealt_below(&mine, limit) * element;
        char *at = own + lathe_dealt_before(d, k, rank, limit) * element;
        for (int r = 0; r < d->ranks; r++) {
            const Lathe_part p = lathe_dealt_to(d, k, r, d->ranks);
            const int64_t theirs = lathe_dealt_below(&p, limit) * element;
            char *there = first ? all + p.first * element : at;
            const int64_t out = first ? theirs : r == 0 ? n : 0;
            piece[r] = (Piece){there, there, first == back ? out : 0, first != back ? out : 0};
            if (first && r == 0 && n) memcpy(back ? at : there, back ? there : at, (size_t)n);
        }
        last = begin_exchange(piece, 0, NULL, NULL);
    }
    must_go_on(wait_for_exchange(last));
}

void gather_array(const Lathe_deal *d, char *all, char *own, int64_t n, int64_t element)
{
    move_array(d, all, own, n, element, false);
}

void deal_array(const Lathe_deal *d, char *all, char *own, int64_t n, int64_t element)
{
    move_array(d, all, own, n, element, true);
}
