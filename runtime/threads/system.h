/* system.h: threads, and what they wait for, of POSIX or of Windows. Nothing here allocates. */
#ifndef LATHE_THREADS_SYSTEM_H
#define LATHE_THREADS_SYSTEM_H
#if !defined LATHE_LIBRARY || defined LATHE_OWN_THREADS

#include <stdbool.h>
#include <stddef.h>

#ifdef _WIN32

/* As Microsoft's pages have them: windows.h would bring thousands of names along, which models may have. */
__declspec(dllimport) void AcquireSRWLockExclusive(void *lock);
__declspec(dllimport) void ReleaseSRWLockExclusive(void *lock);
__declspec(dllimport) int SleepConditionVariableSRW(void *condition, void *lock, unsigned milliseconds, unsigned flags);
__declspec(dllimport) void WakeConditionVariable(void *condition);
__declspec(dllimport) void *CreateThread(void *security, size_t stack, unsigned (*run)(void *), void *data, unsigned flags, unsigned *id);
__declspec(dllimport) unsigned WaitForSingleObject(void *handle, unsigned milliseconds);
__declspec(dllimport) int CloseHandle(void *handle);

typedef void *System_thread;
typedef void *System_lock;      /* an SRWLOCK: all zero at its beginning, and without an end */
typedef void *System_bell;      /* a CONDITION_VARIABLE: the same */
typedef unsigned Thread_end;    /* what a thread's function returns: 0 */

static inline bool make_lock(System_lock *l) { return *l = NULL, true; }
static inline void end_lock(System_lock *l) { (void)l; }
static inline void hold_lock(System_lock *l) { AcquireSRWLockExclusive(l); }
static inline void free_lock(System_lock *l) { ReleaseSRWLockExclusive(l); }
static inline bool make_bell(System_bell *b) { return *b = NULL, true; }
static inline void end_bell(System_bell *b) { (void)b; }
static inline void ring_bell(System_bell *b) { WakeConditionVariable(b); }
static inline void wait_for_bell(System_bell *b, System_lock *l) { SleepConditionVariableSRW(b, l, ~0u, 0); }

static inline bool start_system_thread(System_thread *t, size_t stack, Thread_end (*run)(void *), void *data)
{
    const unsigned reserved = 0x10000; /* the stack's size is that of its addresses */
    *t = CreateThread(NULL, stack, run, data, reserved, NULL);
    return *t != NULL;
}

static inline void end_system_thread(System_thread t)
{
    WaitForSingleObject(t, ~0u);
    CloseHandle(t);
}

#else
#include <pthread.h>
#include <signal.h>

typedef pthread_t System_thread;
typedef pthread_mutex_t System_lock;
typedef pthread_cond_t System_bell;     /* a thread sleeps until it rings */
typedef void *Thread_end;               /* what a thread's function returns: NULL */

static inline bool make_lock(System_lock *l) { return pthread_mutex_init(l, NULL) == 0; }
static inline void end_lock(System_lock *l) { pthread_mutex_destroy(l); }
static inline void hold_lock(System_lock *l) { pthread_mutex_lock(l); }
static inline void free_lock(System_lock *l) { pthread_mutex_unlock(l); }
static inline bool make_bell(System_bell *b) { return pthread_cond_init(b, NULL) == 0; }
static inline void end_bell(System_bell *b) { pthread_cond_destroy(b); }
static inline void ring_bell(System_bell *b) { pthread_cond_signal(b); }
static inline void wait_for_bell(System_bell *b, System_lock *l) { pthread_cond_wait(b, l); }

/* It gets no signals: they are the program's. */
static inline bool start_system_thread(System_thread *t, size_t stack, Thread_end (*run)(void *), void *data)
{
    sigset_t all, before;
    pthread_attr_t wanted;
    if (pthread_attr_init(&wanted) != 0) return false;
    bool ok = pthread_attr_setstacksize(&wanted, stack) == 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ok = ok && pthread_create(t, &wanted, run, data) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&wanted);
    return ok;
}

static inline void end_system_thread(System_thread t) { pthread_join(t, NULL); }
#endif

#endif
#endif
