/* classify.h: what source/source.c and source/classify.c share. */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include "source/source.h"

/* Fills in the rest of what is known of a file.  False: not named by the user, and nothing that can be read. */
bool classify_file(Source_file *f, const Source_options *o, bool named);

#endif
