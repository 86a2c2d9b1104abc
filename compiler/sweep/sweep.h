/* sweep.h: `lathe sweep`: many runs of one description, over some of its settings. */
#ifndef SWEEP_H
#define SWEEP_H

#include "base/util.h"
#include "desc/desc.h"

/* ------------------------------------------------------------------ what is searched */

typedef enum Key_kind {
    KEY_BUILT,                  /* the program depends on it: --set of `lathe build` */
    KEY_DESCRIBED,              /* only the description's recipe does: runs are told what that becomes */
    KEY_OF_RUN,                 /* a setting of the recipe: --set of the run */
} Key_kind;

typedef struct Dimension {      /* an --over */
    const char *key, *given;    /* "1e-4..1e-2", as the command line has it */
    Key_kind kind;
    bool ranged;                /* low to high; else one of values */
    bool whole, logarithmic;    /* of a range */
    double low, high;
    int points;                 /* as many values of it are meant, evenly apart on its scale; 0: the range itself */
    Texts values;
} Dimension;
typedef VEC(Dimension) Dimensions;

typedef struct Draw { uint64_t state; } Draw; /* random numbers of one trial */

/* spec.c */
Dimension parse_over(const char *text);                         /* KEY=a..b, KEY=a..b/POINTS, KEY=lin:a..b, KEY=log:a..b, KEY=a,b,c */
void spread_range(Dimension *d, int points);                    /* it becomes so many values, or as many whole numbers as it has */
double coordinate_of(const Dimension *d, const char *value);    /* of a range: where a value is, on its scale */
void coordinate_bounds(const Dimension *d, double *from, double *to);
const char *coordinate_text(const Dimension *d, double coordinate);    /* in the range, with 4 digits */

/* keys.c: ends the program where a key or a value is none; o: for the front's message about an unknown key */
void settle_key(Dimension *d, const Options *o, const Desc *described);

/* draw.c */
Draw draws_of_trial(int64_t seed, int trial);
double draw_unit(Draw *d);                                      /* 0 … 1, 1 excluded */
int64_t grid_size(const Dimensions *over);
void grid_point(const Dimensions *over, int64_t k, const char **to);       /* the last key changes first */
void random_point(const Dimensions *over, Draw *draw, const char **to);

/* tpe.c */
typedef struct Seen {           /* a trial that has ended */
    const char *const *value;
    double score;               /* lower is better; INFINITY: it failed */
} Seen;
enum {
    TPE_START = 8,              /* trials that are drawn at random, before there is something to learn from */
    TPE_LAG = 4,                /* a trial learns from those as far before it: so many may run at a time */
};
void tpe_point(const Dimensions *over, const Seen *seen, int n, Draw *draw, const char **to);

/* halving.c */
enum { ETA = 3, MOST_RUNGS = 3 };
int rungs_for(int trials, int64_t steps);
int64_t steps_at(int64_t steps, int rung, int rungs);           /* of a trial that has done this rung */
int order_best(const double *score, int n, int *order);         /* indices, the best first; how many are finite */
int go_on(int trials);                                          /* how many of a rung do the next */

/* ------------------------------------------------------------------ trials */

typedef enum Ended { NOT_ENDED, DONE, DIVERGED, FAILED, TOO_LARGE } Ended;

typedef struct Outcome {        /* of a run after a rung */
    Ended how;
    double value;               /* the best of its evaluations, by the metric */
    int64_t steps;
    double seconds;
    const char *message;        /* NULL: none */
} Outcome;

typedef struct Sweep_build {
    const char *sets, *folder;  /* " --set width=64" */
    bool ready, running;
    int64_t bytes, parameters;  /* that it plans; of the model */
    double flop;                /* of a micro-batch */
    Lathe_recipe steps;         /* how many of them a step has */
    const char *fault;          /* why it cannot be built; NULL: nothing is known */
} Sweep_build;

typedef struct Sweep_trial {
    const char **value;         /* of each dimension; NULL: not proposed yet */
    const char *run_sets;       /* " --set lr=0.001", for the trainer */
    const char *fault;          /* why it cannot be; NULL: it can */
    Sweep_build *build;
    Outcome (*run)[MOST_RUNGS]; /* of each seed */
    int rung;                   /* the last that it takes part in */
} Sweep_trial;

typedef enum Method { BY_GRID, BY_RANDOM, BY_TPE } Method;

typedef struct Child Child;

typedef struct Sweep {
    const char *model, *folder, *metric;
    const Options *options;     /* of each build */
    const Desc *desc;           /* as it is without --over */
    Texts words, for_run;       /* for each run: words of the command line, --set of texts */
    Dimensions over;
    Method method;
    bool halving;
    bool scaling;               /* `lathe scale`: a grid, and a law of its sizes */
    double budget;              /* of a run: seconds, or floating point operations; 0: not given */
    bool budget_of_time;
    bool lower;                 /* values of the metric are better */
    bool keeps;                 /* the line says how many checkpoints; else there is the newest, and the best */
    int64_t trials, seeds, jobs, threads, seed;
    int64_t steps;              /* of a whole run, with --halving */
    int64_t memory;             /* bytes that all runs may plan; 0: what there is */
    int rungs;
    Sweep_trial *trial;         /* [trials] */
    VEC(Sweep_build *) builds;
    VEC(Child *) children;
    int results;                /* open for appending */
} Sweep;

extern volatile int sweep_signal; /* that ends the sweep; 0: none */

const char *trial_folder(const Sweep *s, int trial, int seed);
const char *settings_text(const Sweep *s, const Sweep_trial *t); /* "lr=0.001 width=64" */
bool has_ended(const Sweep *s, int trial, int rung);            /* with all its seeds */
double score_of(const Sweep *s, int trial, int rung);           /* the mean; lower is better; INFINITY: none */
double mean_of(const Sweep *s, int trial, int rung, double *spread);
bool propose(Sweep *s, int trial);                      /* its values; false: it waits for the results of others */

/* resolve.c: what a trial is built with, and what its runs are told */
void resolve(Sweep *s, int trial);

/* children.c */
struct Child {
    int pid, trial, seed;       /* trial -1: a build */
    Sweep_build *build;
    const char *log;
    long from;                  /* where this child's words begin in the log */
    double started;
};
Child *start_child(Sweep *s, const char *command, const char *log);
Child *end_of_child(Sweep *s, int *status);                     /* waits for one; NULL: there is none */
const char *first_error(const char *log, long from);            /* those lines; or the last; NULL: there is none */
void catch_sweep_signals(const Sweep *s);

/* jobs.c */
void run_rung(Sweep *s, int rung);                              /* all that is left of it, or up to a signal */
/* builds.c */
void start_build(Sweep *s, Sweep_build *b);
void end_build(const Sweep *s, const Child *c, int code);

/* results.c: the folder */
void open_sweep_folder(Sweep *s);                       /* locks it, compares it with this sweep, reads what has ended */
void keep_outcome(const Sweep *s, int trial, int seed, int rung);
void forget_outcomes(const Sweep *s);                           /* the same command makes all runs again */

/* metric.c */
bool read_metric(const char *run, const char *metric, bool lower, Outcome *to); /* false: no evaluation has it */

/* table.c */
void say_run(const Sweep *s, int trial, int seed, int rung);    /* a line as a run ends */
int end_sweep(const Sweep *s);                                  /* the table, the file, the command; the exit code */

/* scale.c */
void parse_budget(Sweep *s, const char *text);
int tell_law(Sweep *s);                                         /* after end_sweep(); the exit code */

#endif
