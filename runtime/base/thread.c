/* thread.c: threads beside the trainer's own: only the main thread gets signals, and a failure in another thread ends
 * only that thread. */
#include "base/thread.h"

#include <pthread.h>
#include <signal.h>

enum { STACK = 1 << 20 }; /* bytes */

bool start_thread(pthread_t *thread, void *(*run)(void *), void *with)
{
    static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1};
    sigset_t signals, before;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) sigaddset(&signals, handled[i]);
    pthread_attr_t stack; /* the default is `ulimit -s` */
    bool ok = pthread_attr_init(&stack) == 0 && pthread_attr_setstacksize(&stack, STACK) == 0;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    ok = ok && pthread_create(thread, &stack, run, with) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&stack);
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
