/* labels.h: the labels of texts or of their words, as they are met in files, and the classes that they become. */
#ifndef LATHE_DATA_LABELS_H
#define LATHE_DATA_LABELS_H

#include "base/words.h"
#include "data/cells.h"
#include "token/token.h"

typedef struct Label_place { /* where a label is first */
    int file;                /* of the paths */
    int64_t line;
} Label_place;

typedef struct Labels {
    const Words *paths;
    Strings met;        /* numbered as they are met */
    Label_place *first; /* [met.n] */
    int32_t room;
    int64_t given; /* how often one was taken */
    bool whole, worded; /* a list has labels that are integers; texts that are none */
} Labels;

int32_t take_label(Labels *l, int file, const Cells *c, const char *label); /* its number */
/* The classes: `known`, those of training; NULL: what was met.  Labels that are all numbers are ids: of unknown classes
 * at least half of those up to the largest must be met.  What cannot be classes ends the program (3). */
Words classes_of_labels(const Labels *l, const Words *known);
int32_t *ids_of_labels(const Labels *l, const Words *classes); /* [met.n], from malloc */
void tell_missing_labels(const Labels *l, const Words *classes); /* of numbers, in a note */
void free_labels(Labels *l);

#endif
