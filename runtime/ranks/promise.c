/* promise.c: what the environment says about the ranks of this run, and the name of this host. */
#include "ranks/promise.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/words.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ MPI */

bool count_in(const char *variable, int *n)
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

static bool promised_by_mpi(Promise *p)
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

/* ------------------------------------------------------------------ torchrun's variables */

/* torchrun serves a store at MASTER_PORT itself.  The next ports may be those of other runs. */
enum { BESIDE_STORE = 1000 };

const char *set_value(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

static bool by_torchrun(void) { return set_value("TORCHELASTIC_RUN_ID") != NULL; }

/* Of a variable that is missing or wrong. */
static const char *wrong_variable(const char *name, const char *expected, const Promise *p)
{
    const char *value = set_value(name);
    const char *found = value ? text_of("%s=%s", name, value) : text_of("%s is not set", name);
    return text_of("%s, and WORLD_SIZE=%d promises that many ranks: expected %s; let the launcher set it, or unset "
                   "WORLD_SIZE to train with one rank",
                   found, p->ranks, expected);
}

bool number_within(const char *variable, int least, int most, int *n)
{
    return count_in(variable, n) && *n >= least && *n <= most;
}

static const char *place_fault(Promise *p)
{
    const bool counted = set_value("LOCAL_WORLD_SIZE") != NULL;
    if (counted && !number_within("LOCAL_WORLD_SIZE", 1, p->ranks, &p->places))
        return wrong_variable("LOCAL_WORLD_SIZE", "the number of ranks on this machine", p);
    if (!set_value("LOCAL_RANK")) p->place = -1;
    else if (!number_within("LOCAL_RANK", 0, (counted ? p->places : p->ranks) - 1, &p->place))
        return wrong_variable("LOCAL_RANK", "the number of this rank on its machine, below LOCAL_WORLD_SIZE", p);
    return NULL;
}

static const char *port_fault(Promise *p)
{
    const char *store = set_value("TORCHELASTIC_USE_AGENT_STORE");
    if (!number_within("MASTER_PORT", 1, HIGHEST_PORT, &p->port))
        return wrong_variable("MASTER_PORT", "a port of rank 0's machine, 1 to 65535", p);
    if (store && strcmp(store, "True") == 0)
        p->port += p->port + BESIDE_STORE > HIGHEST_PORT ? -BESIDE_STORE : BESIDE_STORE;
    return own_ports_fault(p);
}

const char *own_ports_fault(Promise *p)
{
    if (!set_value("LATHE_RANKS_PORT")) return NULL;
    if (!number_within("LATHE_RANKS_PORT", 1, HIGHEST_PORT + 1 - p->ranks, &p->port))
        return text_of("LATHE_RANKS_PORT=%s: expected the first of as many ports as there are ranks, 1 to %d",
                       getenv("LATHE_RANKS_PORT"), HIGHEST_PORT + 1 - p->ranks);
    p->own_port = p->port + p->rank;
    return NULL;
}

/* RANK alone, or a WORLD_SIZE that is no number, may be meant for something else. */
static bool means_ranks(void)
{
    int n;
    return set_value("WORLD_SIZE") && (count_in("WORLD_SIZE", &n) ? n != 1 : set_value("MASTER_ADDR") != NULL);
}

/* NULL: nothing is wrong; p->ranks 0: nothing is promised either. */
static const char *read_variables(Promise *p)
{
    const char *fault;
    *p = (Promise){.kind = "the launcher", .variable = "WORLD_SIZE"};
    if (!means_ranks()) return NULL;
    if (by_torchrun()) p->kind = p->launcher = "torchrun";
    if (!number_within("WORLD_SIZE", 2, INT_MAX, &p->ranks))
        return text_of("WORLD_SIZE=%s: expected the number of ranks; unset it to train with one", getenv("WORLD_SIZE"));
    if (!number_within("RANK", 0, p->ranks - 1, &p->rank))
        return wrong_variable("RANK", text_of("the number of this rank, 0 to %d", p->ranks - 1), p);
    p->address = set_value("MASTER_ADDR");
    p->run = set_value("TORCHELASTIC_RUN_ID");
    if (!p->address) return wrong_variable("MASTER_ADDR", "the address or name of rank 0's machine", p);
    fault = port_fault(p);
    return fault ? fault : place_fault(p);
}

static bool promised_by_variables(Promise *p) { return !read_variables(p) && p->ranks > 1; }

static bool promised_by_slurm(Promise *p) { return !read_slurm(p) && p->ranks > 1; }

/* Of MPI's launchers, mpirun may run inside a job of Slurm, but srun is whom LATHE_RANKS=slurm is about. */
static bool by_mpirun(Promise *p) { return promised_by_mpi(p) && p->ranks > 1 && strcmp(p->launcher, "srun") != 0; }

/* torchrun may itself have been started by mpirun or srun, once for each machine; a single rank of MPI may be one of
 * several by the variables. */
bool ranks_promised(Promise *p)
{
    return (by_torchrun() && promised_by_variables(p)) || by_mpirun(p) || promised_by_slurm(p) ||
           (promised_by_mpi(p) && p->ranks > 1) || promised_by_variables(p) || promised_by_mpi(p);
}

const char *promise_fault(void)
{
    Promise p;
    const char *fault = by_torchrun() || by_mpirun(&p) ? NULL : read_slurm(&p);
    return fault || ranks_promised(&p) ? fault : read_variables(&p);
}

int processes_apart(void)
{
    Promise p;
    return ranks_promised(&p) ? 0 : tasks_of_step();
}

void forget_promise(void)
{
    for (int i = 0; i < PROMISES; i++) unsetenv(promises[i].rank);
    unsetenv("RANK"), unsetenv("WORLD_SIZE"), unsetenv("LATHE_RANKS");
}

/* ------------------------------------------------------------------ this machine */

static char own_host[4 * HOST_NAME_MAX + 5] = "unknown host"; /* printable_room() */

static void ask_host_name(void)
{
    char raw[HOST_NAME_MAX + 1] = "";
    if (gethostname(raw, sizeof raw - 1) == 0 && *raw) make_printable(own_host, raw, strlen(raw), "");
}

const char *host_name(void)
{
    static pthread_once_t asked = PTHREAD_ONCE_INIT;
    pthread_once(&asked, ask_host_name);
    return own_host;
}

/* The start of the kernel, and the name space of processes. */
uint64_t machine_hash(void)
{
    char text[256] = "";
    struct stat names;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || stat("/proc/self/ns/pid", &names) != 0) names.st_ino = 0;
    if (f && !fgets(text, 64, f)) names.st_ino = 0;
    if (f) fclose(f);
    if (!names.st_ino) return 0;
    const size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%llu", (unsigned long long)names.st_ino);
    return hash_of(text, strlen(text));
}
