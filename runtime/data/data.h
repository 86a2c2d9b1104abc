/* data.h: the data of training: tokens of text, tables of numbers, documents in epochs, and batches of them. */
#ifndef LATHE_DATA_DATA_H
#define LATHE_DATA_DATA_H

#include "base/words.h"
#include "data/files.h"
#include "data/preferences.h"
#include "data/reading.h"
#include "data/row_pictures.h"
#include "data/rows.h"
#include "data/sentences.h"
#include "data/series.h"
#include "data/split.h"
#include "data/stream.h"
#include "data/table.h"
#include "interface/lathe_model.h"
#include "source/source.h"
#include "step/state.h"
#include "token/tokenizer.h"

#include <jansson.h>

/* ------------------------------------------------------------------ data/text.c, data/csv.c, data/data.c: batches */

typedef struct Text_data Text_data;
typedef struct Csv_data Csv_data;

/* Opens the files and checks every byte once.  BPE and words are encoded (token/cache.c).  limit: the model's vocab.
 * An error in a file ends the program (3). */
Text_data *open_text(const Words *paths, Tokenizer *t, int64_t limit);
Text_data *open_token_shards(const Sources *s); /* not compressed: their ids */
int64_t text_tokens(const Text_data *t);
uint64_t text_hash(const Text_data *t); /* of all bytes */
int64_t text_heap(const Text_data *t); /* bytes allocated beside the mapped files */
void read_tokens(const Text_data *t, int64_t first, int64_t n, int32_t *out);

/* Requirements on a table of numbers. */
typedef struct Csv_form {
    const char *target; /* the column of classes */
    const char *weight; /* the column of the weights of rows; NULL: none */
    const char *group;  /* the column that rows are split by; NULL: none.  A feature only if the model has one for it */
    int64_t features;   /* of the model */
    int64_t classes;    /* classes are below this; 0: not known */
    int64_t ignored;    /* another class, which losses leave out: -100; 0: none */
    bool single;        /* features become fp32 */
    bool optional;      /* these columns may be missing or hold anything, and are not read */
} Csv_form;
bool is_class(const Csv_form *f, double x);
const char *no_class(const Csv_form *f, double x); /* the message */
bool fits_single(const Csv_form *f, double x);     /* true if features are not fp32 */
void tell_feature(double x, const char *place, const char *column); /* refuses or warns */

/* A table of numbers: first line names, one column integers 0 … classes-1.  Or two arrays (data/arrays.c). */
Csv_data *open_csv(const Words *paths, const Csv_form *form);
Csv_data *new_csv(int features);
void add_csv_row(Csv_data *c, const double *feature, int32_t class);
Csv_data *open_arrays(const Words *paths, const Csv_form *form); /* FEATURES.npy [rows][…] CLASSES.npy [rows] */
int64_t csv_rows(const Csv_data *c);
int csv_features(const Csv_data *c);
int64_t csv_heap(const Csv_data *c);
uint64_t csv_hash(const Csv_data *c); /* of all values */
uint64_t csv_row_hash(const Csv_data *c, int64_t row);
bool csv_group(const Csv_data *c, const char *column, int64_t row, uint64_t *key); /* false: no such column */
const double *csv_row(const Csv_data *c, int64_t row); /* [features]; until the next call for another row */
int32_t csv_class(const Csv_data *c, int64_t row);
double csv_weight(const Csv_data *c, int64_t row);

/* ------------------------------------------------------------------ data/epochs.c: documents, epoch after epoch */

typedef struct Epoch_source { /* has its own documents, epochs and order: all of --data, or one path of a mixture */
    const char *path;
    Sources *files;
    int64_t weight;
    Order order, held_order;
    Block held; /* rows for evaluation */
} Epoch_source;

typedef struct Epochs {
    const Reading *reading;
    Epoch_source *source; /* [n] */
    int n;
    int64_t weights; /* their sum */
    Tokenizer *tokenizer;
    Order order;         /* before it is divided among the sources */
    int64_t eval_tokens; /* likewise */
    int readers;         /* of each source */
    Mixture *rows;       /* NULL: not started */
    int64_t held_rows;
    int64_t more;        /* rows taken before a resume, beyond the number of steps times the present rows per step */
} Epochs;

int64_t first_block_tokens(const Order *o); /* Order.first_tokens of a new run */

/* data/special.c: the recipe's settings of pairs; the tokens around documents. */
void settle_pairs(Order *o, const Reading *reading);
void settle_specials(Order *o, const Reading *reading, const Tokenizer *k);
struct Origin;
const struct Origin *origin_read(const Reading *reading, const Tokenizer *k); /* NULL: other weights, another tokenizer */
bool wants_epochs(const Reading *reading); /* by the recipe, or if --data is more than plain text files */
Sources *shards_alone(const Reading *reading); /* NULL: --data has other files, or compressed ones */
/* Finds the files of --data and reads the rows for evaluation.  k: a tokenizer of characters without numbers is
 * learned. */
Epochs *open_epochs(const Reading *reading, Tokenizer *k);
Source_options source_settings(const Lathe_recipe *r, bool bytes); /* for files; bytes: the tokenizer's kind */
/* Counts rows by reading them.  A mixture's epoch has as many rows as one epoch of each source together, though their
 * shares differ. */
int64_t rows_of_an_epoch(const Epochs *e);
double source_share(const Epochs *e, int source); /* its share of the rows */
/* The number of rows with `targets` targets that count.  Packed rows are counted by reading at most an epoch (of a
 * mixture, until each source has ended one); beyond that, in proportion. */
int64_t rows_for_targets(const Epochs *e, int64_t targets);
int64_t targets_taken(const Epochs *e); /* targets that count, in all rows so far */
int64_t rows_taken_before(const Epochs *e, int64_t step); /* by the steps of a run that was never resumed with others */
bool fill_epochs(Epochs *e, const Lathe_entry *entry, char *in, int64_t step);
void fill_held(const Epochs *e, const Lathe_entry *entry, char *in, const int64_t *item);
uint64_t epochs_hash(const Epochs *e);
int64_t epochs_bytes(const Epochs *e); /* most memory */
int64_t held_bytes(const Epochs *e);   /* of the rows for evaluation alone */
char *files_text(const Epoch_source *s); /* "12 files, 1.4 GB", and tokens if they are known */

/* ------------------------------------------------------------------ data/items.c: sources, each once */

typedef struct Reference_list {
    Passage *at;
    int64_t n, room;
} Reference_list;

typedef struct Item_list {
    int64_t n, found;          /* found: number that they were drawn from */
    Passage *source;           /* [n], in the order of the data */
    Reference_list *reference; /* [n], of held: all targets of each */
} Item_list;

/* Sources of --data: at most `most`, drawn by the seed; 0: all.  held: those of the pairs kept for evaluation;
 * otherwise of all pairs, which then need no target. */
Item_list *read_items(const Reading *reading, const Tokenizer *k, int64_t most, bool held);

/* ------------------------------------------------------------------ data/place.c: in a checkpoint */

json_t *epochs_json(const Epochs *e);
/* Starts the threads; from NULL: at the beginning of the data. */
Mixture *open_rows_of(const Epochs *e, const State *from);
void start_epochs(Epochs *e, const State *from);

/* ------------------------------------------------------------------ data/data.c */

/* Where batches come from.  An item is a window of seq + 1 tokens (named by its first token) or a row of a CSV; the
 * last val_fraction of the tokens, or the rows that data/split.c picks, are never trained on. */
typedef struct Data {
    const Reading *reading;
    Text_data *text; /* one of the eight */
    Csv_data *csv;
    Row_data *rows;
    Row_pictures *row_pictures; /* NULL: no input of the rows is pictures */
    File_turn *turn;         /* [rows of a batch + 1] of those; NULL: not yet */
    Table *table;
    Files *files;
    Series *series;
    Preferences *preferences;
    Sentences *sentences;
    Epochs *epochs;
    Tokenizer *tokenizer;           /* of text */
    int64_t seq;                    /* tokens in a window; 1 for rows */
    int64_t train, val;             /* tokens or rows in each part */
    int64_t train_items, val_items; /* number of windows to draw from; of windows side by side; or of rows */
    int64_t stretch; /* order contiguous: consecutive windows that a row of the batch reads in an epoch; otherwise 0 */
    Split_rule rule;                /* of rows */
    int32_t *row; /* [train + val] of rows: their numbers in the data, those to train on first; of series: of windows */
    int32_t *order;                 /* CSV: [train] this epoch's permutation */
    int64_t *item;                  /* of a step */
    int64_t more; /* items taken before a resume, beyond those of as many steps of the present rows; negative: fewer */
    int64_t epoch;                  /* of `order`; -1: none yet */
    bool readable;                  /* files to evaluate that cannot be read are left out already */
    struct Data *held;              /* of --val-data; NULL: the last part of this is evaluated */
    json_t *origin;                 /* hashes of description, plan and data (trainer/state.c); NULL: not yet taken */
} Data;

/* data/open_rows.c: all data but text, by the model's kind. */
void open_data_of_rows(Data *d, const Lathe_entry *e, bool training);
const char *rows_words(const Reading *reading); /* what --data should be */

/* data/sides.c: divides rows by d->rule: row, train, val. */
void divide_rows(Data *d, int64_t rows);
/* Tells how many rows of the evaluated part of `held` are also in the training part of d, value for value. */
void tell_equal_rows(const Data *d, const Data *held);

void open_data(Data *d, const Reading *reading, Tokenizer *k); /* reading outlives d; k: NULL: choose_tokenizer()'s */
void need_data(const Reading *reading); /* ends the program (2) if the command line names none */
bool reads_text(const Reading *reading); /* not a table */
const Data *evaluated(const Data *d); /* the data of evaluations */
/* Files to evaluate that cannot be read are left out, where bad_records allows some; each is read once for it. */
void leave_out_unreadable(Data *d);
void tell_unreadable(const Data *d); /* at the end of a run: how many there were */
const Words *classes_of(const Data *d); /* names of files' or texts' classes; NULL: there are none */
Schema *columns_of(const Data *d);    /* of a table or series; NULL: it has none */
int64_t data_heap(const Data *d);     /* most bytes allocated beside mapped files */
bool data_grows(const Data *d);       /* they are filled as steps are taken, not when it is opened */
/* The command line's; else the one saved beside the weights (NULL: none); else the recipe's. */
Tokenizer *choose_tokenizer(const Reading *reading, const char *weights);
/* Ends the program (3) if the tokenizer has more tokens than the model. */
void check_tokenizer_size(const Reading *reading, const Tokenizer *own);
_Noreturn void fail_without_characters(void); /* shards do not say which characters their ids are */
/* The items of an optimizer step: windows drawn uniformly, or those that follow the last step's; rows in a new order
 * each epoch.  They depend on seed, step and n.  With several ranks, each gets n: this one items rank n … rank n + n -
 * 1. */
void train_items(Data *d, int64_t step, int64_t n, int64_t *item);
Give_turn turn_of_row; /* of a Data whose items are rows */
int64_t val_item(const Data *d, int64_t k); /* the k-th of val_items */
void fill_items(const Data *d, const Lathe_entry *e, char *in, const int64_t *item);
/* Fills the inputs of a step; false: there is no more data, or a reading thread failed (stream_failure). */
bool fill_step(Data *d, const Lathe_entry *e, char *in, int64_t step);
int64_t items_before(const Data *d, int64_t step); /* that all steps before this one take, on all ranks */
/* data/place.c: a run goes on behind the items that it has taken, however many rows its steps have now. */
void continue_items(Data *d, const State *from);
int64_t steps_for_items(const Data *d, int64_t items); /* the first steps that have taken as many; at least 1 */
int64_t epoch_items(const Data *d);   /* items of the training part; documents are read to count them */
/* Units: rows of a table; tokens of text; for padded rows, targets that count. */
int64_t items_for_units(const Data *d, int64_t units);
int64_t units_taken(const Data *d, int64_t items); /* by `items` items; of documents, by all rows so far */
int data_readers(const Data *d); /* threads that read ahead; 0: there are none */
const char *data_failure(const Data *d, int *code); /* why fill_step() returned false; NULL: no more data */
bool has_tokens(const Data *d);       /* items are text */
const char *item_word(const Data *d); /* "windows", "sequences", "pairs", "pictures", "recordings" or "rows" */

#endif
