/* kept.h: the parts of files' documents with their ids, kept between runs. */
#ifndef LATHE_DATA_KEPT_H
#define LATHE_DATA_KEPT_H

#include "data/stream.h"
#include "source/source.h"
#include "token/tokenizer.h"

typedef struct Kept Kept; /* of a stream: what one thread reads, and one writes */
typedef enum Got_kept { KEPT_PART, KEPT_END, KEPT_DAMAGED } Got_kept; /* DAMAGED: the rest is to be read from the file */

Kept *open_kept(const Sources *from, const Tokenizer *t); /* NULL: nothing can be kept, or nothing gained by it */
void close_kept(Kept *k);
/* What a file's parts are kept as, by its content, which is read for it; 0: they are not to be kept. */
uint64_t kept_key(Kept *k, int file);
bool has_not_changed(Kept *k, int file); /* since then */
/* False: to be read from the file itself. */
bool find_kept(Kept *k, int file, uint64_t key, const Place *from);
Got_kept next_kept(Kept *k, Document_part *part); /* its ids stay until the next call; at.hash is never 0 */
void keep_part(Kept *k, const Document_part *part); /* of a file that is read from its beginning, or its end */

#endif
