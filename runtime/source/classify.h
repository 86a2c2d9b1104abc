/* classify.h: what source/source.c and source/classify.c share. */
#ifndef LATHE_SOURCE_CLASSIFY_H
#define LATHE_SOURCE_CLASSIFY_H

#include "source/source.h"

/* Fills in the rest of what is known of a file.  False: not named by the user, and nothing that can be read. */
bool classify_file(Source_file *f, const Source_options *o, bool named);

#endif
