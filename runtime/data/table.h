/* table.h: a table of mixed columns as the inputs of a model: numbers, categories, targets. */
#ifndef LATHE_DATA_TABLE_H
#define LATHE_DATA_TABLE_H

#include "base/words.h"
#include "data/schema.h"
#include "data/split.h"
#include "interface/lathe_model.h"

typedef struct Table Table;

typedef struct Table_reading {
    bool predicting;   /* neither target nor weight is read */
    Split_rule split;  /* what it compares of rows is kept */
    const char *weight; /* column; NULL: none */
} Table_reading;

/* Reads the files by the schema; columns are found by their names.  Rows are kept in memory or in a file
 * (data/stored.h).  A value that does not fit ends the program (3); one of a category that is not known counts as
 * unknown, and is told. */
Table *load_table(const Words *paths, Schema *s, const Table_reading *how);
/* Learns means, deviations and the ids of categories from the rows row[0 … rows - 1].  A value of a category that is
 * found only once there has the id of unknown ones, which is so learned too. */
void learn_columns(Table *t, const int32_t *row, int64_t rows);
void check_sizes(const Table *t, const Lathe_entry *e, const char *path); /* ends the program (3) if the model's differ */
int64_t table_rows(const Table *t);
Schema *table_schema(const Table *t);
int64_t table_heap(const Table *t); /* bytes of memory */
uint64_t table_hash(const Table *t);
uint64_t table_row_hash(const Table *t, int64_t row); /* of what the model reads of it */
bool table_has_keys(const Table *t);
uint64_t table_key(const Table *t, int64_t row); /* hash of the texts of all its cells, or of its group's */
double table_target(const Table *t, int64_t row, int k); /* the k-th, in its own units, or the class */
void fill_table(const Table *t, const Lathe_entry *e, char *in, const int64_t *row);
void fill_table_units(const Table *t, const Lathe_entry *e, char *in); /* what the target is scaled by, alone */

#endif
