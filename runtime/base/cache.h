/* cache.h: the folder in which ids of text are kept between runs, for all programs of a user at once. */
#ifndef DATA_CACHE_H
#define DATA_CACHE_H

#include "trainer/trainer.h"

/* $LATHE_CACHE, or lathe/ in $XDG_CACHE_HOME or ~/.cache; made if it is not there; from malloc.  NULL: there is none
 * (LATHE_CACHE=off, or it cannot be made). */
char *cache_folder(void);
int64_t cache_limit(const char *folder); /* bytes that may lie in it: $LATHE_CACHE_LIMIT */
/* For reading.  Marks it as used now, and as in use until the descriptor is closed; -1: it is not there. */
int open_cached(const char *path);
/* Puts a file that was written in the folder, NAME.part, and synced, in its place; to make room for it, what was not
 * used for longest goes.  False: it does not fit below the limit ($LATHE_CACHE_LIMIT), or a fault: it is gone. */
bool keep_in_cache(const char *aside, const char *path, Fault *f);

/* ------------------------------------------------------------------ data/kept.c: the parts of files' documents */

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
