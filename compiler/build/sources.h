/* sources.h: the runtime's source files, in its rooms. */
#pragma once
#include "base/util.h"

typedef VEC(char *) Files;

/* Paths relative to folder, those in its sub-folders as well, sorted; a folder that cannot be read has none. */
Files files_below(const char *folder, bool (*wanted)(const char *name));
bool ends_in(const char *name, const char *ending); /* and is longer */
int by_text(const void *a, const void *b);          /* of two char *: for qsort and bsearch */

#define STAMP_WORDS "sources of Lathe's runtime: " /* and hash_of_sources() in hexadecimal: liblathe_rt.a has it, and lathe */
uint64_t hash_of_sources(const char *folder);       /* their names and contents */
