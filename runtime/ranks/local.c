/* local.c: messages between processes of this machine: for each pair of ranks and channel a pair of sockets.
 *
 * On the wire a message is its size (8 bytes), then its bytes; a receiver that expects another size has met a rank that
 * does something else, and gives up.  A process that ends, however it does, closes its sockets: the others read what it
 * has sent, then the end. */
#define _GNU_SOURCE /* ppoll */
#include "ranks/carrier.h"
#include "base/words.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NONE = -1 };
enum { SOCKET_BYTES = 256 << 10 }; /* in the kernel for each socket; more is no faster */
enum { TURN_BYTES = 8 << 20 };     /* through one socket before others have a turn */

typedef enum Way { WAY_IN, WAY_OUT, WAYS } Way;

typedef struct Letter {
    int64_t size; /* as it stands on the wire */
    char *at;
    int64_t bytes, moved; /* moved: of the size and the bytes */
    int next;             /* begun after this one, at the same end and way; of a free one: the next free one */
    bool arrived;
} Letter;

typedef struct End { /* this rank's, of the wire of a channel to a peer */
    int socket;
    int first[WAYS], last[WAYS]; /* unfinished letters, in order */
    bool hung, read_out;         /* the peer has closed its end; all that it sent has been read */
} End;

struct Wires {
    int ranks;
    double rate;  /* LATHE_WIRE_RATE; 0: no limit */
    int socket[]; /* [ranks][ranks][CHANNELS]: of the first, to the second; NONE on the diagonal */
};

static struct Local {
    Carrier carrier;
    End *ends;           /* [ranks][CHANNELS] */
    struct pollfd *look; /* [ranks * CHANNELS] */
    Letter *letters;
    int room, free;
    double rate, allowed, since;
    int unfinished, asked; /* letters; questions after them since all were last moved */
    int broken;            /* a rank that sent what nobody expects, or NONE */
    char words[160];
} local;

/* ------------------------------------------------------------------ wires */

static int *socket_of(struct Wires *w, int rank, int peer, int channel)
{
    return &w->socket[((int64_t)rank * w->ranks + peer) * CHANNELS + channel];
}

static void widen(int socket)
{
    const int bytes = SOCKET_BYTES; /* the kernel may give less */
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static bool make_wire(struct Wires *w, int a, int b, int channel)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) return false;
    widen(pair[0]), widen(pair[1]);
    *socket_of(w, a, b, channel) = pair[0];
    *socket_of(w, b, a, channel) = pair[1];
    return true;
}

/* Closes all ends but those of `rank`. */
static void close_others(struct Wires *w, int rank)
{
    for (int a = 0; a < w->ranks; a++)
        for (int i = 0; a != rank && i < w->ranks * CHANNELS; i++)
            if (*socket_of(w, a, 0, i) != NONE) close(*socket_of(w, a, 0, i));
}

/* The soft limit of open files is often 1,024, the hard one much more. */
static void allow_files(int64_t more)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    rlim_t wanted = (rlim_t)more + 256;
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct Wires *make_wires(int ranks, const char **refusal)
{
    const int64_t sockets = (int64_t)ranks * (ranks - 1) * CHANNELS;
    struct Wires *w = must_alloc(sizeof *w + sizeof *w->socket * (size_t)ranks * (size_t)ranks * CHANNELS);
    *w = (struct Wires){.ranks = ranks, .rate = number_of_variable("LATHE_WIRE_RATE", 0, "bytes a second")};
    for (int i = 0; i < ranks * ranks * CHANNELS; i++) w->socket[i] = NONE;
    allow_files(sockets);
    for (int a = 0; a < ranks; a++)
        for (int i = (a + 1) * CHANNELS; i < ranks * CHANNELS; i++)
            if (!make_wire(w, a, i / CHANNELS, i % CHANNELS)) {
                *refusal = text_of("%d ranks need %lld sockets, and one could not be made: %s; start fewer ranks, or "
                                   "allow more open files: ulimit -n",
                                   ranks, (long long)sockets, error_text(errno));
                close_others(w, NONE);
                free(w);
                return NULL;
            }
    return w;
}

/* ------------------------------------------------------------------ letters */

static int new_letter(void)
{
    if (local.free == NONE) {
        int room = local.room ? 2 * local.room : 64;
        local.letters = must_grow(local.letters, sizeof(Letter) * (size_t)room);
        for (int i = local.room; i < room; i++) local.letters[i].next = i + 1 < room ? i + 1 : NONE;
        local.free = local.room;
        local.room = room;
    }
    int i = local.free;
    local.free = local.letters[i].next;
    return i;
}

/* LATHE_WIRE_RATE: bytes a second that a rank sends, for measurements of slow networks; unset: no limit.  As with a
 * card that has a queue, time counts while something waits to be sent, whether this thread runs or not. */
static void earn_bytes(void)
{
    if (local.rate <= 0) return;
    bool waits = false;
    for (int i = 0; i < local.carrier.ranks * CHANNELS; i++) waits |= local.ends[i].first[WAY_OUT] != NONE;
    const double now = seconds_now(), most = 0.001 * local.rate;
    local.allowed += (now - local.since) * local.rate;
    if (!waits && local.allowed > most) local.allowed = most;
    local.since = now;
}

/* Half a millisecond's worth at once, not byte by byte. */
static bool may_send(void) { return local.rate <= 0 || local.allowed >= 0.0005 * local.rate; }

/* Bytes that moved of a letter; 0: none can now; -1: none ever will. */
static int64_t move_some(int socket, Way way, Letter *l)
{
    const int64_t head = sizeof l->size, begun = l->moved > head ? l->moved - head : 0;
    const bool limited = way == WAY_OUT && local.rate > 0;
    const int64_t most = limited ? (int64_t)local.allowed : TURN_BYTES;
    const int64_t rest = l->bytes - begun < most ? l->bytes - begun : most;
    struct iovec parts[2];
    if (way == WAY_OUT && !may_send()) return 0;
    struct msghdr message = {.msg_iov = parts};
    if (l->moved < head)
        parts[message.msg_iovlen++] = (struct iovec){(char *)&l->size + l->moved, (size_t)(head - l->moved)};
    if (rest) parts[message.msg_iovlen++] = (struct iovec){l->at + begun, (size_t)rest};
    ssize_t n;
    do
        n = way == WAY_OUT ? sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL)
                           : recvmsg(socket, &message, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0 && limited) local.allowed -= (double)n;
    if (n > 0) return l->moved += n, n;
    return n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) ? 0 : -1;
}

/* Of a letter that is coming in. */
static bool size_fits(int peer, const Letter *l)
{
    if (l->moved < (int64_t)sizeof l->size || l->size == l->bytes) return true;
    snprintf(local.words, sizeof local.words, "rank %d sent %lld bytes where %lld were expected", peer,
             (long long)l->size, (long long)l->bytes);
    local.broken = peer;
    return false;
}

/* Moves the letters of an end as far as they go. */
static void move_letters(int peer, End *e, Way way)
{
    for (int64_t n, turn = 0; e->first[way] != NONE && turn < TURN_BYTES; turn += n) {
        Letter *l = &local.letters[e->first[way]];
        n = move_some(e->socket, way, l);
        if (n < 0) {
            e->hung = true;
            if (way == WAY_IN) e->read_out = true;
        }
        if (n <= 0 || (way == WAY_IN && !size_fits(peer, l))) return;
        if (l->moved < l->bytes + (int64_t)sizeof l->size) continue;
        l->arrived = true;
        local.unfinished--;
        e->first[way] = l->next;
    }
}

/* What an end waits for; -1: nothing, so that its peer's having gone is not told again and again. */
static int wanted_events(const End *e)
{
    int events = 0;
    if (e->first[WAY_IN] != NONE && !e->read_out) events |= POLLIN;
    if (e->first[WAY_OUT] != NONE && !e->hung && may_send()) events |= POLLOUT;
    return events || !e->hung ? events : -1;
}

/* Waits up to so many seconds until something may have happened. */
static void watch_sockets(double seconds)
{
    const int ends = local.carrier.ranks * CHANNELS;
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    for (int i = 0; i < ends; i++) {
        const int events = local.ends[i].socket == NONE ? -1 : wanted_events(&local.ends[i]);
        local.look[i] = (struct pollfd){events < 0 ? NONE : local.ends[i].socket, (short)events, 0};
    }
    if (ppoll(local.look, (nfds_t)ends, &time, NULL) <= 0)
        for (int i = 0; i < ends; i++) local.look[i].revents = 0;
    for (int i = 0; i < ends; i++)
        if (local.look[i].revents & (POLLHUP | POLLERR)) local.ends[i].hung = true;
}

/* Moves what can move, after waiting up to so many seconds until something can. */
static void move_all(double seconds)
{
    local.asked = 0;
    earn_bytes();
    watch_sockets(seconds);
    for (int i = 0; i < local.carrier.ranks * CHANNELS; i++) {
        const int happened = local.look[i].revents;
        if (happened & (POLLIN | POLLHUP | POLLERR)) move_letters(i / CHANNELS, &local.ends[i], WAY_IN);
        if (happened & POLLOUT) move_letters(i / CHANNELS, &local.ends[i], WAY_OUT);
    }
}

/* ------------------------------------------------------------------ a carrier */

static int begin_letter(int peer, Channel c, Way way, void *at, int64_t bytes)
{
    bug_if(peer < 0 || peer >= local.carrier.ranks || peer == local.carrier.rank || bytes < 0);
    End *e = &local.ends[peer * CHANNELS + (int)c];
    earn_bytes();
    const int i = new_letter();
    local.unfinished++;
    local.letters[i] = (Letter){.size = bytes, .at = at, .bytes = bytes, .next = NONE};
    if (e->first[way] == NONE) e->first[way] = i;
    else local.letters[e->last[way]].next = i;
    e->last[way] = i;
    if (e->first[way] == i) move_letters(peer, e, way);
    return i;
}

static int send_local(int to, Channel c, const void *at, int64_t bytes)
{
    return begin_letter(to, c, WAY_OUT, (void *)at, bytes);
}

static int receive_local(int from, Channel c, void *at, int64_t bytes)
{
    return begin_letter(from, c, WAY_IN, at, bytes);
}

/* Who asks after each of many letters moves them all once, not each time. */
static bool ended_local(int message)
{
    if (!local.letters[message].arrived && ++local.asked >= local.unfinished) move_all(0);
    if (!local.letters[message].arrived) return false;
    local.letters[message] = (Letter){.next = local.free};
    local.free = message;
    return true;
}

static bool peer_lost(int peer)
{
    for (const End *e = &local.ends[peer * CHANNELS], *past = e + CHANNELS; e < past; e++)
        if (!e->hung || (e->first[WAY_IN] != NONE && !e->read_out)) return false;
    return true;
}

static bool lost_local(int *rank)
{
    move_all(0);
    for (int i = 0; local.broken == NONE && i < local.carrier.ranks; i++)
        if (i != local.carrier.rank && peer_lost(i)) {
            local.broken = i;
            snprintf(local.words, sizeof local.words, "the process of rank %d has ended", i);
        }
    if (local.broken != NONE) *rank = local.broken;
    return local.broken != NONE;
}

static const char *failure_local(void) { return *local.words ? local.words : NULL; }

static void close_local(void)
{
    for (int i = 0; i < local.carrier.ranks * CHANNELS; i++)
        if (local.ends[i].socket != NONE) close(local.ends[i].socket);
    free(local.ends), free(local.look), free(local.letters);
    local = (struct Local){.broken = NONE};
}

static void leave_local(int code) { _exit(code); } /* which closes the sockets */

const Carrier *open_wires(struct Wires *w, int rank)
{
    close_others(w, rank);
    if (rank >= 0) {
        const int ends = w->ranks * CHANNELS;
        local = (struct Local){.carrier = {rank, w->ranks, "processes of this machine", send_local, receive_local,
                                           ended_local, lost_local, failure_local, move_all, close_local, leave_local},
                               .ends = must_alloc(sizeof(End) * (size_t)ends),
                               .look = must_alloc(sizeof *local.look * (size_t)ends),
                               .free = NONE,
                               .broken = NONE};
        local.rate = w->rate;
        for (int i = 0; i < ends; i++)
            local.ends[i] = (End){*socket_of(w, rank, 0, i), {NONE, NONE}, {NONE, NONE}, false, false};
    }
    free(w);
    return rank >= 0 ? &local.carrier : NULL;
}
