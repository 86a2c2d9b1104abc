/* strings.c: byte strings by number, and their numbers by bytes. */
#include "base/words.h"
#include "token/token.h"

const char *string_at(const Strings *s, int32_t k, int64_t *n)
{
    int64_t begin = k ? s->end[k - 1] : 0;
    *n = s->end[k] - begin;
    return s->pool + begin;
}

/* The slot of a string's number, or the free slot for it. */
static uint64_t slot_of(const Strings *s, const char *at, int64_t n)
{
    uint64_t i = quick_hash(at, n) & (s->slots - 1);
    for (; s->slot[i]; i = (i + 1) & (s->slots - 1)) {
        int64_t bytes;
        const char *there = string_at(s, s->slot[i] - 1, &bytes);
        if (bytes == n && memcmp(there, at, (size_t)n) == 0) break;
    }
    return i;
}

int32_t find_string(const Strings *s, const char *at, int64_t n)
{
    return s->slots ? s->slot[slot_of(s, at, n)] - 1 : -1;
}

static void widen_strings(Strings *s)
{
    int32_t *old = s->slot;
    uint64_t slots = s->slots;
    s->slots = slots ? 2 * slots : 1024;
    s->slot = must_alloc(sizeof *s->slot * s->slots);
    for (uint64_t i = 0; i < slots; i++) {
        int64_t n;
        if (!old[i]) continue;
        const char *at = string_at(s, old[i] - 1, &n);
        s->slot[slot_of(s, at, n)] = old[i];
    }
    free(old);
}

int32_t add_string(Strings *s, const char *at, int64_t n, bool known)
{
    if (s->n == s->cap) {
        s->cap = s->cap * 2 + 256;
        s->end = must_grow(s->end, sizeof *s->end * (size_t)s->cap);
    }
    if (s->bytes + n >= s->room) { /* so that there is a pool even for an empty string */
        s->room = (s->bytes + n) * 2 + 4096;
        s->pool = must_grow(s->pool, (size_t)s->room);
    }
    if (n) memcpy(s->pool + s->bytes, at, (size_t)n);
    s->end[s->n] = s->bytes += n;
    s->n++;
    if (known && (uint64_t)s->n * 2 > s->slots) widen_strings(s);
    if (known) s->slot[slot_of(s, s->pool + s->bytes - n, n)] = s->n;
    return s->n - 1;
}

void free_strings(Strings *s)
{
    free(s->pool);
    free(s->end);
    free(s->slot);
    *s = (Strings){0};
}
