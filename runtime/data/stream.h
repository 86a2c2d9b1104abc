/* stream.h: from files to batches without pauses: the order of sequences, and the threads that prepare them.
 *
 *     reader -> parcels of documents -> encoders -> parcels of ids -> block -> rows of a batch
 *
 * An epoch takes the files in an order drawn from (seed, epoch), and their documents in the files' order.  Documents,
 * or parts of long ones, form blocks of block_tokens ids.  A block is cut into rows of seq tokens, which are taken in
 * an order drawn from (seed, epoch, block).  So the next row depends only on the place, a few numbers, and not on
 * threads or time; resuming from a place reads one block again.  The first blocks of the first epoch are small, so that
 * the first step does not wait for a large one.  Every stage has bounded memory: stream_bytes(). */
#ifndef LATHE_DATA_STREAM_H
#define LATHE_DATA_STREAM_H

#include "data/pack.h"
#include "interface/lathe_model.h"
#include "source/source.h"
#include "token/tokenizer.h"

typedef struct Order {      /* everything that determines the rows */
    int64_t seq, stride;    /* ids of a row; distance between starts of rows in a long document */
    int64_t block_tokens;   /* shuffled with each other */
    int64_t first_tokens;   /* in the first block; each block is twice the one before, up to block_tokens; 0: equal */
    bool pack;              /* documents are separate and padded; otherwise joined */
    bool shuffle, once;     /* once: one epoch */
    bool validation;        /* the documents kept for evaluation instead of the others */
    double val_fraction;    /* of all documents, by their hashes */
    int32_t seed;
    int32_t bos, eos;       /* ids around each chat; -1: none */
    int32_t begin, end;     /* ids around each text: those, or as the tokenizer of imported weights has them; -1: none */
    int64_t ids;            /* all are below this */
    /* of pairs (and chats) in one sequence: begin source sep target pair_end */
    bool targets_only;      /* only ids of targets count */
    bool all_count;         /* all ids count; neither: pairs are refused */
    int32_t sep, pair_end;  /* -1: none */
    /* pairs for an encoder and a decoder, one row per pair: */
    bool pairs;
    bool skip_long;          /* skip pairs that do not fit, instead of cutting them */
    int32_t pad;             /* fills rows of the source and of the decoder's inputs */
    int64_t source_seq;      /* ids of a source; seq: of a target */
    int64_t batch, buckets;  /* rows per batch; batches among which rows are sorted by length, 0: unsorted */
} Order;

typedef struct Pair_sum { /* of pairs; tokens are counted before cutting */
    int64_t pairs, source, target;
    int64_t least_source, most_source, least_target, most_target;
    int64_t cut, skipped;             /* too long for a row */
    int64_t places, drawn, bucketed;  /* positions: used; padded to each batch's longest, as drawn and as taken */
} Pair_sum;

typedef struct Stream_sum {                     /* of blocks */
    int64_t documents, tokens, rows, predicted; /* predicted: targets that count */
    int64_t epoch;                              /* the epoch, once it has ended */
    Pair_sum pairs;
} Stream_sum;

typedef struct Stream_at { /* a place in that order */
    int64_t epoch, block;  /* block: its number in the epoch */
    Place from;            /* of the block's first part; file -1: the epoch's start */
    int64_t used;          /* rows of the block taken */
    int64_t taken;         /* rows taken in all */
    int64_t predicted;     /* targets in them that count */
    Stream_sum before;     /* of this epoch's earlier blocks */
} Stream_at;

typedef enum Part_kind { PART_TEXT, PART_SOURCE, PART_TARGET, PART_CHAT } Part_kind;

typedef struct Document_part { /* of a document, as threads pass it on */
    Place at;
    Part_kind kind;
    bool counts;          /* as targets */
    bool plain;           /* text that is not searched for special tokens */
    bool goes_on;         /* the next part has the same place: no block ends between */
    int64_t begin, bytes; /* of its text, or its ids in the shard's format, in the parcel */
    int id_size;          /* 0: text */
    const int32_t *id;    /* [n] */
    int64_t n;
    bool first, last;
    uint64_t hash; /* of the document */
    uint64_t keep; /* the key of its file's parts in the cache (data/kept.c); 0: not cached */
    bool skipped;  /* belongs to the other part: only cached */
    bool ends_file; /* no part: the file has ended; last: and is cached */
} Document_part;

/* ------------------------------------------------------------------ data/block.c: a block and its rows */

enum { PART_BYTES = LATHE_PART_BYTES }; /* of text in a parcel, or of a part of a document; bounds its ids */

typedef struct Document_sizes { /* in ids, of the documents that are completely in a block */
    int64_t documents, ids, shortest, longest, split; /* split: longer than a row */
} Document_sizes;

typedef struct Row_piece { /* adjacent positions of a row: ids begin … begin + places - 1; targets are one later */
    int32_t begin, places;
} Row_piece;

typedef struct Block {
    int64_t epoch, number; /* number: within the epoch */
    Place from;
    bool last;   /* of its epoch */
    int32_t *id; /* [ids] */
    int64_t ids, rows;
    bool masked;       /* an id that does not count as a target is stored as its complement */
    int32_t *order;    /* [rows] */
    int64_t documents; /* documents that end in it */
    Document_sizes sizes;
    int64_t length; /* ids of the last document so far */
    int64_t predicted; /* targets that count, over all rows */
    /* packed: */
    int32_t *run;     /* [runs + 1]: first id of each document */
    Row_piece *piece; /* [pieces], and their rows: */
    Slot *slot;
    int32_t *row, *of_row; /* [rows + 1], [pieces]: pieces of_row[row[k]] … of_row[row[k + 1] - 1] are in row k */
    int64_t runs, pieces;
    void *scratch; /* of pack_pieces, sort_by_lengths */
    /* of pairs: */
    int64_t rows_before; /* rows in all earlier blocks: they give the place of its first row in a batch */
    Pair_lengths *pair;  /* [runs], of pairs that fit; run: first id of its source, then the target's */
    int64_t source;      /* ids of the last source, before it was cut */
    Pair_sum sum;
} Block;

/* Rows of a batch: [n][seq]; NULL: not wanted.  A target that does not count is -1; positions restart in each segment,
 * segments count from 1, 0 is padding. */
typedef struct Rows {
    int64_t n, from; /* from: the first of the n rows in the arrays */
    int32_t *tokens, *targets, *segments, *positions;
    int32_t *source, *source_lengths, *lengths; /* of pairs: [n][source_seq], [n], [n] */
} Rows;

void open_rows(Block *b, const Order *o);
void close_rows(Block *b);
int64_t block_bytes(const Order *o);
void start_rows(Block *b); /* empty again */
bool block_is_full(const Block *b, const Order *o);
void add_part(Block *b, const Order *o, const Document_part *p);
void cut_rows(Block *b, const Order *o); /* cuts it into rows and orders them */
void read_row(const Block *b, const Order *o, int64_t k, const Rows *to,
              int64_t at);                                      /* copies the k-th row in order to row `at` */
int64_t row_targets(const Block *b, const Order *o, int64_t k); /* number of targets that count */

/* ------------------------------------------------------------------ data/pairs.c: blocks of Order.pairs */

void open_pairs(Block *b, const Order *o);
void add_pair_part(Block *b, const Order *o, const Document_part *p);
void sort_pairs(Block *b, const Order *o); /* sorts shuffled rows into batches of similar lengths */
void read_pair_row(const Block *b, const Order *o, int64_t k, const Rows *to, int64_t at);
void count_pair(Pair_sum *s, int64_t source, int64_t target);
void add_pairs(Pair_sum *to, const Pair_sum *of);
char *pairs_text(const Pair_sum *s, const Order *o); /* for reports; from malloc */

/* ------------------------------------------------------------------ data/parcels.c: reading and encoding documents */

bool is_held(double val_fraction, uint64_t hash); /* whether a document of that hash is kept for evaluation */

typedef struct Parcels Parcels;

typedef enum Next {
    NEXT_PART,
    NEXT_EPOCH,
    NEXT_NONE
} Next; /* NEXT_EPOCH: an epoch has ended; NEXT_NONE: all have, or there was a failure */

Parcels *open_parcels(const Sources *from, const Tokenizer *t, const Order *o, int encoders, const Stream_at *at);
void stop_parcels(Parcels *p);  /* ends the threads; next_part() then returns nothing */
void close_parcels(Parcels *p); /* after stop_parcels() */
int64_t parcels_bytes(const Order *o, const Tokenizer *t, int encoders);
Next next_part(Parcels *p, Document_part *part); /* in order; its ids are valid until the next call */
char *parcels_failure(Parcels *p, int *code);    /* NULL: none */

/* ------------------------------------------------------------------ data/stream.c: rows, one after another */

typedef struct Row_stream Row_stream;

/* at NULL: from the beginning.  Threads start immediately. */
Row_stream *open_stream(const Sources *from, const Tokenizer *t, const Order *o, int encoders, const Stream_at *at);
void close_stream(Row_stream *s);
int64_t stream_bytes(const Order *o, const Tokenizer *t, int encoders); /* of memory, at most */
/* Copies the next rows; false: there are none, a thread failed, or end_waits() ended the wait; the place is then
 * unchanged. */
bool stream_rows(Row_stream *s, const Rows *to);
void end_waits(void); /* ends all waits from now on; for signal handlers.  Only one thread of the program waits */
bool skip_rows(Row_stream *s, int64_t n);
bool take_block(Row_stream *s,
                Block *b); /* the next whole block; the caller then owns it (close_rows) and closes the stream */
Stream_at stream_at(const Row_stream *s);
const Block *block_in_use(const Row_stream *s); /* the block of the last row */
/* A thread's failure, as a message for fail(), once the rows before it are used up; NULL: none. */
const char *stream_failure(Row_stream *s, int *code);
bool epoch_ended(Row_stream *s, Stream_sum *of); /* true once after the last row of each epoch */
double stream_fill(Row_stream *s);               /* 0 … 1: the share of rows that are ready */

/* ------------------------------------------------------------------ data/mix.c: several streams as one */

typedef struct Turns { /* decides whose row is next */
    int n;
    int64_t weight[LATHE_SOURCES], all; /* all: their sum */
    int64_t lag[LATHE_SOURCES];
} Turns;

void start_turns(Turns *t, const int64_t *weight, const int64_t *had, int n); /* had: rows taken by these weights */
int next_turn(Turns *t);

typedef struct Mix_part {
    Row_stream *stream;
    int64_t weight; /* as lathe_mix() has it */
    int64_t mixed;  /* rows taken by these weights */
    Stream_at at;   /* the place after them; valid once the mixture is open */
} Mix_part;

typedef struct Mixture Mixture;
Mixture *open_mixture(const Mix_part *part, int n); /* the mixture takes over the streams */
void close_mixture(Mixture *m);
/* Copies the next n rows from number `first` on; false: a source has no more, or has failed; places are then
 * unchanged. */
bool mixture_rows(Mixture *m, const Rows *to, int64_t n, int64_t first);
bool skip_mixture(Mixture *m, int64_t n);
Mix_part mixture_part(const Mixture *m, int i);
const Block *mixture_block(const Mixture *m, int i); /* the block of source i's last row; NULL: none yet */
int64_t mixture_predicted(const Mixture *m);                         /* targets in those rows that count */
int64_t mixture_taken(const Mixture *m);                             /* rows of all sources */
const char *mixture_failure(Mixture *m, int *code);                  /* as stream_failure() */
bool mixture_epoch_ended(const Mixture *m);                         /* whether mixture_epoch() would return one */
bool mixture_epoch(Mixture *m, int *source, Stream_sum *of);         /* once for each epoch that has ended */
double mixture_fill(Mixture *m);                                     /* the least of the sources' stream_fill() */

#endif
