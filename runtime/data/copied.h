/* copied.h: columns of a table that predictions are written beside. */
#ifndef LATHE_DATA_COPIED_H
#define LATHE_DATA_COPIED_H

#include "base/words.h"

typedef struct Copied Copied;

/* The files of a table, read once more for these columns, whose names commas separate.  A name that is no column ends
 * the program (3). */
Copied *open_copied(const Words *paths, const char *names);
int copied_columns(const Copied *c);
const char *copied_name(const Copied *c, int k);
void next_copied(Copied *c); /* the next row; ends the program (3) if the files have no more */
const char *copied_text(const Copied *c, int k); /* of the row */

#endif
