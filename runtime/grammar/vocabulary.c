/* vocabulary.c: the bytes of all tokens as a tree, in the order in which a walk meets its nodes.  Tokens with the same
 * bytes are one after the other in a list. */
#include "grammar/vocabulary.h"

#include <stdlib.h>
#include <string.h>

typedef struct Piece {
    const char *at;
    int64_t n;
    int32_t id;
} Piece;

static int by_token_bytes(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    int order = memcmp(x->at, y->at, (size_t)(x->n < y->n ? x->n : y->n));
    if (order) return order;
    return x->n != y->n ? (x->n < y->n ? -1 : 1) : x->id - y->id;
}

static int64_t common_bytes(const Piece *x, const Piece *y)
{
    int64_t i = 0;
    while (i < x->n && i < y->n && x->at[i] == y->at[i]) i++;
    return i;
}

/* All tokens' bytes, one token's after the other's: a tokenizer of characters lends them until the next call. */
static char *copied_bytes(const Tokenizer *k)
{
    const char *at;
    int64_t n = 0;
    for (int32_t id = 0; id < tokenizer_size(k); id++) n += token_bytes(k, id, &at);
    char *all = must_alloc((size_t)n + 1), *to = all;
    for (int32_t id = 0; id < tokenizer_size(k); id++) {
        const int64_t bytes = token_bytes(k, id, &at);
        memcpy(to, at, (size_t)bytes);
        to += bytes;
    }
    return all;
}

/* Tokens without bytes are left out: a text with them would never end. */
static int32_t sorted_pieces(const Tokenizer *k, const char *bytes, Piece *piece)
{
    int32_t n = 0;
    for (int32_t id = 0; id < tokenizer_size(k); id++) {
        const char *lent;
        const Piece p = {bytes, token_bytes(k, id, &lent), id};
        if (p.n > 0 && p.n <= LONGEST_TOKEN) piece[n++] = p;
        bytes += p.n;
    }
    if (n) qsort(piece, (size_t)n, sizeof *piece, by_token_bytes);
    return n;
}

static void add_branches(Vocabulary *v, const Piece *p, int64_t from)
{
    for (int64_t i = from; i < p->n; i++)
        v->branch[v->branches++] = (Branch){.token = -1, .depth = (uint16_t)(i + 1), .byte = (uint8_t)p->at[i]};
    Branch *last = &v->branch[v->branches - 1];
    v->same[p->id] = last->token;
    last->token = p->id;
    if (p->n > v->longest) v->longest = (int32_t)p->n;
}

/* A node ends where the next one is that is not deeper. */
static void find_ends_of_branches(Vocabulary *v)
{
    int32_t *open = must_alloc(sizeof *open * (size_t)(v->longest + 2)), n = 0;
    for (int32_t i = 0; i <= v->branches; i++) {
        int depth = i < v->branches ? v->branch[i].depth : 0;
        while (n && v->branch[open[n - 1]].depth >= depth) v->branch[open[--n]].after = i;
        open[n++] = i;
    }
    free(open);
}

Vocabulary *open_vocabulary(const Tokenizer *k)
{
    const int64_t size = tokenizer_size(k);
    Piece *piece = must_alloc(sizeof *piece * (size_t)(size + 1));
    char *all = copied_bytes(k);
    const int32_t n = sorted_pieces(k, all, piece);
    int64_t bytes = 0;
    for (int32_t i = 0; i < n; i++) bytes += piece[i].n - (i ? common_bytes(&piece[i - 1], &piece[i]) : 0);
    Vocabulary *v = must_alloc(sizeof *v);
    *v = (Vocabulary){.tokenizer = k,
                      .words = (size + 63) / 64,
                      .branch = must_alloc(sizeof *v->branch * (size_t)(bytes + 1)),
                      .same = must_alloc(sizeof *v->same * (size_t)(size + 1))};
    for (int32_t i = 0; i < n; i++) add_branches(v, &piece[i], i ? common_bytes(&piece[i - 1], &piece[i]) : 0);
    find_ends_of_branches(v);
    v->bytes = (int64_t)sizeof *v->branch * (bytes + 1) + (int64_t)sizeof *v->same * (size + 1);
    free(piece);
    free(all);
    return v;
}

void close_vocabulary(Vocabulary *v)
{
    if (!v) return;
    free(v->branch);
    free(v->same);
    free(v);
}
