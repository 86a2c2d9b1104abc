/* logs.h: --log, --metrics-port: what metrics.jsonl says, also in the forms that other programs read. */
#ifndef LATHE_TRAINER_LOGS_H
#define LATHE_TRAINER_LOGS_H

#include "base/file.h"
#include "look/lines.h"

#include <jansson.h>

/* NAME,… of --log; ends the program (2) if there is no such form. */
void check_log_names(const char *names);

typedef struct Logs Logs;
typedef struct Wanted_logs {
    const char *names, *port; /* of --log, --metrics-port; NULL: not given */
    const char *model, *run;  /* run: the folder */
    double elapsed;           /* seconds that the run has taken before */
} Wanted_logs;
/* Those, and the logs that the run's folder has already; with what metrics.jsonl has by now.  Ends the program: 3 if a
 * file cannot be written, 2 or 1 if the port is none or cannot be opened. */
Logs *open_logs(const Wanted_logs *w);
void add_to_logs(Logs *l, const char *line); /* which metrics.jsonl has already */
void add_histograms_to_logs(Logs *l, const char *line); /* which histograms.jsonl has already */
void close_logs(Logs *l);

/* ------------------------------------------------------------------ for the forms */

typedef void (*Take_line)(void *to, const json_t *line);
void each_line(const char *metrics, Fault *f, Take_line take, void *to);

typedef struct Log { /* a file of one form; after a fault nothing is added */
    const struct Log_form *form;
    char *path; /* from malloc */
    const char *metrics;
    double began; /* when the run would have begun without pauses, in seconds since 1970 */
    int fd;
    Fault fault;
    void *own;
} Log;

typedef struct Log_form {
    const char *name;
    bool (*is_there)(const char *run);
    void (*open)(Log *l, const char *run);
    void (*add)(void *log, const json_t *line); /* a Take_line */
    void (*add_histograms)(void *log, const json_t *line); /* likewise; NULL: it has none */
    void (*close)(Log *l);                      /* of `own` */
} Log_form;
extern const Log_form event_form; /* trainer/log_events.c */
extern const Log_form csv_form;   /* trainer/log_csv.c */

#endif
