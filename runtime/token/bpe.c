/* bpe.c: byte pair encoding of a piece (Sennrich et al. 2016; over bytes: Radford et al. 2019): starting from its
 * bytes (or characters), the neighbours with the lowest rank are merged to one token, the leftmost of equal ones first,
 * until no neighbours are a pair.
 *
 * Short pieces are searched completely for each merge; long ones keep their pairs in a heap, so that a piece of n bytes
 * takes n log n steps. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/heap.h"
#include "token/token.h"
#include "token/tokenizer.h"

#include <stdatomic.h>

enum { SHORT = 64 }; /* bytes of a piece that is searched */
#define NO_RANK INT32_MAX

/* ------------------------------------------------------------------ pairs */

static uint64_t key_of(int32_t left, int32_t right) { return (uint64_t)(uint32_t)left << 32 | (uint32_t)right; }

static Pair *place_of_pair(const Tokenizer *t, uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    uint64_t i = (h ^ h >> 32) & (t->pairs - 1);
    while (t->pair[i].key != key && t->pair[i].key != NO_PAIR) i = (i + 1) & (t->pairs - 1);
    return &t->pair[i];
}

static void make_pairs(Tokenizer *t, int64_t most)
{
    for (t->pairs = 16; t->pairs < (uint64_t)most * 2;) t->pairs *= 2;
    t->pair = must_alloc(sizeof *t->pair * t->pairs);
    for (uint64_t i = 0; i < t->pairs; i++) t->pair[i].key = NO_PAIR;
}

/* As in Hugging Face's tokenizers, the later rank of a pair listed twice counts. */
void set_pairs(Tokenizer *t)
{
    enum { ROOM = 1 << 16 };
    char *both = must_alloc(ROOM);
    make_pairs(t, t->merges);
    for (int64_t k = 0; k < t->merges; k++) {
        int64_t n, m;
        const char *left = string_at(&t->token, t->merge[k][0], &n), *right = string_at(&t->token, t->merge[k][1], &m);
        bug_if(n + m > ROOM);
        memcpy(both, left, (size_t)n);
        memcpy(both + n, right, (size_t)m);
        uint64_t key = key_of(t->merge[k][0], t->merge[k][1]);
        *place_of_pair(t, key) = (Pair){key, (int32_t)k, find_string(&t->token, both, n + m)};
    }
    free(both);
}

static int64_t each_pair(const Tokenizer *t, int32_t id, void (*take)(const Tokenizer *, uint64_t, int32_t))
{
    int64_t n, pairs = 0;
    const char *at = string_at(&t->token, id, &n);
    if (n > LONGEST_RANK)
        fail(EXIT_DATA, t->path, "token %d has %lld bytes; at most %d are read here", (int)id, (long long)n,
             LONGEST_RANK);
    for (int64_t k = 1; k < n; k++) {
        int32_t left = find_string(&t->token, at, k), right = left < 0 ? -1 : find_string(&t->token, at + k, n - k);
        if (right < 0) continue;
        if (take) take(t, key_of(left, right), id);
        pairs++;
    }
    return pairs;
}

static void put_pair(const Tokenizer *t, uint64_t key, int32_t id) { *place_of_pair(t, key) = (Pair){key, id, id}; }

void set_token_pairs(Tokenizer *t)
{
    int64_t pairs = 0;
    for (int32_t id = 0; id < t->token.n; id++) pairs += each_pair(t, id, NULL);
    make_pairs(t, pairs);
    for (int32_t id = 0; id < t->token.n; id++) each_pair(t, id, put_pair);
}

/* ------------------------------------------------------------------ memory */

typedef struct Link { /* of a long piece: a token and its neighbours; -1: none */
    int32_t id, before, after;
} Link;

typedef struct Waiting { /* a pair of a long piece */
    int32_t rank, at;
} Waiting;

struct Merger {
    const Tokenizer *t;
    const char *const *place;
    Link *link; /* [longest] */
    Waiting *heap;
    int64_t longest, waiting;
};

Merger *open_merger(const Tokenizer *t, const char *const *place)
{
    Merger *m = must_alloc(sizeof *m);
    *m = (Merger){.t = t, .place = place};
    return m;
}

void close_merger(Merger *m)
{
    if (m) free(m->link), free(m->heap);
    free(m);
}

/* ------------------------------------------------------------------ merging */

static const Pair *pair_of(const Tokenizer *t, int32_t left, int32_t right)
{
    const Pair *p = place_of_pair(t, key_of(left, right));
    return p->key == NO_PAIR ? NULL : p;
}

/* Published vocabularies may lack bytes, such as control characters. */
static void tell_byte_left_out(const Merger *m, unsigned char byte)
{
    static atomic_flag told = ATOMIC_FLAG_INIT; /* of all threads' encoders */
    if (!atomic_flag_test_and_set(&told))
        note("%s: has byte 0x%02x, for which the tokenizer %s has no token; such bytes are left out, as elsewhere",
             *m->place, byte, m->t->path);
}

/* -1: the byte is left out before anything is merged. */
static int32_t id_of_byte(const Merger *m, unsigned char byte)
{
    int32_t id = m->t->byte_id[byte] >= 0 ? m->t->byte_id[byte] : m->t->unknown;
    if (id < 0) tell_byte_left_out(m, byte);
    return id;
}

/* The first token at a place, or -1, and its bytes: a byte, or a character that is one. */
static int32_t first_id(const Merger *m, const char *at, int64_t n, int *bytes)
{
    uint32_t code;
    int length = m->t->characters ? decode_utf8((const unsigned char *)at, n, &code) : 0;
    int32_t id = length ? find_string(&m->t->token, at, length) : -1;
    *bytes = id < 0 ? 1 : length;
    return id < 0 ? id_of_byte(m, (unsigned char)*at) : id;
}

/* Merges in place; returns the number of tokens left. */
static int merge_short(const Tokenizer *t, int32_t *id, int n)
{
    int32_t rank[SHORT + 1], made[SHORT + 1];
    for (int i = 0; i + 1 < n; i++) {
        const Pair *p = pair_of(t, id[i], id[i + 1]);
        rank[i] = p ? p->rank : NO_RANK;
        made[i] = p ? p->made : 0;
    }
    while (n > 1) {
        int best = 0;
        for (int i = 1; i + 1 < n; i++)
            if (rank[i] < rank[best]) best = i;
        if (rank[best] == NO_RANK) break;
        id[best] = made[best];
        n--;
        memmove(id + best + 1, id + best + 2, sizeof *id * (size_t)(n - best - 1));
        memmove(rank + best, rank + best + 1, sizeof *rank * (size_t)(n - best - 1));
        memmove(made + best, made + best + 1, sizeof *made * (size_t)(n - best - 1));
        for (int i = best > 0 ? best - 1 : 0; i <= best && i + 1 < n; i++) {
            const Pair *p = pair_of(t, id[i], id[i + 1]);
            rank[i] = p ? p->rank : NO_RANK;
            made[i] = p ? p->made : 0;
        }
    }
    return n;
}

static bool sooner(Waiting a, Waiting b) { return a.rank != b.rank ? a.rank < b.rank : a.at < b.at; }
DEFINE_HEAP(Waiting, sooner, push_waiting, pop_waiting)

static void push_pair(Merger *m, int32_t at)
{
    const Link *l = m->link;
    if (at < 0 || l[at].after < 0) return;
    const Pair *p = pair_of(m->t, l[at].id, l[l[at].after].id);
    if (!p) return;
    push_waiting(m->heap, &m->waiting, (Waiting){p->rank, at});
}

/* A piece has n - 1 pairs at first, and each merge adds two. */
static void need_links(Merger *m, int64_t n)
{
    if (n <= m->longest) return;
    if (n > INT32_MAX / 4) fail(EXIT_DATA, *m->place, "has a piece of %lld bytes, which is too long", (long long)n);
    free(m->link);
    free(m->heap);
    m->longest = n;
    m->link = must_alloc(sizeof *m->link * (size_t)n);
    m->heap = must_alloc(sizeof *m->heap * (size_t)(3 * n));
}

static void merge_long(Merger *m, const char *at, int64_t n, Ids *out)
{
    need_links(m, n);
    Link *l = m->link;
    m->waiting = 0;
    int bytes;
    int64_t tokens = 0;
    for (int64_t i = 0; i < n; i += bytes) {
        int32_t id = first_id(m, at + i, n - i, &bytes);
        if (id < 0) continue;
        l[tokens] = (Link){id, (int32_t)tokens - 1, (int32_t)tokens + 1};
        tokens++;
    }
    if (tokens == 0) return;
    l[tokens - 1].after = -1;
    n = tokens;
    for (int64_t i = 0; i + 1 < n; i++) push_pair(m, (int32_t)i);
    while (m->waiting) {
        Waiting w = pop_waiting(m->heap, &m->waiting);
        int32_t right = l[w.at].id < 0 ? -1 : l[w.at].after; /* id -1: merged into its predecessor */
        const Pair *p = right < 0 ? NULL : pair_of(m->t, l[w.at].id, l[right].id);
        if (!p || p->rank != w.rank) continue;
        l[w.at].id = p->made;
        l[w.at].after = l[right].after;
        if (l[right].after >= 0) l[l[right].after].before = w.at;
        l[right].id = -1;
        push_pair(m, l[w.at].before);
        push_pair(m, w.at);
    }
    for (int32_t i = 0; i >= 0; i = l[i].after) put_id(out, l[i].id);
}

void merge_piece(Merger *m, const char *at, int64_t n, Ids *out)
{
    int32_t all = m->t->whole ? find_string(&m->t->token, at, n) : -1;
    if (all >= 0) {
        put_id(out, all);
        return;
    }
    if (n > SHORT) {
        merge_long(m, at, n, out);
        return;
    }
    need_ids(out, n);
    int32_t *id = out->at + out->n;
    int tokens = 0, bytes;
    for (int64_t k = 0; k < n; k += bytes) {
        id[tokens] = first_id(m, at + k, n - k, &bytes);
        tokens += id[tokens] >= 0;
    }
    out->n += merge_short(m->t, id, tokens);
}
