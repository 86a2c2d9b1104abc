/* cache.h: the folder in which ids of text are kept between runs, for all programs of a user at once. */
#ifndef LATHE_BASE_CACHE_H
#define LATHE_BASE_CACHE_H

#include "base/file.h"

/* $LATHE_CACHE, or lathe/ in $XDG_CACHE_HOME or ~/.cache; created if necessary; from malloc.  NULL: none
 * (LATHE_CACHE=off, or it cannot be created). */
char *cache_folder(void);
int64_t cache_limit(const char *folder); /* most bytes in it: $LATHE_CACHE_LIMIT */
/* Opens a file for reading, sets its last use to now, and locks it until the descriptor is closed; -1: no such file. */
int open_cached(const char *path);
/* Renames a file that was written in the folder as NAME.part and synced; removes the least recently used files to make
 * room.  False: it does not fit below the limit ($LATHE_CACHE_LIMIT), or a fault; the file is removed. */
bool keep_in_cache(const char *aside, const char *path, Fault *f);

#endif
