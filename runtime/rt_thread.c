/* rt_thread.c: threads beside the trainer's own: signals are the main thread's, and what goes wrong in them ends them
 * alone. */
#include "trainer.h"

#include <pthread.h>
#include <signal.h>

bool start_thread(pthread_t *thread, void *(*run)(void *), void *with)
{
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    bool ok = pthread_create(thread, NULL, run, with) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static _Thread_local struct {
    void (*take)(void *, int, char *);
    void *to;
} catcher;

void catch_failures(void (*take)(void *, int, char *), void *to)
{
    catcher.take = take;
    catcher.to = to;
}

void hand_failure(int code, char *text)
{
    if (!catcher.take) return;
    catcher.take(catcher.to, code, text);
    pthread_exit(NULL);
}
