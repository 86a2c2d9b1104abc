/* cache.c: a cache of blocks of memory, which drops the block that was used longest ago. */
#include "timing/timing.h"

enum { NO_BLOCK = -1 };

struct Cache {
    int64_t room, used;      /* blocks */
    int64_t *before, *after; /* of each block in it: the one used before, and after */
    bool *holds;
    int64_t oldest, newest;
};

Cache *new_cache(int64_t blocks, int64_t room)
{
    Cache *c = NEW(Cache);
    *c = (Cache){.room = max64(room, 1), .oldest = NO_BLOCK, .newest = NO_BLOCK};
    c->before = NEW_ARRAY(int64_t, blocks), c->after = NEW_ARRAY(int64_t, blocks), c->holds = NEW_ARRAY(bool, blocks);
    return c;
}

static void drop_block(Cache *c, int64_t b)
{
    int64_t before = c->before[b], after = c->after[b];
    *(before == NO_BLOCK ? &c->oldest : &c->after[before]) = after;
    *(after == NO_BLOCK ? &c->newest : &c->before[after]) = before;
    c->holds[b] = false;
    c->used--;
}

bool use_block(Cache *c, int64_t b)
{
    bool held = c->holds[b];
    if (held && c->newest == b) return true;
    if (held) drop_block(c, b);
    else if (c->used == c->room) drop_block(c, c->oldest);
    c->before[b] = c->newest, c->after[b] = NO_BLOCK;
    *(c->newest == NO_BLOCK ? &c->oldest : &c->after[c->newest]) = b;
    c->newest = b;
    c->holds[b] = true;
    c->used++;
    return held;
}
