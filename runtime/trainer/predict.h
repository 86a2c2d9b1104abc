/* predict.h: predictions for rows of data, and the files that they are written into. */
#ifndef LATHE_TRAINER_PREDICT_H
#define LATHE_TRAINER_PREDICT_H

#include "data/copied.h"
#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/block.h"
#include "trainer/trainer.h"

typedef struct Predictions {
    const Lathe_entry *entry; /* predict */
    const Lathe_tensor **output;
    int outputs; /* those asked for: all that Give_row reads */
    const Data *data;
    const Memory *memory;
    Lathe_call call;
    int64_t rows; /* fewer than the data has: spread evenly over it */
    const Trainer *training; /* an interruption ends them, and ranks share them; NULL: a command of its own */
    Copied *copied; /* columns of the data that are written before the outputs; NULL: none */
} Predictions;

/* Gives the number-th row: out is the outputs of its batch, row its place there. */
typedef void Give_row(void *with, const char *out, int64_t row, int64_t number);
void each_prediction(const Predictions *p, Give_row *give, void *with); /* runs the entry over all rows, in order */
int64_t predicted_item(const Predictions *p, int64_t number); /* the item of the data that the number-th row is */
int64_t predicted_width(const Predictions *p, const Lathe_tensor *output); /* numbers of a row */
/* The numbers of a row, into x; a table's prediction in the target's units.  Returns predicted_width(). */
int64_t predicted_numbers(const Predictions *p, const Lathe_tensor *t, const char *out, int64_t row, double *x);
const char *predicted_name(const Predictions *p, int64_t number);  /* the file of a row; NULL: rows have none */
const char *predicted_fault(const Predictions *p, int64_t number); /* why the row cannot be read; NULL: it was */
bool are_forecasts(const Predictions *p, const Lathe_tensor *t);   /* of series: [rows][ahead][targets] */
/* Whose units the k-th of them has; NULL: it is as it is. */
const Column *scaled_target(const Predictions *p, const Lathe_tensor *t, int64_t k);
const char *predicted_class(const Predictions *p, int64_t class); /* its name; NULL: it has none but its number */

/* ---- trainer/predict_files.c: a file that cannot be written ends the program (1), and an old one stays as it was */

bool is_written(const Predictions *p, const char *name); /* whether tables of predictions have a column of that name */
void write_csv(const Predictions *p, const char *path); /* -: standard output */
void write_jsonl(const Predictions *p, const char *path);
void write_npy(const Predictions *p, const char *path); /* one output */
void write_predicted_store(const Predictions *p, const char *path); /* safetensors; runs the model once per output */

void put_field(FILE *f, const char *text); /* of a CSV: in quotes where RFC 4180 asks for them */
void put_copied(FILE *f, const Copied *c, const char *(*text)(const Copied *, int k)); /* each with a comma; c may be NULL */
/* Turns logits into probabilities; returns the likeliest class, the first of equal ones; -1 if one is not a number. */
int64_t to_probabilities(double *x, int64_t n);

/* ---- trainer/predict_words.c: labels of words, by logits [batch][positions][classes] */

bool are_word_labels(const Predictions *p, const Lathe_tensor *t);
bool has_word_lines(const Predictions *p); /* CSV: a line for each word */
bool is_word_column(const char *name);
void put_word_header(FILE *f, const Predictions *p);
void put_word_lines(FILE *f, const Predictions *p, double *x, int64_t number);
void put_word_lists(json_t *to, const Predictions *p, double *x, int64_t number); /* JSON lines: tokens, labels, probabilities */

/* ---- trainer/npy_file.c */

char *npy_head(const Lathe_tensor *t, int64_t rows, size_t *bytes); /* float for what has 16 bits */

#endif
