/* classify.h: shared by source/source.c and source/classify.c. */
#ifndef LATHE_SOURCE_CLASSIFY_H
#define LATHE_SOURCE_CLASSIFY_H

#include "source/source.h"

/* Fills in the other members.  False: the user did not name the file, and its format is not supported. */
bool classify_file(Source_file *f, const Source_options *o, bool named);

#endif
