/* carrier.h: messages of bytes between the ranks of a run: by MPI, over TCP, or between processes of one machine.
 *
 * Messages from one rank to another arrive in the order in which they were sent, for each channel.  Receiver and sender
 * must say the same size.  All calls come from the thread that opened the carrier. */
#ifndef LATHE_RANKS_CARRIER_H
#define LATHE_RANKS_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

/* What a rank waits for at once; short words about how ranks are; pieces of arrays, which should not hold up the others. */
typedef enum Channel { CHANNEL_SOON, CHANNEL_WORD, CHANNEL_WORK, CHANNELS } Channel;

typedef struct Carrier {
    int rank, ranks;
    int place, places; /* among those of this machine; places 0: this carrier does not know */
    char name[160];    /* "Open MPI v4.1.4", "processes of this machine" */
    /* Both begin a message and give a handle >= 0; what lies at `at` is theirs until it has ended. */
    int (*send)(int to, Channel c, const void *at, int64_t bytes);
    int (*receive)(int from, Channel c, void *at, int64_t bytes);
    /* Makes progress with all messages; true once, then the handle is free.  Messages with a rank that is lost do not end. */
    bool (*ended)(int message);
    /* A rank whose connection has ended, and whose messages that somebody waits for have all arrived; MPI: a call has
     * failed, *rank is -1 if it is not known with whom.  Stays true. */
    bool (*lost)(int *rank);
    const char *(*failure)(void);   /* words of the last failure, or NULL */
    void (*pause)(double seconds);  /* sleeps that long, or until something may have happened */
    void (*close)(void);            /* in good order: all ranks call it */
    void (*leave)(int code);        /* after a failure: ends this process at once, and does not wait for others */
} Carrier;

/* promise.c: ranks that whoever started this process has promised it: mpirun, srun, torchrun, or a launcher that sets
 * torchrun's variables.  false: nobody has. */
typedef struct Promise {
    int rank, ranks;
    int place, places;    /* among those of this machine; by TCP -1 and 0 until the ranks have counted themselves */
    const char *kind;     /* "Open MPI", "MPICH", "PMIx", "torchrun", "the launcher" */
    const char *launcher; /* "mpirun", "srun", "torchrun"; NULL: no program that is known */
    const char *variable; /* of the environment: without it, no ranks are promised */
    const char *address;  /* where rank 0 is, by TCP; NULL: MPI knows */
    const char *run;      /* by TCP: a name of it, which all ranks know; NULL: it has none */
    bool slurm;           /* by Slurm's variables */
    int port, own_port;   /* where rank 0 listens, and where this one does; own 0: at any that is free */
} Promise;
bool ranks_promised(Promise *p);
const char *promise_fault(void); /* what is wrong with such variables, and what to do; NULL: nothing */
/* srun has started so many, this one first, and has not told them of each other; 0: no. */
int processes_apart(void);
void forget_promise(void); /* programs that this one starts are no ranks */
const char *host_name(void); /* printable */
uint64_t machine_hash(void); /* of ranks that see each other's processes; 0: not known */

/* mpi.c: NULL: *refusal says why, and what to do. */
const Carrier *open_mpi(const char **refusal);
extern int64_t mpi_piece; /* bytes that MPI is given at once: 256 KiB; the same on all ranks */

/* tcp.c: the same.  It waits for the others. */
const Carrier *open_tcp(const char **refusal);

/* local.c: wires are made before forking, then each process opens its own end: the ends of the others are closed in it.
 * A process that is no rank opens rank -1, and gets NULL. */
struct Wires;
struct Wires *make_wires(int ranks, const char **refusal);
const Carrier *open_wires(struct Wires *w, int rank);

#endif
