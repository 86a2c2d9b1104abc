/* recordings.h: batches of recordings as log-mel features, with their texts or classes. */
#ifndef LATHE_DATA_RECORDINGS_H
#define LATHE_DATA_RECORDINGS_H

#include "data/files.h"

/* ------------------------------------------------------------------ data/recordings.c */

/* known: the classes of training; NULL: those of the data. */
Files *open_recordings(const Reading *reading, const Lathe_entry *e, const Words *known);
/* Once the training part is known, row [n]: characters get their ids. */
void settle_texts(Files *f, const Reading *reading, const Words *known, const int32_t *row, int64_t n);

/* ------------------------------------------------------------------ data/letters.c: texts as ids of characters */

/* Gives index->classes: those of training if known, otherwise "", the blank, and the characters of the texts of
 * row [n], in their order.  Tells which characters of other texts are not among them. */
void settle_letters(File_index *s, const Words *known, const int32_t *row, int64_t n);
int64_t letters_in(const char *text); /* characters */
/* The ids of a text, in out [room] (NULL: none are wanted), then zeros; characters without an id are left out.  Returns how many it has. */
int64_t letter_ids(const File_index *s, const char *text, int32_t *out, int64_t room);
Words letters_of_texts(const File_index *s); /* of all, with the blank first */

#endif
