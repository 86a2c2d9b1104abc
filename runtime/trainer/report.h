/* report.h: progress and the run folder. */
#ifndef LATHE_TRAINER_REPORT_H
#define LATHE_TRAINER_REPORT_H

#include "base/file.h"
#include "data/data.h"
#include "data/stream.h"
#include "step/state.h"
#include "trainer/eval.h"
#include "trainer/live.h"
#include "trainer/on_eval.h"
#include "trainer/step.h"
#include "trainer/trainer.h"

enum { SPIKE = 6 }; /* standard deviations that are worth a warning */
typedef struct Spike { /* statistics of the losses so far */
    double mean, variance;
    int64_t n;
} Spike;
double spike_score(Spike *s, double loss); /* and includes the loss in the statistics */

typedef struct Spent { /* seconds of a run, or of an epoch */
    double data, forward, backward, update, there, evaluation, saving;
    double ranks; /* of these: waiting for other ranks */
} Spent;

typedef struct Epoch_start { /* or the program's start, in the middle of an epoch */
    double started;
    int64_t step, units;
    Spent spent;
} Epoch_start;

typedef struct Turn_notes { /* trainer/turns.c: results of the turns of a step, for its report */
    int n;
    struct {
        const char *name;
        double loss, norm, rate;
    } of[LATHE_TURNS];
    const char *part_name[LATHE_LOSSES]; /* of losses without turns: Step.part */
    Step step; /* of these turns together */
    bool begun;
} Turn_notes;
void note_turn(Turn_notes *notes, const Turn *u, const Step *s);
Step noted_step(Turn_notes *notes); /* all of it; the next turn begins another */
/* " (discriminator 0.6931, generator 0.7012) | norm 0.5, 0.4 | lr 1e-3, 2e-3"; " | norm 0.5 | lr 1e-3" without turns,
 * after losses by name, if there are several, and before " | noise scale 132" */
char *turns_text(const Turn_notes *notes);
char *turns_member(const Turn_notes *notes); /* of metrics.jsonl: `turns`, or losses by name, lr and grad_norm */

typedef struct Report {
    const Trainer *t;
    Turn_notes notes;
    const Data *data;
    Spent spent;
    Epoch_start epoch;
    int64_t units; /* rows, or targets that count, so far */
    double smooth_data, smooth_ranks, smooth_units, smooth_items, next_data_warning;
    int metrics; /* RUN/metrics.jsonl */
    Fault metrics_fault;
    char *metrics_path;
    struct Logs *logs; /* of --log */
    On_eval on_eval;
    bool tty, line_open; /* the terminal shows a line without its end */
    double started, last_line, last_step, smooth_ms;
    int64_t steps, items_per_step, every; /* every: steps between lines of metrics.jsonl */
    Live live; /* of the terminal's line */
    Spike spike;
    int64_t next_warning; /* of a spike: the earliest step */
    int64_t first;                        /* steps done when the program started */
} Report;

/* Writes config.json and starts metrics.jsonl, for a resumed run with the lines of the file `metrics` up to its
 * checkpoint. */
void open_report(Report *r, const Trainer *t, const Data *d, int64_t items_per_step, const Progress *at,
                 const char *metrics);
void print_banner(const Report *r); /* model, memory, data, and the run folder, if there is one */
char *duration_text(double seconds); /* "1:02:03" */
void report_step(Report *r, int64_t done, Step s);
void report_divergence(Report *r, int64_t step, const char *turn, const Step *s); /* a line of metrics.jsonl */
void report_scores(Report *r, int64_t done, const Scores *s);
void report_sample(Report *r, int64_t done, const json_t *sample);
bool report_epoch(Report *r, const Progress *p, int source, const Stream_sum *sum); /* the end of an epoch */
void start_next_epoch(Report *r, int64_t done);
void warn_of_spike(Report *r, int64_t done, double loss);
void report_text(Report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* on a line of its own */
void end_line(Report *r); /* before any other output on stderr */
void close_report(Report *r);

#endif
