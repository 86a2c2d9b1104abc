/* rows.h: rows of the inputs that a description declares. */
#ifndef LATHE_DATA_ROWS_H
#define LATHE_DATA_ROWS_H

#include "base/words.h"
#include "data/reading.h"
#include "interface/lathe_model.h"

typedef struct Row_data Row_data;

/* Opens the arrays of --data for the inputs of these entries of the model, which end with NULL, and the array
 * recipe.group [rows], if there is one; where predictions are made, for those inputs that they read (reading.inputs).  A
 * path is a file with several arrays by the inputs' names (.npz, .safetensors), a folder of NAME.npy, an array whose
 * file has an input's name, or NAME=FILE.  Files of the same input are joined.  An error in them ends the program (3). */
Row_data *rows_of_arrays(const Reading *reading, const Lathe_entry *const *entries);
bool comes_from_data(const Lathe_tensor *t); /* an input: not drawn, nor the step's number */
int64_t rows_in_data(const Row_data *d);
int64_t rows_heap(const Row_data *d);  /* bytes allocated */
uint64_t rows_hash(const Row_data *d); /* of all values */
const uint64_t *row_hashes(const Row_data *d); /* [rows] of the inputs of eval */
const uint64_t *row_groups(const Row_data *d); /* [rows] hashes of the group's values; NULL: there is no such array */
bool class_of_row(const Row_data *d, int64_t row, double *class); /* of the only target, if that is an id; else false */
/* Fills the inputs of a call with the rows row [e->rows]. */
void fill_from_rows(const Row_data *d, const Lathe_entry *e, char *in, const int64_t *row);

#endif
