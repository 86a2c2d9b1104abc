/* tar.h: the members of a tar archive, in their order. */
#ifndef LATHE_SOURCE_TAR_H
#define LATHE_SOURCE_TAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Tar Tar;

typedef struct Tar_member {
    const char *name;     /* until the next member; relative, without "./" before it */
    int64_t first, bytes; /* its bytes in the archive */
    bool regular;         /* a file, not a folder or link */
} Tar_member;

/* Headers are those of ustar, GNU (long names, sizes beyond 8 GB) and pax.  What is no tar archive, is cut short, or has
 * a member whose name climbs out of a folder ends the program (3). */
Tar *open_tar(const char *path);
bool next_tar_member(Tar *t, Tar_member *m); /* false: there is none */
void read_tar(const Tar *t, int64_t first, int64_t n, void *to); /* bytes of the archive */
void close_tar(Tar *t);

#endif
