/* histograms.h: RUN/histograms.jsonl: gradients and updates, parameter by parameter. */
#ifndef LATHE_TRAINER_HISTOGRAMS_H
#define LATHE_TRAINER_HISTOGRAMS_H

#include "model/block.h"
#include "step/state.h"
#include "step/turn.h"
#include "trainer/trainer.h"

/* NULL: not wanted, or the model runs on a device.  A resumed run keeps the lines of `before` up to its checkpoint. */
typedef struct Histograms Histograms;
Histograms *open_histograms(const Trainer *t, const Progress *at, const char *before);
/* Around the update of a turn whose gradients are to be multiplied by `scale`; h NULL, or another step: nothing. */
bool note_before_update(Histograms *h, const Turn *u, const Memory *m, int64_t step, double scale);
void note_after_update(Histograms *h, const Turn *u, const Memory *m, int64_t step);
char *last_histograms(Histograms *h); /* the line of the step that has ended, from malloc; NULL: none, or it was taken */
void close_histograms(Histograms *h);

#endif
