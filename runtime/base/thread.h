/* thread.h: threads beside the program's own. */
#ifndef LATHE_BASE_THREAD_H
#define LATHE_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

bool start_thread(pthread_t *thread, void *(*run)(void *), void *with); /* it gets no signals */
/* From now on, fail() in this thread does not end the program: it calls take(to, …) with code and message and ends the
 * thread. */
void catch_failures(void (*take)(void *to, int code, char *text), void *to);
void hand_failure(int code, char *text); /* returns if the thread does not catch failures */

#endif
