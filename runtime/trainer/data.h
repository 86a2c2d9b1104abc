/* data.h: the data that a run reads and writes, as its command line says. */
#ifndef LATHE_TRAINER_DATA_H
#define LATHE_TRAINER_DATA_H

#include "data/data.h"
#include "data/reading.h"
#include "text/writing.h"
#include "token/tokenizer.h"
#include "trainer/trainer.h"

Reading *reading_of(const Trainer *t, bool training); /* by the command line; from malloc */
Writing writing_of(const Trainer *t);                 /* likewise */
void open_run_data(Data *d, const Trainer *t, bool training);

/* --val-data: for train, before data is opened, and after; for eval. */
void settle_val_data(Trainer *t);
void open_val_data(Data *d, const Trainer *t);
void evaluate_val_data(Trainer *t);

/* Sets the files that came with a run's initial weights.  If the run's tokenizer k differs from theirs, those about
 * tokens are dropped. */
void settle_origin(Trainer *t, const Tokenizer *k);

#endif
