/* saved.h: the tensors that an instance saves, for the files that write and read them. */
#ifndef LATHE_LIBRARY_SAVED_H
#define LATHE_LIBRARY_SAVED_H

#include "base/hash.h"
#include "library/library.h"

typedef struct Saved {
    char name[LIBRARY_NAME];    /* as in a trainer's files */
    int number;                 /* of the tensor among all */
    bool weight;                /* else: what training needs to go on */
    Lathe_dtype type;
    int rank;
    const int64_t *dim;
    const Lathe_param *param;   /* its elements are those of a copy of it, in flat; NULL: they are all of flat */
    int64_t copy;
    char *flat;
} Saved;

/* visit returns false to end.  For one of weights alone, or of all; returns what the last visit did. */
typedef bool Visit_saved(void *with, const Saved *s);
bool each_saved(Library *l, bool all, Visit_saved *visit, void *with);
int64_t saved_bytes_of(const Saved *s);
const char *saved_type(Lathe_dtype t); /* "F32" */
/* The pieces of its elements that lie one after another. */
int64_t saved_run(const Saved *s);                  /* elements of each */
char *saved_piece(const Saved *s, int64_t element);  /* where the one that begins with this element is */

typedef struct Progress {       /* how far a run is, as the notes say */
    int64_t step, seed, scale, good, skipped;
} Progress;

/* The note `checksum`, of all tensors' bytes and of the progress: XXH64 in hexadecimal digits. */
enum { CHECKSUM_DIGITS = 16 };
void write_checksum(char to[CHECKSUM_DIGITS + 1], Hash *of_tensors, const Progress *p);

/* ---- save.c */

typedef struct Saved_sink { /* takes what is saved, from its first byte to its last */
    void (*put)(struct Saved_sink *s, const void *from, size_t n); /* NULL: it is only counted */
    size_t used;                /* bytes so far */
    char *at;                   /* in memory: where they go, as far as there is room */
    size_t room;
} Saved_sink;

int save_into(Library *l, Saved_sink *s, bool all); /* as save_library() does */

/* ---- load.c */

typedef struct Saved_source { /* gives what was saved */
    /* From byte `at` on: *n bytes, or fewer, how many *n says then; at least 8, if there were so many.  They stay until the next
     * call.  NULL: it cannot be read. */
    const char *(*look)(struct Saved_source *s, int64_t at, int64_t *n);
    int64_t bytes;              /* of all */
    const char *memory;
} Saved_source;

int load_from(Library *l, Saved_source *s); /* as load_instance() does */

#endif
