/* pack.h: from lists of tokens to rows of a batch: documents are cut into windows, and short ones share a row.  Pure
 * functions of lengths; the caller allocates memory. */
#ifndef LATHE_DATA_PACK_H
#define LATHE_DATA_PACK_H

#include <stdbool.h>
#include <stdint.h>

/* ------------------------------------------------------------------ windows of a document */

/* A document of n tokens has p = n - ahead positions to train on.  Windows start at 0, stride, 2 stride, … until one
 * reaches the end; window k has positions k stride … k stride + length - 1.  It reads the tokens there, and its targets
 * are `ahead` tokens later, so it needs length + ahead tokens. */
typedef struct Chunking {
    int64_t seq;     /* most positions in a window */
    int64_t stride;  /* 1 … seq: seq: side by side; seq / 2: each half twice */
    int ahead;       /* 1: the target is the next token; 0: targets do not come from the document */
    bool drop_short; /* windows of fewer than seq positions are left out */
} Chunking;

typedef struct Chunk {
    int64_t first;  /* token */
    int64_t length; /* places */
} Chunk;

int64_t count_chunks(const Chunking *c, int64_t n);
Chunk chunk_at(const Chunking *c, int64_t n, int64_t k);
int64_t chunks_drop(const Chunking *c, int64_t n); /* positions of the document that are in no window */

/* ------------------------------------------------------------------ rows of several */

typedef enum Packing {
    PACK_NONE,  /* one row per piece */
    PACK_NEXT,  /* next-fit: in order; a new row if a piece does not fit into the last */
    PACK_FIRST, /* first-fit decreasing: the longest first (ties in order), each into the first row with room for it */
} Packing;

typedef struct Slot { /* of a piece */
    int64_t row;
    int32_t column;  /* its first position in the row */
    int32_t segment; /* pieces before it in the row: its number for the attention's mask; positions restart with it */
} Slot;

/* Packs n pieces of length[i] positions (1 … seq) into rows of seq; returns the number of rows.  scratch:
 * pack_scratch(n, seq) bytes, aligned for int64_t. */
int64_t pack_pieces(Packing how, const int32_t *length, int64_t n, int64_t seq, Slot *out, void *scratch);
int64_t pack_scratch(int64_t n, int64_t seq);

/* ------------------------------------------------------------------ data/buckets.c: pairs of like lengths */

typedef struct Pair_lengths {
    int32_t source, target;
} Pair_lengths;

typedef struct Bucketing {
    int64_t batch;   /* rows per batch; the first rows complete a batch that the `phase` rows before them began */
    int64_t phase;   /* 0 … batch - 1 */
    int64_t buckets; /* batches per pool, whose rows are sorted together */
    int64_t longest; /* no length is above this */
    int32_t seed;
    int64_t which;   /* number of the draw, among all with that seed */
} Bucketing;

/* order[n]: rows in drawn order.  Puts rows of a pool with similar lengths, by source and then by target, into batches,
 * and shuffles the batches.  scratch: bucket_scratch() bytes, aligned for int32_t. */
void bucket_rows(const Bucketing *how, const Pair_lengths *of, int32_t *order, int64_t n, void *scratch);
int64_t bucket_scratch(int64_t n, int64_t longest);
/* The number of positions if each row is padded to the longest source and target of its batch. */
int64_t bucket_places(const Bucketing *how, const Pair_lengths *of, const int32_t *order, int64_t n);

/* ------------------------------------------------------------------ lengths of many documents, in bounded memory */

typedef struct Lengths Lengths; /* a histogram: exact below 2,048, beyond within 1 in 1,024 */

Lengths *new_lengths(void);
void add_length(Lengths *h, int64_t n);
int64_t length_count(const Lengths *h);
int64_t length_sum(const Lengths *h);
int64_t length_least(const Lengths *h); /* 0 if there are none, like the next */
int64_t length_most(const Lengths *h);
int64_t length_quantile(const Lengths *h, double q); /* the least length that at least q of all do not exceed */
int64_t lengths_between(const Lengths *h, int64_t from, int64_t to); /* number of lengths in from … to - 1 */

#endif
