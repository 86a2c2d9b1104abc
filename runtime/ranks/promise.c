/* promise.c: what the environment says about the ranks of this run, and the name of this host. */
#include "ranks/carrier.h"
#include "base/printable.h"
#include "base/words.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static bool count_in(const char *variable, int *n)
{
    const char *text = getenv(variable);
    int64_t count;
    if (!text || !parse_count(text, &count) || count < 0 || count > INT_MAX) return false;
    *n = (int)count;
    return true;
}

static bool promised_by(Promise *p, const char *kind, const char *rank, const char *ranks)
{
    Promise found = {.kind = kind};
    if (!count_in(rank, &found.rank) || !count_in(ranks, &found.ranks) || found.rank >= found.ranks) return false;
    *p = found;
    return true;
}

/* mpirun of Open MPI comes first: inside a job of Slurm, the job's variables are there too.  PMI: Hydra (mpirun of
 * MPICH, Intel MPI, MVAPICH) and srun --mpi=pmi2.  PMIx: srun --mpi=pmix. */
bool ranks_promised(Promise *p)
{
    return promised_by(p, "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") ||
           promised_by(p, "MPICH", "PMI_RANK", "PMI_SIZE") ||
           promised_by(p, "PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS") ||
           promised_by(p, "PMIx", "PMIX_RANK", "SLURM_NTASKS");
}

const char *host_name(void)
{
    static char name[4 * HOST_NAME_MAX + 5]; /* printable_room() */
    char raw[HOST_NAME_MAX + 1] = "";
    if (gethostname(raw, sizeof raw - 1) != 0 || !*raw) return "unknown host";
    make_printable(name, raw, strlen(raw), "");
    return name;
}
