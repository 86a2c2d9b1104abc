/* cache.h: the folder in which ids of text are kept between runs, for all programs of a user at once. */
#ifndef LATHE_BASE_CACHE_H
#define LATHE_BASE_CACHE_H

#include "base/file.h"

/* $LATHE_CACHE, or lathe/ in $XDG_CACHE_HOME or ~/.cache; made if it is not there; from malloc.  NULL: there is none
 * (LATHE_CACHE=off, or it cannot be made). */
char *cache_folder(void);
int64_t cache_limit(const char *folder); /* bytes that may lie in it: $LATHE_CACHE_LIMIT */
/* For reading.  Marks it as used now, and as in use until the descriptor is closed; -1: it is not there. */
int open_cached(const char *path);
/* Puts a file that was written in the folder, NAME.part, and synced, in its place; to make room for it, what was not
 * used for longest goes.  False: it does not fit below the limit ($LATHE_CACHE_LIMIT), or a fault: it is gone. */
bool keep_in_cache(const char *aside, const char *path, Fault *f);

#endif
