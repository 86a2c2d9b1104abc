/* local.c: wires between processes of this machine: for each pair of ranks and channel a pair of sockets, which are
 * made before forking. */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "ranks/carrier.h"
#include "base/words.h"
#include "ranks/letters.h"
#include "ranks/sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NONE = -1, SOCKET_BYTES = 256 << 10 }; /* in the kernel for each socket; more is no faster */

struct Wires {
    int ranks;
    int socket[]; /* [ranks][ranks][CHANNELS]: of the first, to the second; NONE on the diagonal */
};

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

struct Wires *make_wires(int ranks, const char **refusal)
{
    const int64_t sockets = (int64_t)ranks * (ranks - 1) * CHANNELS;
    struct Wires *w = must_alloc(sizeof *w + sizeof *w->socket * (size_t)ranks * (size_t)ranks * CHANNELS);
    *w = (struct Wires){.ranks = ranks};
    (void)wire_rate(); /* refused before processes are forked */
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

const Carrier *open_wires(struct Wires *w, int rank)
{
    const Carrier of = {.rank = rank, .ranks = w->ranks, .name = "processes of this machine"};
    close_others(w, rank);
    const Carrier *opened = rank >= 0 ? open_letters(&of, socket_of(w, rank, 0, 0), false) : NULL;
    free(w);
    return opened;
}
