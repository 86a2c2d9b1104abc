/* told.c: what ranks on processors tell each other with each step, beside losses: how long each waited for its data,
 * and how many files it could not read.  Only if there are some, the ranks tell each other which. */
#include "trainer/told.h"
#include "base/words.h"
#include "ranks/courier.h"
#include "trainer/gathers.h"
#include "trainer/ranks.h"

#include <stdlib.h>

static struct Told {
    double waited, longest; /* for data: by this rank; by any */
    int64_t bad;            /* files, of this rank */
    int64_t *bad_of;        /* [ranks] */
} told;

void tell_of_data(Data *d, double waited)
{
    told.waited = waited;
    if (d->files) (void)met_bad_files(d->files, &told.bad);
}

double longest_wait_for_data(void) { return told.longest; }

void put_told(double *own)
{
    own[0] = told.waited;
    own[1] = (double)told.bad;
}

void take_told(int rank, const double *of_rank)
{
    if (!told.bad_of) told.bad_of = must_alloc((size_t)carrier_in_use()->ranks * sizeof *told.bad_of);
    if (rank == 0 || of_rank[0] > told.longest) told.longest = of_rank[0];
    told.bad_of[rank] = (int64_t)of_rank[1];
}

static int64_t bad_of_all(int ranks)
{
    int64_t n = 0;
    for (int k = 0; told.bad_of && k < ranks; k++) n += told.bad_of[k];
    return n;
}

/* The lists of all ranks, in their order: that of rows in a step of one rank. */
static Bad_file *gather_bad_files(const Bad_file *own, int ranks, int64_t n)
{
    const int64_t each = sizeof *own;
    Bad_file *all = must_alloc((size_t)(n * each)), *at = all;
    Piece *piece = must_alloc((size_t)ranks * sizeof *piece);
    const int rank = carrier_in_use()->rank;
    for (int k = 0; k < ranks; at += told.bad_of[k++]) {
        piece[k] = (Piece){own, at, told.bad * each, told.bad_of[k] * each};
        for (int64_t i = 0; k == rank && i < told.bad; i++) at[i] = own[i];
    }
    must_go_on(exchange(piece));
    free(piece);
    return all;
}

bool share_bad_files(const Trainer *t, Data *d)
{
    const int ranks = gpus_of(t);
    const int64_t n = bad_of_all(ranks);
    if (!n) return true;
    Bad_file *all = gather_bad_files(met_bad_files(d->files, &told.bad), ranks, n);
    const bool fine = take_bad_files(d->files, all, n);
    for (int k = 0; k < ranks; k++) told.bad_of[k] = 0;
    told.bad = 0;
    free(all);
    return fine;
}
