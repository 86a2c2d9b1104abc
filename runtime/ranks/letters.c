/* letters.c: messages over sockets: for each pair of ranks and channel a connection.
 *
 * On the wire a message is its size (8 bytes), then its bytes; a receiver that expects another size has met a rank that
 * does something else, and gives up.  A process that ends, however it does, closes its sockets: the others read what it
 * has sent, then the end. */
#define _GNU_SOURCE /* ppoll, POLLRDHUP */
#include "ranks/letters.h"
#include "base/words.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { NONE = -1, GONE = POLLHUP | POLLERR | POLLRDHUP };
enum { TURN_BYTES = 8 << 20 }; /* through one socket before others have a turn */

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

static struct Wired {
    Carrier carrier;
    bool far;            /* the ranks may be on several machines */
    End *ends;           /* [ranks][CHANNELS] */
    struct pollfd *look; /* [ranks * CHANNELS] */
    Letter *letters;
    int room, free;
    double rate, allowed, since; /* rate: LATHE_WIRE_RATE */
    int unfinished, asked;       /* letters; questions after them since all were last moved */
    int broken;                  /* a rank that sent what nobody expects, or NONE */
    char words[160];
} wired;

/* ------------------------------------------------------------------ letters */

static int new_letter(void)
{
    if (wired.free == NONE) {
        int room = wired.room ? 2 * wired.room : 64;
        wired.letters = must_grow(wired.letters, sizeof(Letter) * (size_t)room);
        for (int i = wired.room; i < room; i++) wired.letters[i].next = i + 1 < room ? i + 1 : NONE;
        wired.free = wired.room;
        wired.room = room;
    }
    int i = wired.free;
    wired.free = wired.letters[i].next;
    return i;
}

double wire_rate(void) { return number_of_variable("LATHE_WIRE_RATE", 0, "bytes a second"); }

/* LATHE_WIRE_RATE: bytes a second that a rank sends, for measurements of slow networks; unset: no limit.  As with a
 * card that has a queue, time counts while something waits to be sent, whether this thread runs or not. */
static void earn_bytes(void)
{
    if (wired.rate <= 0) return;
    bool waits = false;
    for (int i = 0; i < wired.carrier.ranks * CHANNELS; i++) waits |= wired.ends[i].first[WAY_OUT] != NONE;
    const double now = seconds_now(), most = 0.001 * wired.rate;
    wired.allowed += (now - wired.since) * wired.rate;
    if (!waits && wired.allowed > most) wired.allowed = most;
    wired.since = now;
}

/* Half a millisecond's worth at once, not byte by byte. */
static bool may_send(void) { return wired.rate <= 0 || wired.allowed >= 0.0005 * wired.rate; }

/* Bytes that moved of a letter; 0: none can now; -1: none ever will. */
static int64_t move_some(int socket, Way way, Letter *l)
{
    const int64_t head = sizeof l->size, begun = l->moved > head ? l->moved - head : 0;
    const bool limited = way == WAY_OUT && wired.rate > 0;
    const int64_t most = limited ? (int64_t)wired.allowed : TURN_BYTES;
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
    if (n > 0 && limited) wired.allowed -= (double)n;
    if (n > 0) return l->moved += n, n;
    return n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) ? 0 : -1;
}

/* Of a letter that is coming in. */
static bool size_fits(int peer, const Letter *l)
{
    if (l->moved < (int64_t)sizeof l->size || l->size == l->bytes) return true;
    snprintf(wired.words, sizeof wired.words, "rank %d sent %lld bytes where %lld were expected", peer,
             (long long)l->size, (long long)l->bytes);
    wired.broken = peer;
    return false;
}

/* Moves the letters of an end as far as they go. */
static void move_letters(int peer, End *e, Way way)
{
    for (int64_t n, turn = 0; e->first[way] != NONE && turn < TURN_BYTES; turn += n) {
        Letter *l = &wired.letters[e->first[way]];
        n = move_some(e->socket, way, l);
        if (n < 0) {
            e->hung = true;
            if (way == WAY_IN) e->read_out = true;
        }
        if (n <= 0 || (way == WAY_IN && !size_fits(peer, l))) return;
        if (l->moved < l->bytes + (int64_t)sizeof l->size) continue;
        l->arrived = true;
        wired.unfinished--;
        e->first[way] = l->next;
    }
}

/* What an end waits for; -1: nothing, so that its peer's having gone is not told again and again. */
static int wanted_events(const End *e)
{
    int events = e->hung ? 0 : POLLRDHUP;
    if (e->first[WAY_IN] != NONE && !e->read_out) events |= POLLIN;
    if (e->first[WAY_OUT] != NONE && !e->hung && may_send()) events |= POLLOUT;
    return events ? events : -1;
}

/* Waits up to so many seconds until something may have happened. */
static void watch_sockets(double seconds)
{
    const int ends = wired.carrier.ranks * CHANNELS;
    const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    for (int i = 0; i < ends; i++) {
        const int events = wired.ends[i].socket == NONE ? -1 : wanted_events(&wired.ends[i]);
        wired.look[i] = (struct pollfd){events < 0 ? NONE : wired.ends[i].socket, (short)events, 0};
    }
    if (ppoll(wired.look, (nfds_t)ends, &time, NULL) <= 0)
        for (int i = 0; i < ends; i++) wired.look[i].revents = 0;
    for (int i = 0; i < ends; i++)
        if (wired.look[i].revents & GONE) wired.ends[i].hung = true;
}

/* Moves what can move, after waiting up to so many seconds until something can. */
static void move_all(double seconds)
{
    wired.asked = 0;
    earn_bytes();
    watch_sockets(seconds);
    for (int n = 0; n < wired.carrier.ranks * CHANNELS; n++) { /* channel by channel */
        const int peer = n % wired.carrier.ranks, i = peer * CHANNELS + n / wired.carrier.ranks;
        const int happened = wired.look[i].revents;
        if (happened & (POLLIN | GONE)) move_letters(peer, &wired.ends[i], WAY_IN);
        if (happened & POLLOUT) move_letters(peer, &wired.ends[i], WAY_OUT);
    }
}

/* ------------------------------------------------------------------ a carrier */

static int begin_letter(int peer, Channel c, Way way, void *at, int64_t bytes)
{
    bug_if(peer < 0 || peer >= wired.carrier.ranks || peer == wired.carrier.rank || bytes < 0);
    End *e = &wired.ends[peer * CHANNELS + (int)c];
    earn_bytes();
    const int i = new_letter();
    wired.unfinished++;
    wired.letters[i] = (Letter){.size = bytes, .at = at, .bytes = bytes, .next = NONE};
    if (e->first[way] == NONE) e->first[way] = i;
    else wired.letters[e->last[way]].next = i;
    e->last[way] = i;
    if (e->first[way] == i) move_letters(peer, e, way);
    return i;
}

static int send_letter(int to, Channel c, const void *at, int64_t bytes)
{
    return begin_letter(to, c, WAY_OUT, (void *)at, bytes);
}

static int receive_letter(int from, Channel c, void *at, int64_t bytes)
{
    return begin_letter(from, c, WAY_IN, at, bytes);
}

/* Who asks after each of many letters moves them all once, not each time. */
static bool letter_ended(int message)
{
    if (!wired.letters[message].arrived && ++wired.asked >= wired.unfinished) move_all(0);
    if (!wired.letters[message].arrived) return false;
    wired.letters[message] = (Letter){.next = wired.free};
    wired.free = message;
    return true;
}

static bool peer_lost(int peer)
{
    for (const End *e = &wired.ends[peer * CHANNELS], *past = e + CHANNELS; e < past; e++)
        if (!e->hung || (e->first[WAY_IN] != NONE && !e->read_out)) return false;
    return true;
}

static bool letters_lost(int *rank)
{
    move_all(0);
    for (int i = 0; wired.broken == NONE && i < wired.carrier.ranks; i++)
        if (i != wired.carrier.rank && peer_lost(i)) {
            wired.broken = i;
            snprintf(wired.words, sizeof wired.words, "the process of rank %d has ended", i);
        }
    if (wired.broken != NONE) *rank = wired.broken;
    return wired.broken != NONE;
}

static const char *letters_failure(void) { return *wired.words ? wired.words : NULL; }

static void close_letters(void)
{
    for (int i = 0; i < wired.carrier.ranks * CHANNELS; i++)
        if (wired.ends[i].socket != NONE) close(wired.ends[i].socket);
    free(wired.ends), free(wired.look), free(wired.letters);
    wired = (struct Wired){.broken = NONE};
}

/* What is on its way over a network arrives: closing a socket that has something to read would drop it. */
static bool all_has_arrived(void)
{
    bool all = true;
    for (int i = 0; i < wired.carrier.ranks * CHANNELS; i++) {
        const End *e = &wired.ends[i];
        int rest = 0;
        if (e->socket != NONE && !e->hung && ioctl(e->socket, SIOCOUTQ, &rest) == 0) all &= rest == 0;
    }
    return all;
}

/* Ends the process, which closes the sockets. */
static void leave_letters(int code)
{
    const double until = seconds_now() + 0.5;
    while (wired.far && !all_has_arrived() && seconds_now() < until) {
        nanosleep(&(struct timespec){0, 5000000}, NULL);
        watch_sockets(0);
    }
    _exit(code);
}

const Carrier *open_letters(const Carrier *of, const int *socket, bool far)
{
    const int ends = of->ranks * CHANNELS;
    wired = (struct Wired){.carrier = {.rank = of->rank,
                                       .ranks = of->ranks,
                                       .place = of->place,
                                       .places = of->places,
                                       .send = send_letter,
                                       .receive = receive_letter,
                                       .ended = letter_ended,
                                       .lost = letters_lost,
                                       .failure = letters_failure,
                                       .pause = move_all,
                                       .close = close_letters,
                                       .leave = leave_letters},
                           .far = far,
                           .ends = must_alloc(sizeof(End) * (size_t)ends),
                           .look = must_alloc(sizeof *wired.look * (size_t)ends),
                           .free = NONE,
                           .broken = NONE};
    snprintf(wired.carrier.name, sizeof wired.carrier.name, "%s", of->name);
    wired.rate = wire_rate();
    for (int i = 0; i < ends; i++) wired.ends[i] = (End){socket[i], {NONE, NONE}, {NONE, NONE}, false, false};
    return &wired.carrier;
}
