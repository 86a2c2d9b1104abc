/* live.h: the line that a terminal shows while a run goes on. */
#ifndef LATHE_TRAINER_LIVE_H
#define LATHE_TRAINER_LIVE_H

#include <stdint.h>

enum { SPARKS = 16 };

typedef struct Live { /* means of the losses so far: of `each` steps, the last of fewer */
    double mean[SPARKS];
    int n;
    int64_t each, in_last;
} Live;

void note_live_loss(Live *l, double loss);
/* Replaces the terminal's line by a bar, `line` and what there is room for beside: losses so far, memory. */
void show_live_line(const Live *l, int64_t done, int64_t steps, const char *line);

#endif
