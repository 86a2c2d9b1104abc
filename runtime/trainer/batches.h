/* batches.h: the batches of an evaluation, which ranks on processors share. */
#ifndef LATHE_TRAINER_BATCHES_H
#define LATHE_TRAINER_BATCHES_H

#include "trainer/trainer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Result { /* memory in which a batch leaves what is taken of it */
    void *at;
    int64_t bytes;
} Result;

typedef enum Share { SHARE_SCORES, SHARE_METRICS, SHARE_TEXTS, SHARE_SAMPLES, SHARES } Share; /* of an evaluation */
typedef struct Batches {
    Share share;
    int64_t number;   /* how many items at most; of texts, the step */
    int64_t n, items; /* items: there are, to choose from; ranks must agree on it */
    const Result *result;
    int results;
    void (*run)(void *with, int64_t k);  /* the k-th, whichever ran before */
    void (*take)(void *with, int64_t k); /* its results; called in the order of batches */
    void *with;
    bool ordered; /* rank 0 has told the others already */
} Batches;

/* Runs and takes all.  Where ranks share steps, rank 0 orders the others to call it, too (trainer/ranks.h), unless it is
 * done sooner alone; each runs every N-th batch, and rank 0 takes the results of all: the same bytes in the same order as
 * alone.  False: interrupted.  t: of a run that a signal ends, else NULL. */
bool run_batches(const Batches *b, const Trainer *t);

#endif
