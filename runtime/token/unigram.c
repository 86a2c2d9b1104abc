/* unigram.c: a piece of text to tokens by a unigram model (Kudo 2018, "Subword Regularization", section 3.2): finds the
 * most probable way to cut it into tokens, by Viterbi's algorithm over its characters.
 *
 * A character that is not a token is unknown if no longer token covers it; its probability is so low that this is the
 * last resort.  Consecutive unknown characters are encoded as bytes, or as one unknown token. */
#include "base/utf8.h"
#include "base/words.h"
#include "token/token.h"
#include "token/tokenizer.h"

typedef struct Best { /* way to cut the text before a position */
    double score;     /* log probability */
    int32_t from, id; /* of its last token; from -1: none.  After turn_way(): the end of the next token */
} Best;

struct Lattice {
    const Tokenizer *t;
    const char *const *place;
    Best *best; /* [room] */
    int64_t room;
};

Lattice *open_lattice(const Tokenizer *t, const char *const *place)
{
    Lattice *l = must_alloc(sizeof *l);
    *l = (Lattice){.t = t, .place = place};
    return l;
}

void close_lattice(Lattice *l)
{
    if (l) free(l->best);
    free(l);
}

static void need_places(Lattice *l, int64_t n)
{
    if (n <= l->room) return;
    if (n > INT32_MAX / 2) fail(EXIT_DATA, *l->place, "has a piece of %lld bytes, which is too long", (long long)n);
    free(l->best);
    l->room = n + n / 2;
    l->best = must_alloc(sizeof *l->best * (size_t)l->room);
}

static void offer(Best *b, double score, int32_t from, int32_t id)
{
    if (b->from < 0 || score > b->score) *b = (Best){score, from, id};
}

/* Sums and ties are those of Hugging Face's tokenizers: from left to right, the shorter token first; only a better way
 * replaces an earlier one. */
static void find_best(Lattice *l, const char *at, int64_t n)
{
    const Tokenizer *t = l->t;
    Best *b = l->best;
    for (int64_t i = 1; i <= n; i++) b[i].from = -1;
    b[0] = (Best){0, -1, -1};
    for (int64_t i = 0; i < n;) {
        uint32_t code;
        int length = decode_utf8((const unsigned char *)at + i, n - i, &code);
        int32_t node = 0;
        bool single = false;
        if (length == 0) length = 1;
        for (int64_t k = i; k < n; k++) {
            const Edge *e = follow_byte(&t->trie, node, at[k]);
            if (!e) break;
            node = e->to;
            if (e->id < 0) continue;
            single = single || k + 1 == i + length;
            offer(&b[k + 1], t->score[e->id] + b[i].score, (int32_t)i, e->id);
        }
        if (!single) offer(&b[i + length], t->unknown_score + b[i].score, (int32_t)i, -1);
        i += length;
    }
}

/* Reverses the links, so that each position of the way has the end of its token. */
static void turn_way(Best *b, int64_t n)
{
    int32_t end = (int32_t)n, id = b[n].id;
    for (int32_t at = b[n].from; at >= 0;) {
        Best was = b[at];
        b[at] = (Best){0, end, id};
        end = at;
        id = was.id;
        at = was.from;
    }
}

static void put_unknown(const Lattice *l, const char *at, int64_t n, Ids *out)
{
    const Tokenizer *t = l->t;
    bool bytes = true;
    need_ids(out, n);
    for (int64_t i = 0; i < n; i++) bytes = bytes && t->byte_id[(unsigned char)at[i]] >= 0;
    for (int64_t i = 0; bytes && i < n; i++) out->at[out->n++] = t->byte_id[(unsigned char)at[i]];
    if (bytes) return;
    if (t->unknown < 0)
        fail(EXIT_DATA, *l->place,
             "has \"%.*s\", for which the tokenizer %s has no token, nor one for the unknown; leave it out, or use "
             "another",
             (int)(n < 20 ? n : 20), at, t->path);
    out->at[out->n++] = t->unknown;
}

void unigram_piece(Lattice *l, const char *at, int64_t n, Ids *out)
{
    need_places(l, n + 1);
    find_best(l, at, n);
    turn_way(l->best, n);
    need_ids(out, n);
    const Best *b = l->best;
    for (int64_t i = 0; i < n;) {
        int64_t end = b[i].from;
        if (b[i].id >= 0) {
            out->at[out->n++] = b[i].id;
        } else {
            while (end < n && b[end].id < 0) end = b[end].from;
            put_unknown(l, at + i, end - i, out);
        }
        i = end;
    }
}
