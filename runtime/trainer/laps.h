/* laps.h: times of the kernels of training steps, beside the least that each could take. */
#ifndef LATHE_TRAINER_LAPS_H
#define LATHE_TRAINER_LAPS_H

#include "interface/lathe_model.h"
#include "step/optim.h"

#include <jansson.h>

typedef struct Lap_row { /* a kernel of a step; those of the optimizer have numbers below 0 */
    Lathe_kernel k;
    int64_t calls;      /* in a step */
    double now;         /* seconds of its calls in the step that runs */
    double *seconds;    /* [most] of all its calls */
    double time, floor; /* of all its calls: median, least possible */
} Lap_row;

typedef struct Lap_times {
    int64_t most, steps; /* room for; counted */
    int rows, *row_of;   /* row_of: by lap - FIRST_LAP */
    Lap_row *row;
    double *step, step_time; /* [most], median */
    double begin;            /* of the last step */
    bool lists;              /* each call of the step is kept, for a trace, and when gradients were done */
    const char *grads;       /* all of them; NULL: not wanted */
} Lap_times;

enum { FIRST_LAP = LAP_ASIDE };

/* For at most `most` steps of a train entry. */
void open_laps(Lap_times *p, const Lathe_model *m, const Lathe_entry *e, const Optimizer *o, const Lathe_recipe *r,
               int64_t most);
void close_laps(Lap_times *p);
void begin_laps(Lap_times *p); /* a step begins, of which the end of each kernel is noted */
void end_laps(void);           /* no more */
void count_laps(Lap_times *p); /* what was noted is the next step of p */
/* Medians, and floors by what this machine can do; 0: not known. */
typedef struct Machine_rates {
    double copy, product; /* bytes and flop a second */
} Machine_rates;
void settle_laps(Lap_times *p, const Machine_rates *r);

const char *part_of_step(const Lathe_kernel *k); /* "forward", "backward", "update" */
json_t *kernel_json(const Lathe_kernel *k);
json_t *times_json(double seconds, double floor); /* in ms */
json_t *lap_rows_json(const Lap_times *p);
void check_trace(const char *path); /* ends the program (3) if no trace can be written there */
/* The last step, for chrome://tracing or Perfetto; microseconds.  process: its name there.  Ends the program (3) if it
 * cannot. */
void write_trace(const Lap_times *p, const char *path, const char *process);

#endif
