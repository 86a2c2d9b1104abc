/* finalize.c: MPI_Finalize, which must end.
 *
 * That of MPICH before 4.2 may wait for ever (its pull request 6596): a rank that already waits for the launcher no
 * longer answers one that waits for this answer.  Nothing that matters is on its way any more, so the connections
 * between ranks are cut after a while; then both see an end and go on, and the launcher sees a good end. */
#include "ranks/finalize.h"
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { SECONDS = 2, MOST_SOCKETS = 4096 };

static struct Watch {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool inherited[MOST_SOCKETS]; /* connections between the launcher's own processes */
    bool ended;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Of a network, not of processes on this machine alone. */
static bool is_connection(int i)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return getpeername(i, (struct sockaddr *)&peer, &size) == 0 && peer.ss_family != AF_UNIX;
}

void note_inherited(void)
{
    for (int i = 0; i < MOST_SOCKETS; i++) watch.inherited[i] = is_connection(i);
}

static void cut_connections(void)
{
    for (int i = 0; i < MOST_SOCKETS; i++)
        if (!watch.inherited[i] && is_connection(i)) shutdown(i, SHUT_RDWR);
}

static void *watch_end(void *unused)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS;
    pthread_mutex_lock(&watch.lock);
    while (!watch.ended)
        if (pthread_cond_timedwait(&watch.changed, &watch.lock, &until) == ETIMEDOUT) break;
    if (!watch.ended) cut_connections();
    pthread_mutex_unlock(&watch.lock);
    return unused;
}

void finalize_in_time(int (*finalize)(void))
{
    pthread_t thread;
    const bool watched = start_thread(&thread, watch_end, NULL);
    finalize();
    if (!watched) return;
    pthread_mutex_lock(&watch.lock);
    watch.ended = true;
    pthread_cond_signal(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
    pthread_join(thread, NULL);
}
