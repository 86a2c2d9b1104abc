/* file.h: files that survive a power cut. */
#ifndef LATHE_BASE_FILE_H
#define LATHE_BASE_FILE_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Fault { /* the first error; path NULL: none */
    char *path, *text; /* "cannot be written: no space left on device" */
    int number;        /* errno */
} Fault;

typedef struct Mark { /* to recognise a file */
    int64_t bytes;
    uint64_t hash;
} Mark;

typedef struct Out { /* a file being written */
    char *path;
    Fault *fault;
    int fd;
    Hash hash;
    size_t waiting; /* bytes in room */
    char room[1 << 16];
} Out;

bool set_fault(Fault *f, const char *path, const char *doing); /* from errno, unless there is one already; false */
void clear_fault(Fault *f);
const char *room_remedy(int number); /* what to do if a file cannot be written because of this errno */
/* Opens for reading.  It does not wait for a pipe's writer, so callers can check for a regular file. */
int open_to_read(const char *path);
FILE *open_stream_to_read(const char *path);
/* After a fault, these do nothing, and return false if they return a bool.  Changed folders are synced. */
Out *open_out(const char *path, Fault *f); /* creates or truncates it; never NULL */
void put_out(Out *o, const void *at, size_t bytes);
void flush_out(Out *o); /* writes to the system; after this, no given bytes are read any more */
Mark close_out(Out *o); /* synced */
/* Gives the file its full size, more bytes than were put, which others write and sync.  Returns the bytes that were put. */
int64_t grow_out(Out *o, int64_t more);
/* A file that is there, of which several processes write their parts.  Reports faults as above. */
typedef struct Placed_out Placed_out;
Placed_out *open_placed(const char *path, Fault *f); /* never NULL */
void put_placed(Placed_out *o, int64_t place, const void *at, int64_t bytes);
void flush_placed(Placed_out *o);
void close_placed(Placed_out *o); /* synced */
/* Until end_unfinished(), the end of the program, also by SIGINT, SIGTERM or SIGHUP, removes this file.  One at a time.
 */
void begin_unfinished(const char *path);
void end_unfinished(void);
/* Writes all of it at once to a file open for appending, so that a reader never sees half of it; removes the part that
 * fitted on a full disk.  false: it is not written. */
bool append_whole(int fd, const char *at, size_t bytes, const char *path, Fault *f);
Mark write_text(const char *path, const char *text, Fault *f);
bool replace_text(const char *path, const char *text, Fault *f); /* by PATH.part */
bool sync_folder(const char *path, Fault *f);
char *folder_of(const char *path); /* from malloc */
bool make_folders(const char *path, Fault *f);                   /* with its parents */
bool move_file(const char *from, const char *to, Fault *f);      /* or a folder; the caller syncs */
bool replace_file(const char *from, const char *to, Fault *f);   /* within a folder */
bool add_folder(const char *path, Fault *f); /* its parent exists */
bool replace_link(const char *path, const char *target, Fault *f); /* also true if the file system has no links */
bool remove_folder(const char *path);                            /* and the plain files in it */

/* Of a file mapped at `map`, bytes from … to have been read: drops their pages, so that they do not count as this
 * process's memory.  The system keeps what it has room for; all may be read again. */
void drop_pages(const void *map, int64_t from, int64_t to);
#endif
