/* signals.h: what signals ask of a run (interrupted: trainer/trial.h). */
#ifndef LATHE_TRAINER_SIGNALS_H
#define LATHE_TRAINER_SIGNALS_H

#include "trainer/trainer.h"

void catch_save_signal(void);
void catch_signals(const Trainer *t);
void want_save(void); /* as that signal does */
bool save_is_wanted(void);
void forget_wanted_save(void);

#endif
