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

/* mpirun of Open MPI comes first: inside a job of Slurm, the job's variables are there too.  PMI: Hydra (mpirun of
 * MPICH, Intel MPI, MVAPICH) and srun --mpi=pmi2.  PMIx: srun --mpi=pmix. */
static const struct {
    const char *kind, *launcher, *rank, *ranks, *place, *places;
} promises[] = {{"Open MPI", "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                 "OMPI_COMM_WORLD_LOCAL_SIZE"},
                {"MPICH", "mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                {"PMIx", "srun", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
                {"PMIx", "srun", "PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}};
enum { PROMISES = sizeof promises / sizeof *promises };

bool ranks_promised(Promise *p)
{
    for (int i = 0; i < PROMISES; i++) {
        Promise found = {.kind = promises[i].kind, .launcher = promises[i].launcher, .variable = promises[i].rank};
        if (!count_in(promises[i].rank, &found.rank) || !count_in(promises[i].ranks, &found.ranks)) continue;
        if (found.rank >= found.ranks) continue;
        const bool placed = count_in(promises[i].place, &found.place);
        if (!placed && !count_in("SLURM_LOCALID", &found.place)) found.place = found.rank;
        if (!placed && getenv("SLURM_STEP_ID")) found.launcher = "srun"; /* with PMI-2, as Hydra has it */
        if (!count_in(promises[i].places, &found.places)) found.places = found.place + 1;
        *p = found;
        return true;
    }
    return false;
}

void forget_promise(void)
{
    for (int i = 0; i < PROMISES; i++) unsetenv(promises[i].rank);
}

const char *host_name(void)
{
    static char name[4 * HOST_NAME_MAX + 5]; /* printable_room() */
    char raw[HOST_NAME_MAX + 1] = "";
    if (gethostname(raw, sizeof raw - 1) != 0 || !*raw) return "unknown host";
    make_printable(name, raw, strlen(raw), "");
    return name;
}
