/* row_pictures.h: pictures that are rows of arrays. */
#ifndef LATHE_DATA_ROW_PICTURES_H
#define LATHE_DATA_ROW_PICTURES_H

#include "data/vary.h"

typedef struct Row_pictures Row_pictures;

/* Of the input that the recipe says are pictures; NULL: it says none. */
Row_pictures *open_row_pictures(const Reading *reading, const Lathe_entry *e);
int64_t row_pictures_heap(const Row_pictures *v);
/* Varies the rows in the inputs of a step as pictures of files vary.  turn [e->rows] */
void vary_row_pictures(Row_pictures *v, const Lathe_entry *e, char *in, const File_turn *turn);
void mix_row_pictures(const Row_pictures *v, const Lathe_entry *e, char *in, const File_turn *turn,
                      const Next_row *next); /* as mix_pictures() does */
char *settings_as_they_are(const Lathe_recipe *r); /* --set options with which nothing varies; from malloc */
bool must_be_bytes(const Lathe_recipe *r, const Lathe_tensor *t); /* a picture's pixels, because they vary */

#endif
