/* open.h: what source/open.c and source/unpack.c share. */
#ifndef LATHE_SOURCE_OPEN_H
#define LATHE_SOURCE_OPEN_H

#include "source/source.h"

typedef struct Flow { /* what an unpacker reads from and writes to; both are moved on */
    const char *in;
    char *out;
    int64_t in_bytes, out_bytes;
    bool in_ended; /* there is no more to read than this */
} Flow;

typedef struct Unpacker Unpacker;

Unpacker *open_unpacker(Packed kind, const char *path);
void close_unpacker(Unpacker *u);
/* Unpacks until there is nothing more to read or no room.  NULL, or what is wrong with the bytes at flow->in. */
const char *unpack(Unpacker *u, Flow *flow);
int64_t unpacker_heap(const Unpacker *u); /* bytes */

#endif
