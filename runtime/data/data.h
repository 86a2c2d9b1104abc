/* data.h: what feeds training: tokens of text, tables of numbers, documents epoch after epoch, and the batches made of
 * them.  */
#ifndef LATHE_DATA_DATA_H
#define LATHE_DATA_DATA_H

#include "base/words.h"
#include "data/reading.h"
#include "data/stream.h"
#include "interface/lathe_model.h"
#include "source/source.h"
#include "step/state.h"
#include "token/tokenizer.h"

#include <jansson.h>

/* ------------------------------------------------------------------ data/text.c, data/csv.c, data/data.c: batches */

typedef struct Text_data Text_data;
typedef struct Csv_data Csv_data;

/* Opens and checks every byte once.  BPE and words are encoded (token/cache.c).  limit: the model's vocab.
 * Whatever is wrong with a file ends the program (3). */
Text_data *open_text(const Words *paths, Tokenizer *t, int64_t limit);
Text_data *open_token_shards(const Sources *s); /* unpacked: their ids */
int64_t text_tokens(const Text_data *t);
uint64_t text_hash(const Text_data *t); /* of all bytes */
int64_t text_heap(const Text_data *t); /* bytes taken beside the mapped files */
void read_tokens(const Text_data *t, int64_t first, int64_t n, int32_t *out);

/* What a table of numbers must hold. */
typedef struct Csv_form {
    const char *target; /* the column of classes */
    int64_t classes;    /* they are below it; 0: it is not known */
    int64_t ignored;    /* one more that counts for none, -100; 0: there is none such */
    bool single;        /* features become fp32 */
} Csv_form;
bool is_class(const Csv_form *f, double x);
const char *no_class(const Csv_form *f, double x); /* the message */
bool fits_single(const Csv_form *f, double x);     /* or features are not fp32 */
void tell_feature(double x, const char *place, const char *column); /* what does not: refused, or a warning */

/* A table of numbers: first line names, one column integers 0 … classes-1.  Or two arrays (data/arrays.c). */
Csv_data *open_csv(const Words *paths, const Csv_form *form);
Csv_data *new_csv(int64_t rows, int features, double **feature, int32_t **class); /* both to be filled in */
bool are_arrays(const Words *paths);                         /* all of them .npy */
Csv_data *open_arrays(const Words *paths, const Csv_form *form); /* FEATURES.npy [rows][…] CLASSES.npy [rows] */
int64_t csv_rows(const Csv_data *c);
int csv_features(const Csv_data *c);
int64_t csv_heap(const Csv_data *c);
uint64_t csv_hash(const Csv_data *c); /* of all values */
const double *csv_row(const Csv_data *c, int64_t row); /* [features] */
int32_t csv_class(const Csv_data *c, int64_t row);

/* ------------------------------------------------------------------ data/epochs.c: documents, epoch after epoch */

typedef struct Epoch_source { /* what has documents, epochs and an order of its own: all of --data, or, mixed, a path */
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
    Order order;         /* before it is shared out among the sources */
    int64_t eval_tokens; /* likewise */
    int readers;         /* of each source */
    Mixture *rows;       /* NULL: not started */
    int64_t held_rows;
    int64_t more;        /* rows that were taken before, beyond as many steps with as many rows as now */
} Epochs;

int64_t first_block_tokens(const Order *o); /* Order.first_tokens of a new run */

/* data/special.c: what the recipe says of pairs; the tokens around documents. */
void settle_pairs(Order *o, const Reading *reading);
void settle_specials(Order *o, const Reading *reading, const Tokenizer *k);
bool wants_epochs(const Reading *reading); /* as the recipe says, or where --data is more than plain text files */
Sources *shards_alone(const Reading *reading); /* NULL: there is something else among --data, or a packed one */
/* Finds the files of --data and reads the rows for evaluation.  k: characters without a number yet are learnt. */
Epochs *open_epochs(const Reading *reading, Tokenizer *k);
Source_options source_settings(const Lathe_recipe *r, bool bytes); /* what the recipe says of files; bytes: of the tokenizer */
/* By reading them.  A mixture's epoch has the rows that one of each source has, though not one of each. */
int64_t rows_of_an_epoch(const Epochs *e);
double source_share(const Epochs *e, int source); /* of the rows */
/* Rows with so many targets that count: of packed ones by reading an epoch at most (a mixture's until each source has
 * ended one); what is more, in proportion. */
int64_t rows_for_targets(const Epochs *e, int64_t targets);
int64_t targets_taken(const Epochs *e); /* that count, of all rows so far */
bool fill_epochs(Epochs *e, const Lathe_entry *entry, char *in, int64_t step);
void fill_held(const Epochs *e, const Lathe_entry *entry, char *in, const int64_t *item);
uint64_t epochs_hash(const Epochs *e);
int64_t epochs_bytes(const Epochs *e); /* of memory, at most */
int64_t held_bytes(const Epochs *e);   /* of what is held back alone */
char *files_text(const Epoch_source *s); /* "12 files, 1.4 GB", and tokens where they are known */

/* ------------------------------------------------------------------ data/items.c: sources, each once */

typedef struct Reference_list {
    Passage *at;
    int64_t n, room;
} Reference_list;

typedef struct Item_list {
    int64_t n, found;          /* found: of which they were drawn */
    Passage *source;           /* [n], in the order of the data */
    Reference_list *reference; /* [n], of held: all targets of each */
} Item_list;

/* Of --data; at most so many, drawn by the seed, 0: all.  held: of the pairs kept for evaluation; else of all, and a
 * target is not needed. */
Item_list *read_items(const Reading *reading, const Tokenizer *k, int64_t most, bool held);

/* ------------------------------------------------------------------ data/place.c: in a checkpoint */

json_t *epochs_json(const Epochs *e);
/* The threads; from NULL: at the beginning. */
Mixture *open_rows_of(const Epochs *e, const State *from);
void start_epochs(Epochs *e, const State *from);

/* ------------------------------------------------------------------ data/data.c */

/* Where batches come from.  An item is a window of seq + 1 tokens (named by its first token) or a row of a CSV; the
 * last val_fraction of the tokens or rows is never trained on. */
typedef struct Data {
    const Reading *reading;
    Text_data *text; /* one of the three */
    Csv_data *csv;
    Epochs *epochs;
    Tokenizer *tokenizer;           /* of text */
    int64_t seq;                    /* tokens in a window; 1 for rows */
    int64_t train, val;             /* tokens or rows in each part */
    int64_t train_items, val_items; /* places to start from; windows side by side, rows */
    int64_t stretch; /* order contiguous: windows that a row of the batch reads in an epoch, one after the other; else 0 */
    int32_t *order;                 /* CSV: [train] this epoch's permutation */
    int64_t *item;                  /* of a step */
    int64_t epoch;                  /* that order belongs to; -1: none yet */
    struct Data *held;              /* of --val-data; NULL: what is evaluated is the last part of this */
    json_t *origin;                 /* hashes of description, plan and data (trainer/state.c); NULL: not yet taken */
} Data;

void open_data(Data *d, const Reading *reading, Tokenizer *k); /* which stays; k: of text; NULL: choose_tokenizer()'s */
bool reads_text(const Reading *reading); /* not a table */
const Data *evaluated(const Data *d); /* where items for evaluation come from */
int64_t data_heap(const Data *d);     /* bytes taken beside mapped files, at most */
/* As the command line says; as saved beside the weights (NULL: none); as the recipe says. */
Tokenizer *choose_tokenizer(const Reading *reading, const char *weights);
/* Ends the program (3) where the tokenizer has more tokens than the model. */
void check_tokenizer_size(const Reading *reading, const Tokenizer *own);
_Noreturn void fail_without_characters(void); /* to a tokenizer of characters, of shards */
int64_t items_in_call(const Lathe_entry *e); /* rows of its batch, micro-batches included */
/* Item_list of an optimizer step: windows drawn uniformly, or those that follow the last step's; rows in a new order each
 * epoch.  They depend on seed, step, n.  Of several GPUs, each with n, those of this one: rank n … rank n + n - 1. */
void train_items(Data *d, int64_t step, int64_t n, int64_t *item);
int64_t val_item(const Data *d, int64_t k); /* the k-th of val_items */
void fill_items(const Data *d, const Lathe_entry *e, char *in, const int64_t *item);
/* The inputs of a step; false: there is no more data, or a thread that reads it has failed (stream_failure). */
bool fill_step(Data *d, const Lathe_entry *e, char *in, int64_t step);
int64_t epoch_items(const Data *d);   /* side by side in the training part; of documents, counted by reading them */
/* Units: rows of a table; tokens of text, but of those that padding is not: targets that count. */
int64_t items_for_units(const Data *d, int64_t units);
int64_t units_taken(const Data *d, int64_t items); /* by so many items; of documents, by all rows so far */
bool has_tokens(const Data *d);       /* items are of text */
const char *item_word(const Data *d); /* "windows", "sequences" or "rows" */

#endif
