/* past.h: a run, as its folder tells of it: config.json, run.json, metrics.jsonl, eval.json, profile.json,
 * data.json. */
#ifndef LATHE_LOOK_PAST_H
#define LATHE_LOOK_PAST_H

#include "base/words.h"
#include "look/series.h"

#include <jansson.h>
#include <stdbool.h>

enum { MOST_SERIES = 400, MOST_SAMPLES = 40 };

typedef struct Past_run {
    char *folder, *name;        /* name: the last part of its path */
    json_t *config, *about;     /* config.json; run.json; NULL: not there, or not to be read */
    json_t *eval;               /* eval.json: what `trainer eval --json` printed */
    json_t *profile;            /* profile.json: the time of each kernel */
    json_t *data;               /* data.json: lengths of texts, padding */
    Series *series[MOST_SERIES];
    int n;
    json_t *samples;            /* the last MOST_SAMPLES lines of samples */
    json_t *faults;             /* texts: what could not be read */
    int64_t lines, bad_lines;   /* of metrics.jsonl */
    double step, units, seconds; /* of the last line */
    const char *unit;           /* "tokens" or "rows"; NULL: not known */
    bool crowded;               /* there were more than MOST_SERIES */
} Past_run;

/* Ends the program (3) if the folder is none or holds no run.  Whatever else is wrong is left out, and in `faults`. */
/* Folders of runs below one that is none itself, at most six levels, in order; and of all that are named: files beside
 * folders are left out. */
void add_runs_below(Words *runs, const char *folder);
Words runs_named(const Words *given);
Past_run *read_past(const char *folder);
Past_run *new_past(const char *folder); /* of which nothing is read yet */
void take_metrics_line(Past_run *r, const char *line, size_t n); /* with its end: without, it is left out */
void free_past(Past_run *r);
void call_trials(Past_run *const *runs, int n); /* look/trials.c: names of runs of a sweep: the settings in which they differ */

/* ------------------------------------------------------------------ look/state.c */

typedef enum Run_state { RUNS_NOW, DONE, STOPPED, DIVERGED, CUT_OFF } Run_state;
extern const char *const state_words[]; /* "running", "done", "stopped", "diverged", "cut off" */
bool looks_like_run(const char *folder);
bool is_regular_file(const char *path);
/* config and about may be NULL. */
Run_state state_of_run(const char *folder, const json_t *config, const json_t *about, double last_step);
json_t *json_of_file(const char *folder, const char *name, char **fault); /* NULL: not there, or *fault, from malloc */
const char *recipe_word(const json_t *config, const char *name, char *room, int bytes); /* "" if there is none */
double planned_steps(const json_t *config); /* 0: not known */

/* What `lathe runs` says of a run; reads no more of metrics.jsonl than it must. */
typedef struct Glance {
    char *folder, *model;
    Run_state state;
    double step, steps, seconds, rate, loss, best, changed; /* NAN: not known; best: of evaluations; changed: its file's time */
    double norm, norm_step; /* the greatest that was found among the last lines */
} Glance;
Glance glance_at(const char *folder);

#endif
