/* open.h: shared by source/open.c and source/unpack.c. */
#ifndef LATHE_SOURCE_OPEN_H
#define LATHE_SOURCE_OPEN_H

#include "source/source.h"

typedef struct Flow { /* an unpacker's input and output; both advance */
    const char *in;
    char *out;
    int64_t in_bytes, out_bytes;
    bool in_ended; /* no more input follows */
} Flow;

typedef struct Unpacker Unpacker;

Unpacker *open_unpacker(Packed kind, const char *path);
void close_unpacker(Unpacker *u);
/* Unpacks until the input is used up or the output is full.  Returns NULL, or the error at flow->in. */
const char *unpack(Unpacker *u, Flow *flow);
int64_t unpacker_heap(const Unpacker *u); /* bytes */

#endif
