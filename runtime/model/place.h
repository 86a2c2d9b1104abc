/* place.h: weights in the flat array of parameters, of which the last ones may lie in blocks (interface/dtype.h). */
#ifndef LATHE_MODEL_PLACE_H
#define LATHE_MODEL_PLACE_H

#include "interface/held.h"
#include "interface/lathe_model.h"

#include <stdbool.h>

int64_t weights_in_blocks(const Lathe_model *m);   /* the last of the flat array; 0: none */
char *words_of_blocks(const Lathe_model *m);        /* "q8_0 and q4_0", from malloc; NULL: none */
bool lies_in_blocks(const Lathe_model *m, const Lathe_param *p);
Lathe_dtype type_of_weight(const Lathe_model *m, const Lathe_param *p);
/* e: an element of the flat array; in blocks, the first of one. */
void *parameter_at(const Lathe_model *m, const void *flat, int64_t e);
double read_weight(const Lathe_model *m, const void *flat, int64_t e);      /* any element */
/* n neighbours, each the nearest number of their type; in blocks n is a multiple of LATHE_BLOCK. */
void write_reals(Lathe_dtype t, void *at, int64_t n, const double *x);
void write_weights(const Lathe_model *m, void *flat, int64_t e, int64_t n, const double *x);
void clear_weights(const Lathe_model *m, void *flat); /* all */

/* Elements that one of several ranks has, bucket by bucket (interface/dealt.h); limit: those below it. */
typedef struct Own_elements {
    const Lathe_deal *deal;
    int rank;
    int64_t limit;
} Own_elements;
/* From now on only these elements of an array are there, at `own`, and the frozen ones behind all of them, where they were.
 * Others may be written with these functions, which does nothing; `flat` is only an address. */
void keep_own_weights(const void *flat, void *own, const Own_elements *which);
bool has_all_weights(const void *flat);
bool has_any_weight(const Lathe_model *m, const void *flat, int64_t e, int64_t n);
/* Of n neighbours from e on: how many of the first lie side by side, at *at.  NULL: another rank has these. */
int64_t weights_beside(const Lathe_model *m, const void *flat, int64_t e, int64_t n, void **at);

#endif
