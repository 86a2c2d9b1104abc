/* file.h: files that survive a power cut. */
#ifndef LATHE_BASE_FILE_H
#define LATHE_BASE_FILE_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Fault { /* the first thing that went wrong; path NULL: nothing did */
    char *path, *text; /* "cannot be written: no space left on device" */
    int number;        /* errno */
} Fault;

typedef struct Mark { /* what a file must be again */
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
const char *room_remedy(int number); /* what to do where a file could not be written for this errno */
/* To be read.  A pipe does not make it wait for somebody who writes: whoever wants a regular file sees what it is. */
int open_to_read(const char *path);
FILE *open_stream_to_read(const char *path);
/* After a fault they do nothing; those that return a bool return false then.  Folders that change are synced. */
Out *open_out(const char *path, Fault *f); /* made or emptied; never NULL */
void put_out(Out *o, const void *at, size_t bytes);
void flush_out(Out *o); /* to the system: nothing that was given is read any more */
Mark close_out(Out *o); /* synced */
Mark write_text(const char *path, const char *text, Fault *f);
bool replace_text(const char *path, const char *text, Fault *f); /* by PATH.part */
bool sync_folder(const char *path, Fault *f);
char *folder_of(const char *path); /* from malloc */
bool make_folders(const char *path, Fault *f);                   /* with all above it */
bool move_file(const char *from, const char *to, Fault *f);      /* or folder; to be synced by the caller */
bool replace_file(const char *from, const char *to, Fault *f);   /* within a folder */
bool add_folder(const char *path, Fault *f); /* its parent is there */
bool replace_link(const char *path, const char *target, Fault *f); /* true also where there are no links */
bool remove_folder(const char *path);                            /* and the plain files in it */

#endif
