/* about.h: run.json: what a report says of a run beside config.json and metrics.jsonl. */
#ifndef LATHE_TRAINER_ABOUT_H
#define LATHE_TRAINER_ABOUT_H

#include "step/state.h"
#include "trainer/trainer.h"

void write_about(const Trainer *t, const Progress *at); /* at a start of the run, which may go on */
/* how: done, stopped or diverged.  Nothing depends on it, so a fault is not told. */
void end_about(const Trainer *t, const char *how, int64_t step);

json_t *planned_kernels(const Lathe_entry *e); /* of its table: name, line, work */

/* trainer/look.c: RUN/report.html, by a program of its own, so that the run ends as it would without; says nothing
 * where dygraphs is missing. */
void report_at_end(const Trainer *t);
int draw_report(Trainer *t); /* `trainer report` */

#endif
