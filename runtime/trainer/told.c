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
    const Data *data;
    int64_t *bad_of; /* [ranks]: files, as they were told last */
} told;

void tell_of_data(const Data *d, double waited)
{
    told.waited = waited;
    told.data = d;
}

double longest_wait_for_data(void) { return told.longest; }

/* Files are counted here: after the last step rank 0 may have met some more, in one that could not be filled. */
void put_told(double *own)
{
    int64_t bad = 0;
    if (told.data && told.data->files) (void)met_bad_files(told.data->files, &bad);
    own[0] = told.waited;
    own[1] = (double)bad;
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
static Bad_file *gather_bad_files(const Files *f, int ranks, int64_t n)
{
    int64_t met;
    const int rank = carrier_in_use()->rank;
    const int64_t each = sizeof(Bad_file), here = told.bad_of[rank];
    const Bad_file *own = met_bad_files(f, &met);
    Bad_file *all = must_alloc((size_t)(n * each)), *at = all;
    Piece *piece = must_alloc((size_t)ranks * sizeof *piece);
    bug_if(met != here);
    for (int k = 0; k < ranks; at += told.bad_of[k++]) {
        piece[k] = (Piece){own, at, here * each, told.bad_of[k] * each};
        for (int64_t i = 0; k == rank && i < here; i++) at[i] = own[i];
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
    Bad_file *all = gather_bad_files(d->files, ranks, n);
    const bool fine = take_bad_files(d->files, all, n);
    for (int k = 0; k < ranks; k++) told.bad_of[k] = 0;
    free(all);
    return fine;
}
