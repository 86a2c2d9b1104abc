/* test_oldest_block.c: a cache keeps the blocks that were used last, as a list that is searched does. */
#include "harness.h"
#include "timing/timing.h"

#include <string.h>

enum { BLOCKS = 40, MOST_ROOM = 12, USES = 400 };

/* The blocks used last, the newest first. */
typedef struct Listed {
    int n, room;
    int64_t block[MOST_ROOM + 1];
} Listed;

static bool use_listed(Listed *l, int64_t b)
{
    int at = 0;
    while (at < l->n && l->block[at] != b) at++;
    bool held = at < l->n;
    if (!held && l->n < l->room) l->n++;
    if (!held) at = l->n - 1;
    memmove(l->block + 1, l->block, sizeof *l->block * (size_t)at);
    l->block[0] = b;
    return held;
}

int main(void)
{
    Rng r = rng_of(7);
    for (int round = 0; round < 200; round++) {
        Listed l = {.room = 1 + (int)below(&r, MOST_ROOM)};
        Cache *c = new_cache(BLOCKS, l.room);
        for (int i = 0; i < USES; i++) {
            int64_t b = below(&r, below(&r, 2) ? BLOCKS : l.room + 1);
            bool held = use_listed(&l, b);
            if (!expect(use_block(c, b) == held, "room %d, use %d: block %d should be %s", l.room, i, (int)b,
                        held ? "there" : "gone"))
                return finish();
        }
    }
    return finish();
}
