/* plan.c: the memory plan of a run.json, made ready to be drawn: its largest buffers, the moment when most bytes are in
 * use, and the buffers that lie in memory then. */
#include "base/json_text.h"
#include "base/words.h"
#include "look/page.h"

#include <stdlib.h>

enum { MOST_DRAWN = 400, MOST_BLAMED = 12, MOST_LAPS = 1 << 22 };
static const int64_t most_bytes = (int64_t)1 << 40; /* of a buffer */

typedef struct Life {
    const json_t *buffer;
    int64_t bytes, first, last;
} Life;

typedef struct Lives {
    Life *at;
    int n;
    int64_t laps; /* one more than the last */
} Lives;

static int64_t whole(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static Lives lives_of(const json_t *buffers)
{
    Lives l = {must_alloc(sizeof(Life) * (json_array_size(buffers) + 1)), 0, 0};
    for (size_t i = 0; i < json_array_size(buffers) && i < MOST_LAPS; i++) {
        const json_t *b = json_array_get(buffers, i);
        Life a = {b, whole(b, "bytes"), whole(b, "first"), whole(b, "last")};
        if (a.bytes < 0 || a.bytes > most_bytes || whole(b, "offset") < 0 || a.first < 0 || a.last < a.first ||
            a.last >= MOST_LAPS)
            continue;
        l.at[l.n++] = a;
        if (a.last >= l.laps) l.laps = a.last + 1;
    }
    return l;
}

/* The lap at which most bytes are in use, and how many. */
static int64_t fullest_lap(const Lives *l, int64_t *most)
{
    int64_t *change = must_alloc(sizeof *change * (size_t)(l->laps + 1)), now = 0, at = 0;
    for (int i = 0; i < l->n; i++)
        change[l->at[i].first] += l->at[i].bytes, change[l->at[i].last + 1] -= l->at[i].bytes;
    *most = 0;
    for (int64_t k = 0; k < l->laps; k++) {
        now += change[k];
        if (now > *most) *most = now, at = k;
    }
    free(change);
    return at;
}

static int largest_first(const void *a, const void *b)
{
    const Life *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : (x->first > y->first) - (x->first < y->first);
}

json_t *drawn_plan(const json_t *plan)
{
    const json_t *buffers = json_object_get(plan, "buffers");
    if (!json_is_array(buffers)) return json_null();
    Lives l = lives_of(buffers);
    int64_t most, lap = fullest_lap(&l, &most);
    json_t *all = json_copy((json_t *)plan), *drawn = json_array(), *blamed = json_array();
    qsort(l.at, (size_t)l.n, sizeof *l.at, largest_first);
    for (int i = 0; i < l.n; i++) {
        if (i < MOST_DRAWN) json_array_append(drawn, (json_t *)l.at[i].buffer);
        bool in = l.at[i].first <= lap && lap <= l.at[i].last;
        if (in && json_array_size(blamed) < MOST_BLAMED) json_array_append(blamed, (json_t *)l.at[i].buffer);
    }
    put_json(all, "left_out", json_integer(l.n > MOST_DRAWN ? l.n - MOST_DRAWN : 0));
    put_json(all, "buffers", drawn);
    put_json(all, "peak",
             json_pack("{s:I, s:I, s:o}", "lap", (json_int_t)lap, "bytes", (json_int_t)most, "blame", blamed));
    put_json(all, "laps", json_integer(l.laps));
    free(l.at);
    return all;
}
