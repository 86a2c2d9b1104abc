/* kept.h: the parts of files' documents with their ids, kept between runs. */
#ifndef LATHE_DATA_KEPT_H
#define LATHE_DATA_KEPT_H

#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

typedef struct Kept Kept; /* cached entries of a stream: one thread reads, one writes */
typedef enum Got_kept { KEPT_PART, KEPT_END, KEPT_DAMAGED } Got_kept; /* DAMAGED: read the rest from the file */

Kept *open_kept(const Sources *from, const Tokenizer *t); /* NULL: nothing can be cached, or it would save no time */
void close_kept(Kept *k);
/* The key of a file's parts, by its content, which is read for this; 0: they are not cached. */
uint64_t kept_key(Kept *k, int file);
bool has_not_changed(Kept *k, int file); /* since kept_key() */
/* False: read the file itself. */
bool find_kept(Kept *k, int file, uint64_t key, const Place *from);
Got_kept next_kept(Kept *k, Document_part *part); /* its ids stay until the next call; at.hash is never 0 */
void keep_part(Kept *k, const Document_part *part); /* of a file read from its beginning; or its end */

#endif
