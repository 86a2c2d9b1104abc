/* init.h: initial values of parameters, and the layout of their copies. */
#ifndef LATHE_MODEL_INIT_H
#define LATHE_MODEL_INIT_H

#include "interface/lathe_model.h"
#include "model/block.h"

/* Fills the flat array (elements of lathe_weights(m)) by the parameter table.  An element's value depends only on the
 * seed, the parameter's export name with its copy numbers filled in, and the element's index in that copy.  Padding is
 * zeroed. */
void init_parameters(const Lathe_model *m, uint64_t seed, void *flat);
void init_statistics(const Lathe_model *m, void *statistics); /* one after another */
void init_weights(const Lathe_model *m, uint64_t seed, const Memory *memory); /* both */
void clear_zero_rows(const Lathe_model *m, void *flat); /* after drawing or loading */

/* The number of copies of a parameter (the product of its loop axes), and of elements in each. */
int64_t copies_of_parameter(const Lathe_param *p);
int64_t copy_elements(const Lathe_param *p);
/* The index in the flat arrays of an element of a copy, both counted in C order. */
int64_t copy_place(const Lathe_param *p, int64_t copy, int64_t element);
int64_t contiguous_elements(const Lathe_param *p); /* length of the contiguous runs of a copy */
/* The export name with the copy's numbers filled in: "h.3.attn.c_attn.weight". */
void copy_name(char *out, size_t size, const Lathe_param *p, int64_t copy);

#endif
