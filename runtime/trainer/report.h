/* report.h: progress and the run folder. */
#ifndef LATHE_TRAINER_REPORT_H
#define LATHE_TRAINER_REPORT_H

#include "base/file.h"
#include "data/data.h"
#include "data/stream.h"
#include "step/state.h"
#include "trainer/eval.h"
#include "trainer/step.h"
#include "trainer/trainer.h"

enum { SPIKE = 6 }; /* standard deviations that are worth a warning */
typedef struct Spike { /* what is known of the losses so far */
    double mean, variance;
    int64_t n;
} Spike;
double spike_score(Spike *s, double loss); /* and takes the loss in */

typedef struct Spent { /* seconds of a run, or of an epoch */
    double data, forward, backward, update, there, evaluation, saving;
} Spent;

typedef struct Epoch_start { /* or the program's, in the midst of an epoch */
    double started;
    int64_t step, units;
    Spent spent;
} Epoch_start;

typedef struct Report {
    const Trainer *t;
    const Data *data;
    Spent spent;
    Epoch_start epoch;
    int64_t units; /* rows, or targets that count, so far */
    double smooth_data, smooth_units, next_data_warning;
    int metrics; /* RUN/metrics.jsonl */
    Fault metrics_fault;
    char *metrics_path;
    bool tty, line_open; /* a line without its end stands on the terminal */
    double started, last_line, last_step, smooth_ms;
    int64_t steps, items_per_step, every; /* every: of the metrics' lines */
    Spike spike;
    int64_t next_warning; /* of a spike: not before this step */
    int64_t first;                        /* steps done when the program started */
} Report;

/* Writes config.json and starts metrics.jsonl, or cuts the file `metrics` back to what a resumed run had behind it. */
void open_report(Report *r, const Trainer *t, const Data *d, int64_t items_per_step, const Progress *at,
                 const char *metrics);
void print_banner(const Report *r); /* model, memory, data, and where the run goes, if somewhere */
char *duration_text(double seconds); /* "1:02:03" */
void report_step(Report *r, int64_t done, Step s);
void report_scores(Report *r, int64_t done, const Scores *s);
void report_sample(Report *r, int64_t done, const json_t *sample);
bool report_epoch(Report *r, const Progress *p, int source, const Stream_sum *sum); /* its end, where the data comes in epochs */
void start_next_epoch(Report *r, int64_t done);
void report_text(Report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* a line of its own */
void end_line(Report *r); /* before anything else is said on stderr */
void close_report(Report *r);

#endif
