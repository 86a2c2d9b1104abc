/* weights.h: parameters in files of safetensors. */
#ifndef LATHE_MODEL_WEIGHTS_H
#define LATHE_MODEL_WEIGHTS_H

#include "interface/lathe_model.h"
#include "model/place.h"
#include "model/safetensors.h"

/* Collects everything that does not fit, so that one message names it all. */
typedef struct Misfits {
    int n;
    char *text, *layers; /* layers: whose shapes differ, separated by commas */
} Misfits;
void add_misfit(Misfits *m, char *line);   /* takes the line */
const char *more_misfits(const Misfits *m); /* "and 3 more", or "" */

/* Every parameter and statistic, under its export name.  except: layers (head) or patterns of names (h.*.attn.*),
 * separated by commas, that keep what they have, whatever the file holds; "": none, and the message about tensors that
 * do not fit says how to give some; NULL: none. */
void load_weights(const Lathe_model *m, const char *path, void *flat, void *statistics, const char *except);
bool is_of_layers(const char *layers, const char *name); /* layers: as except; NULL: none */
/* base: of adapters (model/base.h); NULL: not known. */
void save_weights(const Lathe_model *m, const char *path, const char *base, const void *flat, const void *statistics);
/* One copy of a parameter. */
void put_copy(Store_writer *w, const Lathe_param *p, int64_t copy, const void *flat, Lathe_dtype type);
void put_weights(Store_writer *w, const Lathe_model *m, const char *base, const void *flat, const void *statistics);
/* The same file, with `average`, an array of the trained parameters of type `real`, for these; and the file beside it, which
 * has both arrays bit for bit. */
void put_averages(Store_writer *w, const Lathe_model *m, const char *base, const void *flat, const void *average,
                  const void *statistics);
void put_trained(Store_writer *w, const Lathe_model *m, const void *flat, const void *average);
/* NULL: only checked; own: of average, NULL: all elements. */
void load_trained(const Lathe_model *m, const Store *s, void *flat, void *average, const Own_elements *own);
/* NULL: only checks them; converted: of any real type, else of the model's own. */
void load_model(const Lathe_model *m, const Store *s, void *flat, void *statistics, bool converted);
/* Arrays of the parameters that have moments, in their layout, of the type given.  own: NULL: all elements. */
void load_arrays(const Lathe_model *m, const Store *s, int arrays, const char *const *prefix, void *const *flat,
                 Lathe_dtype type, const Own_elements *own);
/* The same tensors under prefix + export name, for grad: of gradients, which frozen parameters do not have. */
void declare_parameters(Store_writer *w, const Lathe_model *m, const char *prefix, Lathe_dtype type);
void put_parameters(Store_writer *w, const Lathe_model *m, const void *flat, Lathe_dtype type); /* flat: of that type */
void declare_moments(Store_writer *w, const Lathe_model *m, const char *prefix, Lathe_dtype type); /* likewise */
void put_moments(Store_writer *w, const Lathe_model *m, const void *flat, Lathe_dtype type);

#endif
