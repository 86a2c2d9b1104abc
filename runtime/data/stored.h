/* stored.h: rows of equal size, added one after another and then read in any order. */
#ifndef LATHE_DATA_STORED_H
#define LATHE_DATA_STORED_H

#include "base/hash.h"

#include <stdint.h>

/* The first LATHE_TABLE_MEMORY bytes (64 MB) of rows are kept in memory.  The others lie in a file in $TMPDIR (else
 * /var/tmp), which has no name, so that it is gone however the program ends. */
typedef struct Stored Stored;

Stored *open_stored(int64_t row_bytes); /* a multiple of 8 */
void *add_stored(Stored *s);            /* the next row, zeroed, to be filled in before the next call; aligned for doubles */
/* The row, until the next call with another.  Rows in a rising order are read many at a time. */
const void *stored_row(Stored *s, int64_t row);
int64_t stored_rows(const Stored *s);
int64_t stored_heap(const Stored *s); /* bytes of memory */
void hash_stored(Hash *h, Stored *s, int64_t first, int64_t bytes); /* these bytes of each row */

#endif
