/* series.h: time series as the inputs of a model: windows of past rows and of those to forecast. */
#ifndef LATHE_DATA_SERIES_H
#define LATHE_DATA_SERIES_H

#include "base/words.h"
#include "data/reading.h"
#include "data/schema.h"
#include "data/split.h"
#include "interface/lathe_model.h"

typedef struct One_series { /* rows one after another in time */
    int64_t first, rows;    /* of Series.number; rows: up to the last one with a value of the past */
    int64_t ahead;          /* rows after them, which have the columns known ahead alone */
    const char *name;
} One_series;

typedef struct Series {
    const Reading *reading;
    Schema *schema;
    int targets, channels, columns; /* numbers of a row: targets, others known of the past, those known ahead */
    int64_t past, ahead;            /* rows of a window: what is known, what is forecast */
    int64_t rows, room;
    double *number; /* [rows][columns]; NAN: missing, and nothing before it */
    double *time;   /* [rows] days or numbers; NULL: there is no such column */
    bool dates;
    uint8_t *observed; /* [rows][columns] 0: filled in; NULL: all are observed */
    uint64_t *trail;   /* [rows + 1] of rows before one, for the hash of any stretch */
    One_series *at;
    int n;
} Series;

/* ------------------------------------------------------------------ data/series_schema.c: the columns */

typedef struct Series_form {
    const char *target, *past, *known, *time, *series, *drop; /* names of columns; lists with commas; NULL: none */
} Series_form;

/* Of the files' columns; reads all of them if no target is named. */
Schema *find_series_schema(const Words *paths, const Series_form *form);
int columns_of_kind(const Schema *s, Column_kind kind);
/* Of the k-th number of a row: targets, others of the past, known ahead. */
Column *value_column(const Schema *s, int k);

/* ------------------------------------------------------------------ data/series_rows.c: reading */

/* Reads the files.  A time that does not rise, and what is missing unless it is to be filled, ends the program (3). */
void read_series(Series *s);
char *series_time_text(const Series *s, int64_t row); /* "2024-02-29 13:00:00", "17.5"; from malloc */

/* ------------------------------------------------------------------ data/series.c: windows */

/* Opens the files of --data; known NULL: the columns are found, and learn_series() must be called. */
Series *open_series(const Reading *reading, Schema *known);
/* Lists the windows of the training part, then those to evaluate, by the numbers of their first rows, in row; returns
 * their number, and that of the former.  Predicting: those whose future is not known. */
int64_t divide_series(const Series *s, const Split_rule *rule, int32_t **row, int64_t *train);
void learn_series(const Series *s, const Split_rule *rule, const int32_t *row, int64_t train);
void fill_missing(Series *s); /* takes for what is missing the value before it; after learn_series() */
void fill_series(const Series *s, const Lathe_entry *e, char *in, const int64_t *item);
int64_t series_heap(const Series *s);
uint64_t series_hash(const Series *s);
uint64_t window_hash(const Series *s, int64_t item); /* of all its rows */
const One_series *series_of_row(const Series *s, int64_t row);
double series_target(const Series *s, int64_t item, int64_t step, int k); /* in its own units; NAN: not observed */

#endif
