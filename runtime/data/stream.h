/* stream.h: from files to batches without a pause: which sequences come in which order, and the threads that have them
 * ready.
 *
 *     reader -> parcels of documents -> encoders -> parcels of ids -> block -> rows of a batch
 *
 * An epoch takes the files in an order drawn from (seed, epoch), their documents as they come, in blocks: documents, or
 * parts of long ones, until their ids reach block_tokens.  A block is cut into rows of seq tokens, and these are taken
 * in an order drawn from (seed, epoch, block).  So what comes next follows from a place, a handful of numbers, and
 * neither from threads nor from time; going on from a place reads one block again.  The first blocks of the first epoch
 * are small, so that the first step does not wait for a large one.  Every stage is bounded: stream_bytes(). */
#ifndef LATHE_DATA_STREAM_H
#define LATHE_DATA_STREAM_H

#include "data/pack.h"
#include "interface/lathe_model.h"
#include "source/source.h"
#include "token/tokenizer.h"

typedef struct Order {      /* what decides on the rows */
    int64_t seq, stride;    /* ids of a row; from the start of one to that of the next, in a long document */
    int64_t block_tokens;   /* shuffled with each other */
    int64_t first_tokens;   /* in the first block; each is twice the one before, up to block_tokens; 0: all are alike */
    bool pack;              /* documents apart from each other and padded; else one joined to the next */
    bool shuffle, once;     /* once: one epoch */
    bool validation;        /* those documents instead of the others */
    double val_fraction;    /* of all documents, by their hashes */
    int32_t seed, bos, eos; /* bos, eos: ids around each document; -1: none */
    int64_t ids;            /* all are below this */
    /* of pairs (and chats) in one sequence: bos source sep target pair_end */
    bool targets_only;      /* no other ids of theirs count as targets */
    bool all_count;         /* as the user says; neither: such are refused */
    int32_t sep, pair_end;  /* -1: none */
    /* of pairs for an encoder and a decoder, a row each: */
    bool pairs;
    bool skip_long;          /* those that do not fit, instead of cutting them */
    int32_t pad;             /* behind the source, and what the decoder reads */
    int64_t source_seq;      /* ids of a source; seq: of a target */
    int64_t batch, buckets;  /* rows with each other in a batch; batches among which rows are sorted by length, 0: none */
} Order;

typedef struct Pair_sum { /* of pairs; tokens as they are before anything is cut */
    int64_t pairs, source, target;
    int64_t least_source, most_source, least_target, most_target;
    int64_t cut, skipped;             /* longer than there is room for */
    int64_t places, drawn, bucketed;  /* of data.pairs: used; up to the longest of each batch: in drawn order, in that taken */
} Pair_sum;

typedef struct Stream_sum {                     /* of blocks */
    int64_t documents, tokens, rows, predicted; /* predicted: targets that count */
    int64_t epoch;                              /* that they are of, where it has ended */
    Pair_sum pairs;
} Stream_sum;

typedef struct Stream_at { /* where in that order */
    int64_t epoch, block;  /* block: of the epoch */
    Place from;            /* of the block's first part; file -1: the epoch's start */
    int64_t used;          /* rows of the block taken */
    int64_t taken;         /* rows taken in all */
    int64_t predicted;     /* their targets that count */
    Stream_sum before;     /* of this epoch's blocks before this one */
} Stream_at;

typedef enum Part_kind { PART_TEXT, PART_SOURCE, PART_TARGET } Part_kind;

typedef struct Document_part { /* of a document, as the threads hand it on */
    Place at;
    Part_kind kind;
    bool counts;          /* as targets */
    bool plain;           /* text without special tokens, whatever it looks like */
    bool goes_on;         /* what follows is of the same place: no block ends between */
    int64_t begin, bytes; /* of its text, or of its ids as a shard has them, in the parcel */
    int id_size;          /* 0: text */
    const int32_t *id;    /* [n] */
    int64_t n;
    bool first, last;
    uint64_t hash; /* of the document */
    uint64_t keep; /* what its file's parts are kept as (data/kept.c); 0: they are not */
    bool skipped;  /* of the other side: to be kept and no more */
    bool ends_file; /* no part: the file has ended; last: and is to be kept */
} Document_part;

/* ------------------------------------------------------------------ data/block.c: a block and its rows */

enum { PART_BYTES = LATHE_PART_BYTES }; /* of text in a parcel, the longest part of a document; its ids are no more */

typedef struct Document_sizes { /* in ids, of the documents that lie in a block as a whole */
    int64_t documents, ids, shortest, longest, split; /* split: longer than a row */
} Document_sizes;

typedef struct Row_piece { /* places side by side in a row: ids begin … begin + places - 1, their targets one further */
    int32_t begin, places;
} Row_piece;

typedef struct Block {
    int64_t epoch, number; /* number: in the epoch */
    Place from;
    bool last;   /* of its epoch */
    int32_t *id; /* [ids] */
    int64_t ids, rows;
    bool masked;       /* an id that does not count as a target is kept as its complement */
    int32_t *order;    /* [rows] */
    int64_t documents; /* that end in it */
    Document_sizes sizes;
    int64_t length; /* ids of the last document so far */
    int64_t predicted; /* targets that count, over all rows */
    /* packed: */
    int32_t *run;     /* [runs + 1]: first id of each document */
    Row_piece *piece; /* [pieces], and where they are: */
    Slot *slot;
    int32_t *row, *of_row; /* [rows + 1], [pieces]: pieces of_row[row[k]] … of_row[row[k + 1] - 1] are in row k */
    int64_t runs, pieces;
    void *scratch; /* of pack_pieces, sort_by_lengths */
    /* of pairs: */
    int64_t rows_before; /* in all blocks before it: where in a batch its first row is */
    Pair_lengths *pair;  /* [runs], of what is kept; run: first id of its source, the target's follow */
    int64_t source;      /* ids of the source that was added last, before it was cut */
    Pair_sum sum;
} Block;

/* Rows of a batch: [n][seq]; NULL where unwanted.  A target that does not count is -1; positions restart in each
 * segment, segments count from 1, 0 is padding. */
typedef struct Rows {
    int64_t n, from; /* from: row of the arrays that the first of n goes to */
    int32_t *tokens, *targets, *segments, *positions;
    int32_t *source, *source_lengths, *lengths; /* of pairs: [n][source_seq], [n], [n] */
} Rows;

void open_rows(Block *b, const Order *o);
void close_rows(Block *b);
int64_t block_bytes(const Order *o);
void start_rows(Block *b); /* empty again */
bool block_is_full(const Block *b, const Order *o);
void add_part(Block *b, const Order *o, const Document_part *p);
void cut_rows(Block *b, const Order *o); /* into rows, in their order */
void read_row(const Block *b, const Order *o, int64_t k, const Rows *to,
              int64_t at);                                      /* the k-th in order, to row `at` */
int64_t row_targets(const Block *b, const Order *o, int64_t k); /* how many count */

/* ------------------------------------------------------------------ data/pairs.c: blocks of Order.pairs */

void open_pairs(Block *b, const Order *o);
void add_pair_part(Block *b, const Order *o, const Document_part *p);
void sort_pairs(Block *b, const Order *o); /* rows that have been drawn into an order, into batches of like lengths */
void read_pair_row(const Block *b, const Order *o, int64_t k, const Rows *to, int64_t at);
void count_pair(Pair_sum *s, int64_t source, int64_t target);
void add_pairs(Pair_sum *to, const Pair_sum *of);
char *pairs_text(const Pair_sum *s, const Order *o); /* for reports; from malloc */

/* ------------------------------------------------------------------ data/parcels.c: documents read and encoded */

bool is_held(double val_fraction, uint64_t hash); /* whether a document of that hash is kept for evaluation */

typedef struct Parcels Parcels;

typedef enum Next {
    NEXT_PART,
    NEXT_EPOCH,
    NEXT_NONE
} Next; /* NEXT_EPOCH: one has ended; NEXT_NONE: all have, or a failure */

Parcels *open_parcels(const Sources *from, const Tokenizer *t, const Order *o, int encoders, const Stream_at *at);
void stop_parcels(Parcels *p);  /* ends the threads; next_part() has nothing any more */
void close_parcels(Parcels *p); /* after that */
int64_t parcels_bytes(const Order *o, const Tokenizer *t, int encoders);
Next next_part(Parcels *p, Document_part *part); /* in order; its ids stay until the next call */
char *parcels_failure(Parcels *p, int *code);    /* NULL: none */

/* ------------------------------------------------------------------ data/stream.c: rows, one after another */

typedef struct Row_stream Row_stream;

/* at NULL: from the beginning.  Threads start at once. */
Row_stream *open_stream(const Sources *from, const Tokenizer *t, const Order *o, int encoders, const Stream_at *at);
void close_stream(Row_stream *s);
int64_t stream_bytes(const Order *o, const Tokenizer *t, int encoders); /* of memory, at most */
/* The next rows; false where there are none any more, because of a failure in a thread, or where end_waits() cut the
 * waiting short: the place is as before. */
bool stream_rows(Row_stream *s, const Rows *to);
void end_waits(void); /* for good: a signal's handler calls it.  One thread of the program waits, no more */
bool skip_rows(Row_stream *s, int64_t n);
bool take_block(Row_stream *s,
                Block *b); /* the next block, whole; the caller's then (close_rows); the stream is to be closed */
Stream_at stream_at(const Row_stream *s);
const Block *block_in_use(const Row_stream *s); /* that the last row was of */
/* What went wrong in a thread, as fail() says it, once the rows before it are used up; NULL: nothing. */
const char *stream_failure(Row_stream *s, int *code);
bool epoch_ended(Row_stream *s, Stream_sum *of); /* true once after the last row of each epoch */
double stream_waited(const Row_stream *s);       /* seconds that the caller has waited for rows */
double stream_fill(Row_stream *s);               /* 0 … 1: of the rows that can be ready, those that are */

/* ------------------------------------------------------------------ data/mix.c: several streams as one */

typedef struct Turns { /* whose row is next */
    int n;
    int64_t weight[LATHE_SOURCES], all; /* all: their sum */
    int64_t lag[LATHE_SOURCES];
} Turns;

void start_turns(Turns *t, const int64_t *weight, const int64_t *had, int n); /* had: rows by these weights so far */
int next_turn(Turns *t);

typedef struct Mix_part {
    Row_stream *stream;
    int64_t weight; /* as lathe_mix() has it */
    int64_t mixed;  /* rows taken by these weights */
    Stream_at at;   /* behind them; of use once the mixture is open */
} Mix_part;

typedef struct Mixture Mixture;
Mixture *open_mixture(const Mix_part *part, int n); /* the streams are the mixture's from here on */
void close_mixture(Mixture *m);
/* The next n rows, of which those from `first` on are wanted; false where a source has none any more, or has failed: the places
 * are as before. */
bool mixture_rows(Mixture *m, const Rows *to, int64_t n, int64_t first);
bool skip_mixture(Mixture *m, int64_t n);
Mix_part mixture_part(const Mixture *m, int i);
const Block *mixture_block(const Mixture *m, int i); /* that its last row was of; NULL: none yet */
int64_t mixture_predicted(const Mixture *m);                         /* their targets that count */
int64_t mixture_taken(const Mixture *m);                             /* rows of all, in all */
const char *mixture_failure(Mixture *m, int *code);                  /* as stream_failure() */
bool mixture_epoch_ended(const Mixture *m);                         /* whether that has something to give */
bool mixture_epoch(Mixture *m, int *source, Stream_sum *of);         /* once for each epoch that has ended */
double mixture_fill(Mixture *m);                                     /* of the source with the least */

#endif
