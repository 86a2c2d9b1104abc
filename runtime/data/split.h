/* split.h: which rows of a table or of arrays are trained on, and which are evaluated. */
#ifndef LATHE_DATA_SPLIT_H
#define LATHE_DATA_SPLIT_H

#include "interface/lathe_model.h"

typedef struct Split_rule {
    Lathe_split by;
    double fraction;     /* of the rows, to evaluate; 1: all */
    int64_t fold, folds; /* instead of the fraction: the fold-th of so many parts, from 1; folds 0: the fraction */
    const char *group;   /* column or array; NULL: none */
    bool series;         /* it divides whole series, by their names */
} Split_rule;

bool parse_fold(const char *text, int64_t *fold, int64_t *folds); /* "2/5" */
Split_rule split_rule(const Lathe_recipe *r); /* ends the program (2) if its settings do not fit each other */
const char *group_to_read(const Lathe_recipe *r); /* NULL: no rule compares groups */
bool reads_keys(const Split_rule *s); /* whether the rule compares rows; otherwise only their order counts */
char *words_of_split(const Split_rule *s); /* "fold 2 of 5, by the hash of a row"; NULL: the last part, or all */

/* Lists the rows to train on in row [rows], then those to evaluate, each in the order of the data; returns the number
 * of the former.  key [rows]: by hash, of the row; by group, of its group; stratified, its class; NULL: by order. */
int64_t split_rows(const Split_rule *s, int64_t rows, const uint64_t *key, int32_t *row);
/* Groups, as equal keys make them. */
int64_t count_groups(int64_t rows, const uint64_t *key);

#endif
