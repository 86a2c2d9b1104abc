/* mpi.c: messages between ranks by MPI, whose library is loaded when a launcher has promised ranks.
 *
 * Libraries have one of two binary interfaces: Open MPI's, where handles are pointers, and that of MPICH (Intel MPI,
 * MVAPICH, Cray), where they are ints.  Each function that takes handles is therefore declared twice.  Of MPI, little
 * is used: messages that begin and end; all sums are our own.
 *
 * MPI sends what it has been given in turn: a word of a rank about itself would wait for all bytes before it.  So it is
 * given long messages piece by piece, and on a slow network few at a time. */
#include "ranks/carrier.h"
#include "ranks/finalize.h"
#include "base/words.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NONE = -1, ALL_IS_WELL = 0, FUNNELED = 1, WORDS_OF_ERROR = 512 }; /* FUNNELED: MPI_THREAD_FUNNELED of both */
enum { MOST_PIECES = 64 };                                               /* under way to a rank, on a channel */

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
    double since; /* of one that is sent */
} Piece;

typedef struct Lane { /* messages to a rank, or from it, on a channel: one after the other */
    int peer;
    Channel channel;
    bool out, hopeless;      /* hopeless: a call has failed */
    int first, last, giving; /* unfinished messages; the one whose pieces MPI is given, or NONE */
    Piece piece[MOST_PIECES];
    int first_piece, pieces, window; /* under way; how many may be */
} Lane;

typedef struct Message {
    Lane *lane;
    char *at;
    int64_t bytes, given; /* given: to MPI */
    int pieces;           /* under way */
    int next;             /* on its lane; of a free one: the next free one */
    bool ended;
} Message;

static struct Mpi {
    Carrier carrier;
    bool pointers; /* Open MPI's interface; else MPICH's */
    FUNCTIONS(Pointer) p;
    FUNCTIONS(int) n;
    int (*init)(int *argc, char ***argv, int asked, int *given);
    int (*initialized)(int *yes);
    int (*finalize)(void);
    bool may_hang; /* finalize, of MPICH; its socket to the launcher is inherited */
    int (*version)(char *text, int *length);
    int (*error_string)(int code, char *text, int *length);
    Lane *lanes; /* [ranks][CHANNELS][in, out] */
    Message *messages;
    int room, free;
    int idle; /* pauses since a piece ended */
    bool failed;
    int failed_with; /* rank */
    char words[320];
} mpi;

int64_t mpi_piece = 256 << 10;

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

static Lane *lane_of(int peer, Channel c, bool out) { return &mpi.lanes[(peer * CHANNELS + (int)c) * 2 + out]; }

static int new_message(void)
{
    if (mpi.free == NONE) {
        int room = mpi.room ? 2 * mpi.room : 64;
        mpi.messages = must_grow(mpi.messages, sizeof(Message) * (size_t)room);
        for (int i = mpi.room; i < room; i++) mpi.messages[i].next = i + 1 < room ? i + 1 : NONE;
        mpi.free = mpi.room;
        mpi.room = room;
    }
    int i = mpi.free;
    mpi.free = mpi.messages[i].next;
    return i;
}

static void begin_piece(Lane *l, Request *to, char *at, int n)
{
    const int tag = 1 + (int)l->channel;
    int code;
    if (mpi.pointers)
        code = l->out ? mpi.p.send(at, n, mpi.p.byte, l->peer, tag, mpi.p.comm, &to->pointer)
                      : mpi.p.receive(at, n, mpi.p.byte, l->peer, tag, mpi.p.comm, &to->pointer);
    else
        code = l->out ? mpi.n.send(at, n, mpi.n.byte, l->peer, tag, mpi.n.comm, &to->number)
                      : mpi.n.receive(at, n, mpi.n.byte, l->peer, tag, mpi.n.comm, &to->number);
    l->hopeless = !went_well(code, l->peer, l->out ? "sending" : "receiving");
}

/* A message of no bytes is one piece, too. */
static void give_piece(Lane *l)
{
    Message *m = &mpi.messages[l->giving];
    const int64_t rest = m->bytes - m->given, n = rest < mpi_piece ? rest : mpi_piece;
    Piece *p = &l->piece[(l->first_piece + l->pieces++) % MOST_PIECES];
    p->since = l->out ? seconds_now() : 0;
    begin_piece(l, &p->request, m->at + m->given, (int)n);
    m->given += n;
    m->pieces++;
    if (m->given == m->bytes) l->giving = m->next;
}

/* MPI says so again of a piece that has ended: its request is then MPI_REQUEST_NULL. */
static bool first_piece_ended(Lane *l)
{
    Request *r = &l->piece[l->first_piece].request;
    int yes = 0;
    int code = mpi.pointers ? mpi.p.test(&r->pointer, &yes, NULL) : mpi.n.test(&r->number, &yes, (void *)1);
    l->hopeless = !went_well(code, l->peer, "waiting for a message");
    return yes && !l->hopeless;
}

/* As many pieces are under way as the network takes in about a quarter of a second: words wait no longer for their
 * turn.  Short ones do not tell. */
static void settle_window(Lane *l, const Message *m, double took)
{
    const double quick = 0.05, slow = 0.25;
    if (took < quick && l->window < MOST_PIECES && m->bytes >= mpi_piece) l->window++;
    if (took > slow && l->window > 1) l->window /= 2;
}

static void end_piece(Lane *l)
{
    Message *m = &mpi.messages[l->first];
    if (l->out) settle_window(l, m, seconds_now() - l->piece[l->first_piece].since);
    l->first_piece = (l->first_piece + 1) % MOST_PIECES;
    l->pieces--;
    mpi.idle = 0;
    if (--m->pieces > 0 || l->giving == l->first) return;
    m->ended = true;
    l->first = m->next;
}

static void move_lane(Lane *l)
{
    while (!l->hopeless && l->pieces && first_piece_ended(l)) end_piece(l);
    while (!l->hopeless && l->pieces < l->window && l->giving != NONE) give_piece(l);
}

static int start_message(int peer, bool out, Channel c, char *at, int64_t bytes)
{
    bug_if(peer < 0 || peer >= mpi.carrier.ranks || peer == mpi.carrier.rank || bytes < 0);
    const int i = new_message();
    Lane *l = lane_of(peer, c, out);
    mpi.messages[i] = (Message){.lane = l, .at = at, .bytes = bytes, .next = NONE};
    if (l->first == NONE) l->first = i;
    else mpi.messages[l->last].next = i;
    l->last = i;
    if (l->giving == NONE) l->giving = i;
    mpi.idle = 0;
    move_lane(l);
    return i;
}

static int send_mpi(int to, Channel c, const void *at, int64_t bytes)
{
    return start_message(to, true, c, (char *)at, bytes);
}

static int receive_mpi(int from, Channel c, void *at, int64_t bytes)
{
    return start_message(from, false, c, at, bytes);
}

static bool ended_mpi(int message)
{
    if (!mpi.messages[message].ended) move_lane(mpi.messages[message].lane);
    if (!mpi.messages[message].ended) return false;
    mpi.messages[message].next = mpi.free;
    mpi.free = message;
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
    if (mpi.may_hang) finalize_in_time(mpi.finalize);
    else mpi.finalize();
    restore_actions();
    free(mpi.messages), free(mpi.lanes);
    mpi.messages = NULL, mpi.lanes = NULL;
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
    mpi.may_hang = !mpi.pointers && getenv("PMI_FD");
    if (mpi.may_hang) note_inherited();
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

static void open_lanes(void)
{
    mpi.lanes = must_alloc((size_t)(mpi.carrier.ranks * CHANNELS * 2) * sizeof *mpi.lanes);
    for (int peer = 0; peer < mpi.carrier.ranks; peer++)
        for (int k = 0; k < CHANNELS * 2; k++)
            *lane_of(peer, (Channel)(k / 2), k % 2) = (Lane){.peer = peer,
                                                             .channel = (Channel)(k / 2),
                                                             .out = k % 2,
                                                             .first = NONE,
                                                             .giving = NONE,
                                                             .window = k % 2 ? 1 : MOST_PIECES};
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
    open_lanes();
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
                       .free = NONE};
    note_actions();
    const bool open = start_mpi(&p);
    restore_actions();
    return open ? &mpi.carrier : NULL;
}
