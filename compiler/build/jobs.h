/* jobs.h: objects that are compiled, several at a time, where what they are made of has changed. */
#ifndef BUILD_JOBS_H
#define BUILD_JOBS_H

#include "build/build.h"

typedef struct Job {            /* an object to be made */
    const char *source, *object, *log;
    Words words;
    uint64_t hash;
    bool wanted;
    pid_t child;                /* 0: not started, or done */
} Job;
typedef VEC(Job) Jobs;

uint64_t hash_of_headers(uint64_t seed); /* of the runtime: a source may include any of them */
/* dir/name.o; words: the beginning of the command; headers: the hash of what the source includes */
void add_object(Jobs *all, const char *dir, const char *source, const char *name, Words words, uint64_t headers);
void run_jobs(Jobs *all);       /* ends the program if one fails */

#endif
