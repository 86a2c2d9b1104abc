/* mpi.c: messages between ranks by MPI, whose library is loaded when a launcher has promised ranks.
 *
 * Libraries have one of two binary interfaces: Open MPI's, where handles are pointers, and that of MPICH (Intel MPI,
 * MVAPICH, Cray), where they are ints.  Each function that takes handles is therefore declared twice.  Of MPI, little
 * is used: messages that begin and end; all sums are our own. */
#include "ranks/carrier.h"
#include "base/words.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NO_PIECE = -1, ALL_IS_WELL = 0, FUNNELED = 1, WORDS_OF_ERROR = 512 }; /* FUNNELED: MPI_THREAD_FUNNELED of both */

typedef void *Pointer;

/* MPI's functions as they are declared where handles have the type HANDLE; statuses are ignored. */
#define FUNCTIONS(HANDLE)                                                                                              \
    struct {                                                                                                           \
        int (*set_errhandler)(HANDLE comm, HANDLE handler);                                                            \
        int (*dup)(HANDLE comm, HANDLE *to);                                                                           \
        int (*rank)(HANDLE comm, int *to);                                                                             \
        int (*size)(HANDLE comm, int *to);                                                                             \
        int (*send)(const void *at, int n, HANDLE type, int to, int tag, HANDLE comm, HANDLE *request);                \
        int (*receive)(void *at, int n, HANDLE type, int from, int tag, HANDLE comm, HANDLE *request);                 \
        int (*test)(HANDLE * request, int *ended, void *status);                                                       \
        HANDLE world, byte, errors_return, comm;                                                                       \
    }

typedef union Request {
    void *pointer;
    int number;
} Request;

typedef struct Piece { /* of a message: what MPI is given at once */
    Request request;
    int peer;
    int next;      /* of the same message; of a free one: the next free one */
    bool hopeless; /* a call has failed for it */
} Piece;

static struct Mpi {
    Carrier carrier;
    bool pointers; /* Open MPI's interface; else MPICH's */
    FUNCTIONS(Pointer) p;
    FUNCTIONS(int) n;
    int (*init)(int *argc, char ***argv, int asked, int *given);
    int (*initialized)(int *yes);
    int (*finalize)(void);
    int (*version)(char *text, int *length);
    int (*error_string)(int code, char *text, int *length);
    Piece *pieces;
    int room, free;
    int idle; /* pauses since a piece ended */
    bool failed;
    int failed_with; /* rank */
    char words[320];
} mpi;

int64_t mpi_piece = 1 << 30;

/* ------------------------------------------------------------------ the library */

static char refusal_text[1024];

static bool refuse_mpi(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool refuse_mpi(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(refusal_text, sizeof refusal_text, fmt, args);
    va_end(args);
    return false;
}

typedef struct Family {
    const char *name, *library, *other, *package;
} Family;

static Family family_of(const Promise *p)
{
    return strcmp(p->kind, "MPICH") == 0 ? (Family){"MPICH", "libmpich.so.12", "libmpi.so.12", "libmpich12"}
                                         : (Family){"Open MPI", "libmpi.so.40", NULL, "libopenmpi3"};
}

/* Its plugins look for its symbols among the global ones. */
static void *load_mpi(const Promise *p)
{
    const Family f = family_of(p);
    const char *named = getenv("LATHE_MPI");
    if (named && *named) {
        void *library = dlopen(named, RTLD_NOW | RTLD_GLOBAL);
        if (!library)
            refuse_mpi("LATHE_MPI names %s, which cannot be loaded: %s; %d ranks of %s wait: give the path of its %s, "
                       "or unset LATHE_MPI",
                       named, dlerror(), p->ranks, p->kind, f.library);
        return library;
    }
    void *library = dlopen(f.library, RTLD_NOW | RTLD_GLOBAL);
    char first[400];
    if (!library) snprintf(first, sizeof first, "%s", dlerror());
    if (!library && f.other) library = dlopen(f.other, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        refuse_mpi(
            "%d ranks of %s have been started, and %s cannot be loaded: %s; Debian, Ubuntu: apt install %s; elsewhere: "
            "LATHE_MPI=PATH of the MPI library that mpirun belongs to",
            p->ranks, p->kind, f.library, first, f.package);
    return library;
}

/* to: a pointer to a function, or to an object. */
static bool find_symbol(void *library, const char *name, void *to)
{
    void *at = dlsym(library, name);
    if (!at)
        return refuse_mpi("the MPI library has no %s: %s; an MPI of version 3 or later is needed", name, dlerror());
    memcpy(to, &at, sizeof at);
    return true;
}

#define FIND_ALL(OF)                                                                                                   \
    (find_symbol(l, "MPI_Comm_set_errhandler", &(OF)->set_errhandler) && find_symbol(l, "MPI_Comm_dup", &(OF)->dup) && \
     find_symbol(l, "MPI_Comm_rank", &(OF)->rank) && find_symbol(l, "MPI_Comm_size", &(OF)->size) &&                   \
     find_symbol(l, "MPI_Isend", &(OF)->send) && find_symbol(l, "MPI_Irecv", &(OF)->receive) &&                        \
     find_symbol(l, "MPI_Test", &(OF)->test))

static bool find_functions(void *l)
{
    if (!dlsym(l, "MPI_Init_thread"))
        return refuse_mpi(
            "LATHE_MPI names a library that is no MPI: it has no MPI_Init_thread; give the path of libmpi.so.40 "
            "(Open MPI) or libmpich.so.12 (MPICH), or unset LATHE_MPI");
    mpi.pointers = dlsym(l, "ompi_mpi_comm_world") != NULL;
    if (mpi.pointers) {
        if (!find_symbol(l, "ompi_mpi_comm_world", &mpi.p.world) || !find_symbol(l, "ompi_mpi_byte", &mpi.p.byte) ||
            !find_symbol(l, "ompi_mpi_errors_return", &mpi.p.errors_return))
            return false;
    } else mpi.n.world = 0x44000000, mpi.n.byte = 0x4c00010d, mpi.n.errors_return = 0x54000001;
    return (mpi.pointers ? FIND_ALL(&mpi.p) : FIND_ALL(&mpi.n)) && find_symbol(l, "MPI_Init_thread", &mpi.init) &&
           find_symbol(l, "MPI_Initialized", &mpi.initialized) && find_symbol(l, "MPI_Finalize", &mpi.finalize) &&
           find_symbol(l, "MPI_Get_library_version", &mpi.version) &&
           find_symbol(l, "MPI_Error_string", &mpi.error_string);
}

/* ------------------------------------------------------------------ messages */

/* MPICH tells its whole stack, a line for each call; the last one has the cause. */
static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n') text[--n] = 0;
    const char *start = strrchr(text, '\n');
    return start ? start + 1 : text;
}

/* Notes a call that failed. */
static bool went_well(int code, int peer, const char *what)
{
    if (code == ALL_IS_WELL) return true;
    char text[WORDS_OF_ERROR] = "";
    int length = 0;
    if (mpi.error_string(code, text, &length) != ALL_IS_WELL || !*text) strcpy(text, "an error without words");
    snprintf(mpi.words, sizeof mpi.words, "MPI, %s: %.240s", what, last_line(text));
    mpi.failed = true;
    mpi.failed_with = peer;
    return false;
}

static int new_piece(int peer)
{
    if (mpi.free == NO_PIECE) {
        int room = mpi.room ? 2 * mpi.room : 64;
        mpi.pieces = must_grow(mpi.pieces, sizeof(Piece) * (size_t)room);
        for (int i = mpi.room; i < room; i++) mpi.pieces[i].next = i + 1 < room ? i + 1 : NO_PIECE;
        mpi.free = mpi.room;
        mpi.room = room;
    }
    int i = mpi.free;
    mpi.free = mpi.pieces[i].next;
    mpi.pieces[i] = (Piece){.peer = peer, .next = NO_PIECE};
    return i;
}

static void begin_piece(Piece *of, bool out, Channel c, char *at, int n)
{
    const int tag = 1 + (int)c;
    int code;
    if (mpi.pointers)
        code = out ? mpi.p.send(at, n, mpi.p.byte, of->peer, tag, mpi.p.comm, &of->request.pointer)
                   : mpi.p.receive(at, n, mpi.p.byte, of->peer, tag, mpi.p.comm, &of->request.pointer);
    else
        code = out ? mpi.n.send(at, n, mpi.n.byte, of->peer, tag, mpi.n.comm, &of->request.number)
                   : mpi.n.receive(at, n, mpi.n.byte, of->peer, tag, mpi.n.comm, &of->request.number);
    of->hopeless = !went_well(code, of->peer, out ? "sending" : "receiving");
}

/* A message of no bytes is one piece, too. */
static int start_message(int peer, bool out, Channel c, char *at, int64_t bytes)
{
    bug_if(peer < 0 || peer >= mpi.carrier.ranks || peer == mpi.carrier.rank || bytes < 0);
    int first = NO_PIECE, last = NO_PIECE;
    mpi.idle = 0;
    for (int64_t begun = 0; first == NO_PIECE || begun < bytes; begun += mpi_piece) {
        const int i = new_piece(peer);
        if (first == NO_PIECE) first = i;
        else mpi.pieces[last].next = i;
        last = i;
        const int64_t rest = bytes - begun;
        begin_piece(&mpi.pieces[i], out, c, at + begun, (int)(rest < mpi_piece ? rest : mpi_piece));
    }
    return first;
}

static int send_mpi(int to, Channel c, const void *at, int64_t bytes)
{
    return start_message(to, true, c, (char *)at, bytes);
}

static int receive_mpi(int from, Channel c, void *at, int64_t bytes)
{
    return start_message(from, false, c, at, bytes);
}

/* MPI says so again of a piece that has ended: its request is then MPI_REQUEST_NULL. */
static bool piece_ended(Piece *p)
{
    int yes = 0;
    if (p->hopeless) return false;
    int code =
        mpi.pointers ? mpi.p.test(&p->request.pointer, &yes, NULL) : mpi.n.test(&p->request.number, &yes, (void *)1);
    p->hopeless = !went_well(code, p->peer, "waiting for a message");
    return yes && !p->hopeless;
}

static bool ended_mpi(int message)
{
    for (int i = message; i != NO_PIECE; i = mpi.pieces[i].next)
        if (!piece_ended(&mpi.pieces[i])) return false;
    for (int i = message, next; i != NO_PIECE; i = next) {
        next = mpi.pieces[i].next;
        mpi.pieces[i].next = mpi.free;
        mpi.free = i;
    }
    mpi.idle = 0;
    return true;
}

static bool lost_mpi(int *rank)
{
    if (mpi.failed) *rank = mpi.failed_with;
    return mpi.failed;
}

static const char *failure_mpi(void) { return *mpi.words ? mpi.words : NULL; }

/* MPI makes progress only when it is called: naps are short at first, and longer the longer nothing ends. */
static void pause_mpi(double seconds)
{
    const double nap = mpi.idle < 20 ? 50e-6 : mpi.idle < 40 ? 250e-6 : 1e-3;
    const double time = seconds < nap ? seconds : nap;
    mpi.idle++;
    nanosleep(&(struct timespec){.tv_nsec = (long)(time * 1e9)}, NULL);
}

/* ------------------------------------------------------------------ begin and end */

static struct sigaction actions[NSIG];

static void note_actions(void)
{
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &actions[i]) != 0) actions[i].sa_handler = SIG_DFL;
}

/* Both MPIs bring handlers of their own, which print a trace of the stack.  That of MPICH for SIGUSR1 stays unless we
 * have one: mpirun -disable-auto-cleanup sends this signal when a rank has died, and without a handler it ends the
 * others. */
static void restore_actions(void)
{
    struct sigaction now;
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &now) == 0 && now.sa_handler != actions[i].sa_handler &&
            (i != SIGUSR1 || actions[i].sa_handler != SIG_DFL))
            sigaction(i, &actions[i], NULL);
}

/* In good order: all ranks come here. */
static void close_mpi(void)
{
    note_actions();
    mpi.finalize();
    restore_actions();
    free(mpi.pieces);
    mpi.pieces = NULL;
}

/* The launcher ends the others, or the words that this rank sent before have told them (README.md); MPI_Abort would
 * only be quicker.  No function that MPI wants to run at exit is called: it might wait. */
static void leave_mpi(int code) { _exit(code); }

/* "Open MPI v4.1.4", "MPICH Version: 4.0.2" */
static void name_library(void)
{
    static char text[8192]; /* as long as MPICH's may be */
    int length = 0;
    mpi.version(text, &length);
    text[strcspn(text, "\n,")] = 0;
    char *to = mpi.carrier.name, *last = to + sizeof mpi.carrier.name - 1;
    for (const char *c = text; *c && to < last; c++)
        if (*c != '\t' && (*c != ' ' || (to > mpi.carrier.name && to[-1] != ' '))) *to++ = *c;
        else if (to > mpi.carrier.name && to[-1] != ' ') *to++ = ' ';
    *to = 0;
}

static int begin_mpi(void)
{
    int given;
    int code = mpi.init(NULL, NULL, FUNNELED, &given);
    if (code == ALL_IS_WELL)
        code = mpi.pointers ? mpi.p.set_errhandler(mpi.p.world, mpi.p.errors_return)
                            : mpi.n.set_errhandler(mpi.n.world, mpi.n.errors_return);
    if (code == ALL_IS_WELL)
        code = mpi.pointers ? mpi.p.rank(mpi.p.world, &mpi.carrier.rank) : mpi.n.rank(mpi.n.world, &mpi.carrier.rank);
    if (code == ALL_IS_WELL)
        code = mpi.pointers ? mpi.p.size(mpi.p.world, &mpi.carrier.ranks) : mpi.n.size(mpi.n.world, &mpi.carrier.ranks);
    return code;
}

/* Library and launcher belong together. */
static bool as_promised(const Promise *p)
{
    if (mpi.carrier.ranks == p->ranks && mpi.carrier.rank == p->rank) return true;
    const Family f = family_of(p);
    refuse_mpi(
        "%s has promised %d ranks, of which this is %d; the library that was loaded, %s, is of another launcher, and "
        "sees %d: %s %s (Debian, Ubuntu: package %s), or start by the mpirun of the loaded one",
        p->kind, p->ranks, p->rank, mpi.carrier.name, mpi.carrier.ranks,
        getenv("LATHE_MPI") ? "unset LATHE_MPI, or name" : "name the launcher's by LATHE_MPI:", f.library, f.package);
    if (mpi.carrier.ranks == 1) mpi.finalize();
    return false;
}

static bool start_mpi(const Promise *p)
{
    int yes = 0;
    void *library = load_mpi(p);
    if (!library || !find_functions(library)) return false;
    if (mpi.initialized(&yes) == ALL_IS_WELL && yes) return refuse_mpi("MPI has been started in this process already");
    int code = begin_mpi();
    if (!went_well(code, -1, "beginning")) return refuse_mpi("%s", mpi.words);
    name_library();
    if (!as_promised(p)) return false;
    code = mpi.pointers ? mpi.p.dup(mpi.p.world, &mpi.p.comm) : mpi.n.dup(mpi.n.world, &mpi.n.comm);
    return went_well(code, -1, "a communicator of our own") || refuse_mpi("%s", mpi.words);
}

const Carrier *open_mpi(const char **refusal)
{
    Promise p;
    *refusal = refusal_text;
    if (!ranks_promised(&p)) {
        *refusal = "no launcher has promised ranks to this process: start it by mpirun or srun";
        return NULL;
    }
    mpi = (struct Mpi){.carrier = {.send = send_mpi,
                                   .receive = receive_mpi,
                                   .ended = ended_mpi,
                                   .lost = lost_mpi,
                                   .failure = failure_mpi,
                                   .pause = pause_mpi,
                                   .close = close_mpi,
                                   .leave = leave_mpi},
                       .free = NO_PIECE};
    note_actions();
    const bool open = start_mpi(&p);
    restore_actions();
    return open ? &mpi.carrier : NULL;
}
