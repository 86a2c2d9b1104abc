/* header.h: reads the JSON at the beginning of safetensors, which nobody has checked. */
#ifndef LATHE_LIBRARY_HEADER_H
#define LATHE_LIBRARY_HEADER_H

#include "library/saved.h"

/* A tensor as a header describes it. */
typedef struct Described {
    char name[LIBRARY_NAME], dtype[16];
    int rank;
    int64_t dim[LATHE_MAXRANK];
    int64_t begin, end;         /* bytes, from the end of the header */
} Described;

typedef struct Header_text {
    Saved_source *from;
    int64_t next, last;         /* the bytes of it that are not there yet */
    const char *at, *end;       /* those that are, and are not yet read */
    const char *wrong;          /* the first mistake; NULL: none */
} Header_text;

/* note: called for each word of __metadata__. */
typedef bool Take_described(void *with, const Described *d);
typedef bool Take_note(void *with, const char *key, const char *text);
/* False: a tensor was refused, or h->wrong says what is wrong. */
bool read_library_header(Header_text *h, Take_described *take, Take_note *note, void *with);

#endif
