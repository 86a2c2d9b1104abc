/* merges.c: learns the merges of a BPE: repeatedly, the most frequent pair of neighbours becomes one token (Sennrich et
 * al. 2016, Algorithm 1).
 *
 * The text is represented by its distinct pieces with their counts.  Each pair has its count and a list of its pieces;
 * a merge visits only these and updates the counts of the pairs around it.  A heap orders the pairs by count; an entry
 * whose count has decreased is pushed again with its present count.  Counts and ties are those of Hugging Face's
 * trainer: of equal counts, the pair with the smaller ids comes first. */
#include "base/words.h"
#include "token/heap.h"
#include "token/token.h"
#include "token/tokenizer.h"

typedef struct Piece { /* symbols of a piece */
    int64_t first;
    int32_t n;
    int64_t count;
} Piece;

typedef struct Seen { /* of a pair */
    uint64_t key;     /* left << 32 | right */
    int64_t count;
    int32_t *where; /* pieces with it, now or earlier */
    int32_t n, room;
    int32_t stamp; /* the last merge that increased its count */
} Seen;

typedef struct Top {
    int64_t count;
    uint64_t key;
} Top;

typedef struct Merging {
    Tokenizer *t;
    Piece *piece;
    int32_t pieces;
    int32_t *symbol;
    Seen *seen;
    int64_t n, room;
    int32_t *slot; /* [slots] of seen + 1; 0: free */
    uint64_t slots;
    Top *heap;
    int64_t waiting, heap_room;
    int32_t *grown; /* pairs that the current merge has made */
    int64_t grows, grown_room;
} Merging;

static void *grown(void *at, int64_t n, int64_t *room, size_t size)
{
    if (n < *room) return at;
    *room = *room * 2 + 64;
    return must_grow(at, size * (size_t)*room);
}

/* ------------------------------------------------------------------ pairs */

static uint64_t slot_of(const Merging *m, uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u, i = (h ^ h >> 32) & (m->slots - 1);
    while (m->slot[i] && m->seen[m->slot[i] - 1].key != key) i = (i + 1) & (m->slots - 1);
    return i;
}

static void widen_table(Merging *m)
{
    free(m->slot);
    m->slots = m->slots ? 2 * m->slots : 1 << 16;
    m->slot = must_alloc(sizeof *m->slot * m->slots);
    for (int64_t k = 0; k < m->n; k++) m->slot[slot_of(m, m->seen[k].key)] = (int32_t)k + 1;
}

static int32_t seen_pair(Merging *m, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right, i = slot_of(m, key);
    if (m->slot[i]) return m->slot[i] - 1;
    m->seen = grown(m->seen, m->n, &m->room, sizeof *m->seen);
    m->seen[m->n++] = (Seen){.key = key, .stamp = -1};
    m->slot[i] = (int32_t)m->n;
    if ((uint64_t)m->n * 2 > m->slots) widen_table(m);
    return (int32_t)m->n - 1;
}

static void add_where(Merging *m, int32_t pair, int32_t piece)
{
    Seen *s = &m->seen[pair];
    if (s->n && s->where[s->n - 1] == piece) return;
    int64_t room = s->room;
    s->where = grown(s->where, s->n, &room, sizeof *s->where);
    s->room = (int32_t)room;
    s->where[s->n++] = piece;
}

/* ------------------------------------------------------------------ the heap */

static bool above(Top a, Top b) { return a.count != b.count ? a.count > b.count : a.key < b.key; }

DEFINE_HEAP(Top, above, push_in_order, pop_in_order)

static void push_top(Merging *m, Top new)
{
    m->heap = grown(m->heap, m->waiting, &m->heap_room, sizeof *m->heap);
    push_in_order(m->heap, &m->waiting, new);
}

static Top pop_top(Merging *m) { return pop_in_order(m->heap, &m->waiting); }

/* ------------------------------------------------------------------ pieces */

static void take_pieces(Merging *m, const Strings *piece, const int64_t *count)
{
    m->pieces = piece->n;
    m->piece = must_alloc(sizeof *m->piece * (size_t)piece->n);
    m->symbol = must_alloc(sizeof *m->symbol * (size_t)piece->bytes);
    int64_t used = 0;
    for (int32_t k = 0; k < piece->n; k++) {
        int64_t n;
        const char *at = string_at(piece, k, &n);
        m->piece[k] = (Piece){used, (int32_t)n, count[k]};
        for (int64_t i = 0; i < n; i++) m->symbol[used++] = m->t->byte_id[(unsigned char)at[i]];
    }
}

static void count_pairs(Merging *m)
{
    for (int32_t k = 0; k < m->pieces; k++) {
        const int32_t *s = m->symbol + m->piece[k].first;
        for (int32_t i = 0; i + 1 < m->piece[k].n; i++) {
            int32_t pair = seen_pair(m, s[i], s[i + 1]);
            m->seen[pair].count += m->piece[k].count;
            add_where(m, pair, k);
        }
    }
    for (int64_t k = 0; k < m->n; k++) push_top(m, (Top){m->seen[k].count, m->seen[k].key});
}

static void change_count(Merging *m, int32_t left, int32_t right, int sign, int32_t piece, int32_t stamp)
{
    int32_t pair = seen_pair(m, left, right);
    m->seen[pair].count += sign * m->piece[piece].count;
    if (sign < 0) return;
    add_where(m, pair, piece);
    if (m->seen[pair].stamp == stamp) return;
    m->seen[pair].stamp = stamp;
    m->grown = grown(m->grown, m->grows, &m->grown_room, sizeof *m->grown);
    m->grown[m->grows++] = pair;
}

/* Merges from left to right and updates the neighbours' pairs. */
static void merge_in(Merging *m, int32_t piece, int32_t left, int32_t right, int32_t made, int32_t stamp)
{
    int32_t *s = m->symbol + m->piece[piece].first, n = m->piece[piece].n, kept = 0;
    for (int32_t i = 0; i < n; i++) {
        if (s[i] != left || i + 1 == n || s[i + 1] != right) {
            s[kept++] = s[i];
            continue;
        }
        if (kept > 0) {
            change_count(m, s[kept - 1], left, -1, piece, stamp);
            change_count(m, s[kept - 1], made, 1, piece, stamp);
        }
        if (i + 2 < n) {
            change_count(m, right, s[i + 2], -1, piece, stamp);
            change_count(m, made, s[i + 2], 1, piece, stamp);
        }
        s[kept++] = made;
        i++;
    }
    m->piece[piece].n = kept;
}

/* ------------------------------------------------------------------ merges */

/* Two merges may make the same token. */
static int32_t token_of(Tokenizer *t, int32_t left, int32_t right)
{
    int64_t n, k;
    const char *a = string_at(&t->token, left, &n), *b = string_at(&t->token, right, &k);
    char *both = must_alloc((size_t)(n + k));
    memcpy(both, a, (size_t)n);
    memcpy(both + n, b, (size_t)k);
    int32_t id = find_string(&t->token, both, n + k);
    if (id < 0) id = add_string(&t->token, both, n + k, true);
    free(both);
    return id;
}

static void merge_pair(Merging *m, int32_t pair)
{
    Tokenizer *t = m->t;
    int32_t left = (int32_t)(m->seen[pair].key >> 32), right = (int32_t)(uint32_t)m->seen[pair].key;
    int32_t made = token_of(t, left, right), stamp = (int32_t)t->merges;
    int32_t *where = m->seen[pair].where, n = m->seen[pair].n;
    m->seen[pair].where = NULL;
    m->seen[pair].n = m->seen[pair].room = 0;
    m->grows = 0;
    for (int32_t k = 0; k < n; k++) merge_in(m, where[k], left, right, made, stamp);
    free(where);
    for (int64_t k = 0; k < m->grows; k++) {
        const Seen *s = &m->seen[m->grown[k]];
        if (s->count > 0) push_top(m, (Top){s->count, s->key});
    }
    t->merge[t->merges][0] = left;
    t->merge[t->merges++][1] = right;
}

static void merge_most(Merging *m, int64_t size, int64_t least)
{
    int64_t room = 0;
    while (m->t->token.n < size && m->waiting) {
        Top top = pop_top(m);
        int32_t pair = m->slot[slot_of(m, top.key)] - 1;
        if (top.count != m->seen[pair].count) {
            if (m->seen[pair].count > 0) push_top(m, (Top){m->seen[pair].count, top.key});
            continue;
        }
        if (top.count < least || top.count < 1) break;
        m->t->merge = grown(m->t->merge, m->t->merges, &room, sizeof *m->t->merge);
        merge_pair(m, pair);
    }
}

void learn_merges(Tokenizer *t, const Strings *piece, const int64_t *count, int64_t size, int64_t least)
{
    Merging m = {.t = t};
    widen_table(&m);
    take_pieces(&m, piece, count);
    count_pairs(&m);
    merge_most(&m, size, least);
    for (int64_t k = 0; k < m.n; k++) free(m.seen[k].where);
    free(m.piece);
    free(m.symbol);
    free(m.seen);
    free(m.slot);
    free(m.heap);
    free(m.grown);
}
