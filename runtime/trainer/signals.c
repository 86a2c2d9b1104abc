/* signals.c: what signals ask of a run: to end after the step, or to save soon. */
#include "trainer/signals.h"
#include "base/words.h"
#include "data/stream.h"
#include "ranks/courier.h"
#include "trainer/local_steps.h"
#include "trainer/ranks.h"
#include "trainer/trial.h"

#include <signal.h>
#include <unistd.h>

volatile int interrupted;

static volatile sig_atomic_t save_wanted; /* by SIGUSR1 */
static bool ends_waits;                   /* for data, by a signal: not those of a step that other ranks take, too */

/* The first signal lets the step finish and saves; a second one ends at once.  One that follows at once is the first
 * again: `timeout` and others send it to the program and to its group.  A second SIGXCPU (`ulimit -t`) does not end it
 * either: it comes every second from the limit on. */
static void on_signal(int number)
{
    static double first;
    const double same_signal = 0.02; /* seconds */
    if (interrupted && (number == SIGXCPU || seconds_now() - first < same_signal)) return;
    if (interrupted) _exit(128 + number);
    first = seconds_now();
    interrupted = number;
    ask_to_end(number);
    if (ends_waits) end_waits();
}

static void on_save_signal(int number)
{
    (void)number;
    save_wanted = 1;
    ask_for_save();
}

/* Called at the start: a save requested during loading must not end the run.  SIGPIPE must not either: when nobody
 * reads progress any more, metrics.jsonl still has it. */
void catch_save_signal(void)
{
    signal(SIGPIPE, SIG_IGN);
    struct sigaction save = {.sa_handler = on_save_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &save, NULL);
}

void catch_signals(const Trainer *t)
{
    ends_waits = !is_follower(t) && !steps_locally(t);
    struct sigaction end = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGXCPU, &end, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &end, NULL); /* nohup */
}

void want_save(void) { save_wanted = 1; }
bool save_is_wanted(void) { return save_wanted; }
void forget_wanted_save(void) { save_wanted = 0; }
