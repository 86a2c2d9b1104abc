/* schema.h: what the columns of a table mean: numbers, dates, categories, the target; time and series. */
#ifndef LATHE_DATA_SCHEMA_H
#define LATHE_DATA_SCHEMA_H

#include "base/words.h"
#include "data/cells.h"
#include "interface/lathe_model.h"
#include "token/token.h"

#include <jansson.h>

typedef enum Column_kind {
    COLUMN_NUMBER,
    COLUMN_DATE,
    COLUMN_CATEGORY,
    COLUMN_LEFT_OUT,
    COLUMN_TARGET,
    COLUMN_KNOWN, /* of series: a number that is known ahead; a NUMBER is known of the past alone */
    COLUMN_TIME,  /* of series: of a row */
    COLUMN_SERIES /* of series: which one a row belongs to */
} Column_kind;

enum { MOST_SLOTS = 5 }; /* numbers that a column becomes: of a date its day, and sine and cosine of year and week */

typedef struct Column {
    char *name;
    Column_kind kind;
    bool flagged;             /* it has missing values, so a number says whether one is missing */
    double mean[MOST_SLOTS], deviation[MOST_SLOTS]; /* of numbers, in the training part */
    char **level;             /* of a category, and of a target of classes: their names, sorted */
    int levels;
    int32_t unknown; /* id of unknown values; each column has its own */
    int32_t *id;     /* of each level among the ids of all categories, or the class; unknown, if it is too rare */
    int64_t missing;
    char *why; /* it is left out, or a category; NULL: there is nothing to tell */
} Column;

typedef struct Schema Schema;
struct Schema {
    Column *column;
    int columns, target, targets; /* target: the first; -1: the file has none */
    bool classes;        /* the target is a class */
    int numbers, categories; /* inputs of a row */
    int64_t levels;          /* ids of categories are below this */
    int64_t rows;            /* of the files that it was made from */
};

typedef struct Table_form { /* what the user says of a table */
    const char *target; /* a column, or several, separated by commas: numbers */
    Lathe_task task;
    const char *drop, *as_categories; /* columns, separated by commas; NULL: none */
    const char *weight;               /* the column with the weights of rows, which is no input; NULL: none */
    const char *group;                /* whose values the split keeps together; no input, unless as_categories has it */
} Table_form;

/* Reads the files once.  Kinds are found from all rows; means, deviations and ids are still to be learned
 * (learn_columns). */
Schema *find_schema(const Words *paths, const Table_form *form);
/* Ends the program (3) if the file lacks the column; unless it is needed, JSON lines get an empty one, with a note. */
int place_of_column(Cells *c, const char *name, bool needed, const char *path);
int place_of_weight(const Cells *c, const char *name, const char *path); /* likewise; -1: name is NULL */
bool list_has(const char *list, const char *name);                 /* whether the list "a,b" names the column */
/* Ends the program (3) if the list names others than the columns of c; option: for the message. */
void check_listed(const Cells *c, const char *path, const char *option, const char *list);
void refuse_stream(const char *path, const char *why); /* ends the program (3) if it is a pipe or standard input */
Column *target_column(const Schema *s, int k); /* the k-th, in the order of the columns */
int slots_of(const Column *c);    /* numbers that it becomes, without the flag */
bool is_missing(const char *cell); /* "", NA, NaN, null, None, ? … */
bool parse_date(const char *cell, double *days); /* "2024-02-29", "2024-02-29 12:30:00"; days since 1970-01-01 */
int level_of(const Column *c, const char *name); /* -1: none */
const char *schema_text(const Schema *s); /* "8 numbers, 3 categories of 27 values, target price: a number" */
void tell_left_out(const Schema *s); /* and columns that are categories because of a few cells */

/* data/schema_json.c: as a checkpoint has it */
json_t *schema_json(const Schema *s);
Schema *read_schema(const char *path); /* ends the program (3) if it is damaged */

#endif
