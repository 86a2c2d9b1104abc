/* pieces.c: encodes a piece of text: tokens of short pieces are cached, and a full cache is cleared; other pieces are
 * encoded by the tokenizer's kind. */
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

enum {
    SHORT = 64,          /* bytes of a cached piece */
    PLACES = 1 << 17,    /* of the cache; at most three quarters are used */
    KEPT_BYTES = 4 << 20 /* of all cached pieces and ids */
};

typedef struct Kept { /* a piece of the cache */
    uint64_t hash;
    uint32_t at;         /* in the room: ids, then bytes, from a multiple of 4 on */
    uint16_t bytes, ids; /* bytes 0: a free place */
} Kept;

struct Pieces {
    Merger *merger;         /* BPE */
    Lattice *lattice;       /* Unigram */
    const Tokenizer *words; /* WordPiece */
    Kept *kept;             /* [PLACES] */
    char *room;             /* [KEPT_BYTES] */
    int64_t used, pieces;
};

Pieces *open_pieces(const Tokenizer *t, const char *const *place)
{
    Pieces *p = must_alloc(sizeof *p);
    if (t->kind == TOKEN_BPE) p->merger = open_merger(t, place);
    else if (t->kind == TOKEN_WORDPIECE) p->words = t;
    else p->lattice = open_lattice(t, place);
    p->kept = must_alloc(sizeof *p->kept * PLACES);
    p->room = must_alloc(KEPT_BYTES);
    return p;
}

void close_pieces(Pieces *p)
{
    if (!p) return;
    close_merger(p->merger);
    close_lattice(p->lattice);
    free(p->kept);
    free(p->room);
    free(p);
}

static Kept *place_of_piece(const Pieces *p, uint64_t hash, const char *at, int64_t n)
{
    uint64_t i = hash & (PLACES - 1);
    for (; p->kept[i].bytes; i = (i + 1) & (PLACES - 1)) {
        const Kept *k = &p->kept[i];
        if (k->hash == hash && k->bytes == n && memcmp(p->room + k->at + 4 * k->ids, at, (size_t)n) == 0) break;
    }
    return &p->kept[i];
}

static void keep_piece(Pieces *p, uint64_t hash, const char *at, int64_t n, const int32_t *id, int64_t ids)
{
    int64_t bytes = (4 * ids + n + 3) & ~INT64_C(3);
    if (p->used + bytes > KEPT_BYTES || p->pieces >= PLACES * 3 / 4) {
        memset(p->kept, 0, sizeof *p->kept * PLACES);
        p->used = p->pieces = 0;
    }
    *place_of_piece(p, hash, at, n) = (Kept){hash, (uint32_t)p->used, (uint16_t)n, (uint16_t)ids};
    memcpy(p->room + p->used, id, (size_t)(4 * ids));
    memcpy(p->room + p->used + 4 * ids, at, (size_t)n);
    p->used += bytes;
    p->pieces++;
}

static void encode_uncached(Pieces *p, const char *at, int64_t n, Ids *out)
{
    if (p->words) word_pieces(p->words, at, n, out);
    else if (p->merger) merge_piece(p->merger, at, n, out);
    else unigram_piece(p->lattice, at, n, out);
}

void encode_piece(Pieces *p, const char *at, int64_t n, Ids *out)
{
    if (n > SHORT) {
        encode_uncached(p, at, n, out);
        return;
    }
    uint64_t hash = quick_hash(at, n);
    const Kept *k = place_of_piece(p, hash, at, n);
    need_ids(out, SHORT);
    if (k->bytes) {
        memcpy(out->at + out->n, p->room + k->at, 4 * (size_t)k->ids);
        out->n += k->ids;
        return;
    }
    int64_t before = out->n;
    encode_uncached(p, at, n, out);
    keep_piece(p, hash, at, n, out->at + before, out->n - before);
}
