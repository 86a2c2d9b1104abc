/* jobs.h: requests on their way from the connections to the one who answers, and answers on their way back. */
#ifndef LATHE_SERVE_JOBS_H
#define LATHE_SERVE_JOBS_H

#include "base/words.h"
#include "serve/request.h"

#include <pthread.h>

typedef struct Job {
    Request request;
    int64_t number, created;
    struct Job *next; /* in the queue */
    /* What follows belongs to the lock of its Jobs. */
    int64_t read, written; /* tokens; who answers alone writes them, by job_counts() */
    int status; /* of HTTP; 0: not known yet */
    char *text; /* what the client gets; sent: bytes of it that it has */
    size_t bytes, room, sent;
    bool whole; /* no more text comes */
    bool gone;  /* the client is */
    bool asleep; /* its connection waits for wake() */
    int owners;  /* its connection, and the queue or who answers */
    void *connection;
    int socket;
} Job;

typedef struct Jobs {
    pthread_mutex_t lock;
    pthread_cond_t more;
    Job *first, *last;
    int waiting, most;  /* in the queue */
    bool ending;        /* no more requests are taken */
    bool cut;           /* answers under way end, too */
    bool worked;        /* who answers has ended */
    void (*wake)(void *connection); /* called with the lock */
} Jobs;

void open_jobs(Jobs *all, int most, void (*wake)(void *));
/* For connections. */
bool add_job(Jobs *all, Job *j); /* false: the queue is full, or the server ends */
void leave_job(Jobs *all, Job *j); /* by its connection, which is over */
void end_jobs(Jobs *all, bool cut);
bool jobs_ended(Jobs *all);
/* For who answers. */
Job *next_job(Jobs *all, bool wait); /* NULL: the server ends, or there is none and nobody waits */
bool job_wanted(Jobs *all, Job *j); /* false: the client is gone, or the server ends */
void job_counts(Jobs *all, Job *j, int64_t read, int64_t written);
void job_says(Jobs *all, Job *j, int status, const char *text, size_t bytes); /* more of the answer */
void job_done(Jobs *all, Job *j); /* the answer is whole; the job is no longer theirs */

#endif
