/* on_eval.h: --on-eval: a command of the user's after each evaluation. */
#ifndef LATHE_TRAINER_ON_EVAL_H
#define LATHE_TRAINER_ON_EVAL_H

#include <stdint.h>
#include <sys/types.h>

typedef struct On_eval {
    const char *command; /* NULL: none */
    const char *run;     /* the folder */
    pid_t running;       /* 0: none */
    int64_t step;        /* of the evaluation that it was started for */
} On_eval;

/* Starts `sh -c COMMAND` without waiting: the line of metrics.jsonl is its standard input; LATHE_RUN and LATHE_STEP say
 * where and when; what it prints goes to stderr.  If the one before still runs, or it cannot be started, a note says so. */
void tell_command(On_eval *c, int64_t step, const char *line);
void wait_for_command(On_eval *c); /* at the end of a run */

#endif
